//! Rules for names people choose: object names, slugs, host names.

/// The longest a name may be: one DNS label.
pub const LONGEST: usize = 63;

/// Slugs that Hearth keeps for itself (AL-54).
pub const RESERVED_SLUGS: [&str; 7] = ["api", "admin", "dashboard", "hearth", "brand", "host", "setup"];

/// Checks a DNS-1123 label, as object names are.
///
/// # Errors
/// One sentence that says what is wrong.
pub fn check_label(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("must not be empty".into());
    }
    if name.len() > LONGEST {
        return Err(format!("is {} characters long; at most {LONGEST} are allowed", name.len()));
    }
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if let Some(bad) = name.chars().find(|c| !allowed(*c)) {
        return Err(format!("{name:?} has {bad:?}; only a-z, 0-9 and - are allowed"));
    }
    if name.starts_with('-') || name.ends_with('-') {
        return Err(format!("{name:?} must start and end with a letter or a digit"));
    }
    Ok(())
}

/// Checks a DNS-1123 subdomain: labels with dots between, as names of secrets and images may be.
///
/// # Errors
/// One sentence that says what is wrong.
pub fn check_subdomain(name: &str) -> Result<(), String> {
    if name.len() > 253 {
        return Err(format!("is {} characters long; at most 253 are allowed", name.len()));
    }
    name.split('.').try_for_each(check_label)
}

/// Checks a slug (AL-6, AL-54): a label without `--` (it parts the owner), no `xn--`, not reserved.
///
/// # Errors
/// One sentence that says what is wrong.
pub fn check_slug(slug: &str) -> Result<(), String> {
    check_label(slug)?;
    if slug.contains("--") {
        return Err(format!("{slug:?} has --, which is kept for personal apps; use a single -"));
    }
    if RESERVED_SLUGS.contains(&slug) {
        return Err(format!("{slug:?} is kept for Hearth itself; choose another"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{check_label, check_slug};

    #[test]
    fn labels_follow_dns() {
        assert!(check_label("photos-2").is_ok());
        for bad in ["", "-a", "a-", "A", "a.b", "a_b", "é", &"a".repeat(64)] {
            assert!(check_label(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn slugs_keep_the_owner_separator_and_reserved_words_free() {
        assert!(check_slug("photos").is_ok());
        for bad in ["a--b", "xn--a", "api", "hearth"] {
            assert!(check_slug(bad).is_err(), "{bad}");
        }
    }
}
