//! Which names and references may become part of a request, and how a reference is taken apart.
//!
//! A name is put into the path of a request. One with `..` or `?` in it would reach another part of Docker's API, so
//! every name is checked before, wherever it came from.

use hearth_capabilities::Fault;

/// A container's or network's name or id that may be put into a path.
///
/// # Errors
/// [`Fault::Refused`] for anything Docker would not take as a name.
pub(crate) fn check_name(name: &str) -> Result<&str, Fault> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    if name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(plain) {
        Ok(name)
    } else {
        Err(Fault::Refused(format!(
            "{name:?} is not a name: use letters, digits, '_', '.' and '-', a letter or digit first"
        )))
    }
}

/// A reference to an image: `name`, `name:tag`, `name@sha256:...`, `name:tag@sha256:...` or `sha256:...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference<'a> {
    /// All of it.
    pub(crate) whole: &'a str,
    /// The repository; `None` for an id.
    pub(crate) repository: Option<&'a str>,
    /// The tag, if it has one.
    pub(crate) tag: Option<&'a str>,
    /// The digest, or the id.
    pub(crate) digest: Option<&'a str>,
}

impl<'a> Reference<'a> {
    /// Takes a reference apart.
    ///
    /// # Errors
    /// [`Fault::Refused`] for one that is none.
    pub(crate) fn parse(whole: &'a str) -> Result<Self, Fault> {
        let refused = || Fault::Refused(format!("{whole:?} is not an image reference, such as postgres:17"));
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ':' | '@');
        if !whole.chars().all(plain) {
            return Err(refused());
        }
        if whole.starts_with("sha256:") {
            return is_digest(whole)
                .then_some(Self { whole, repository: None, tag: None, digest: Some(whole) })
                .ok_or_else(refused);
        }
        let (name, digest) =
            whole.split_once('@').map_or((whole, None), |(name, digest)| (name, Some(digest)));
        // A colon before the last slash is the port of a registry.
        let after_path = name.rfind('/').map_or(0, |slash| slash + 1);
        let (repository, tag) = match name[after_path..].rfind(':') {
            Some(colon) => (&name[..after_path + colon], Some(&name[after_path + colon + 1..])),
            None => (name, None),
        };
        let part = |part: &str| part.starts_with(|c: char| c.is_ascii_alphanumeric()) && !part.contains("..");
        let good = repository.split('/').all(part)
            && tag.is_none_or(|tag| !tag.is_empty() && !tag.contains(':'))
            && digest.is_none_or(is_digest);
        good.then_some(Self { whole, repository: Some(repository), tag, digest }).ok_or_else(refused)
    }

    /// The repository as Docker shortens it: without `docker.io/` and `library/`.
    pub(crate) fn short_repository(&self) -> Option<&'a str> {
        self.repository.map(shorten)
    }

    /// Whether Docker might take it for the beginning of an id. It does so for whatever is not the name of an image.
    pub(crate) fn might_be_an_id(&self) -> bool {
        self.whole.chars().all(|c| c.is_ascii_hexdigit())
    }
}

/// A repository as Docker shortens it.
pub(crate) fn shorten(repository: &str) -> &str {
    let short = ["docker.io/", "index.docker.io/"].iter().find_map(|hub| repository.strip_prefix(hub));
    let short = short.unwrap_or(repository);
    short.strip_prefix("library/").unwrap_or(short)
}

fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:")
        .is_some_and(|hex| hex.len() == 64 && hex.chars().all(|c| c.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::{Reference, check_name};

    #[test]
    fn names_that_would_reach_elsewhere_are_refused() {
        for name in ["", "..", "../images", "a/b", "a?x=1", "a#b", "-a", ".a", "a b", "a%2e"] {
            assert!(check_name(name).is_err(), "{name}");
        }
        for name in ["a", "photos-web", "a_b.c-1", "0c6f"] {
            assert_eq!(check_name(name), Ok(name));
        }
    }

    #[test]
    fn references_are_taken_apart() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let both = format!("127.0.0.1:5000/a/b:1@{digest}");
        for (text, repository, tag) in [
            ("postgres", "postgres", None),
            ("postgres:17", "postgres", Some("17")),
            ("127.0.0.1:5000/a/b", "127.0.0.1:5000/a/b", None),
            ("127.0.0.1:5000/a/b:1", "127.0.0.1:5000/a/b", Some("1")),
            ("docker.io/library/postgres:17", "docker.io/library/postgres", Some("17")),
            (both.as_str(), "127.0.0.1:5000/a/b", Some("1")),
        ] {
            let reference = Reference::parse(text).unwrap();
            assert_eq!((reference.repository, reference.tag), (Some(repository), tag), "{text}");
        }
        assert_eq!(Reference::parse(&both).unwrap().digest, Some(digest.as_str()));
        assert_eq!(Reference::parse(&digest).unwrap().repository, None);
        assert_eq!(
            Reference::parse("docker.io/library/postgres").unwrap().short_repository(),
            Some("postgres")
        );
    }

    #[test]
    fn references_that_would_reach_elsewhere_are_refused() {
        for text in
            ["", "../containers/x", "a/../b", "a?b", "a//b", "/a", "a:", "a@sha256:12", "sha256:12", "a b"]
        {
            assert!(Reference::parse(text).is_err(), "{text}");
        }
    }
}
