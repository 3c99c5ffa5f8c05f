//! Which field is meant: `values[TZ].value`, as differences and `hearth explain` write it.

/// One step into an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// `.name`: a field.
    Field(String),
    /// `[what]`: an item of a list by what it is known by or by its place, or an entry of a map.
    Pick(String),
}

/// One `PATH=VALUE`, `PATH=` or `PATH-`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Assignment {
    /// The path as it was written.
    pub(super) written: String,
    /// The path, step by step.
    pub(super) parts: Vec<Part>,
    /// What the field becomes; absent where it is taken away.
    pub(super) value: Option<String>,
}

impl Assignment {
    /// Whether a word may be one, and is not part of an object's name.
    pub(super) fn is_one(word: &str) -> bool {
        word.contains('=') || word.ends_with('-')
    }

    /// Reads one.
    ///
    /// # Errors
    /// One sentence with what is wrong with it.
    pub(super) fn parse(word: &str) -> Result<Self, String> {
        let (path, value) = match split(word) {
            Some((path, "")) => (path, None),
            Some((path, value)) => (path, Some(value.to_owned())),
            None => match word.strip_suffix('-') {
                Some(path) => (path, None),
                None => {
                    parts(word)?;
                    return Err(format!(
                        "{word:?} changes nothing; write PATH=VALUE, or PATH- to take it away"
                    ));
                }
            },
        };
        Ok(Self { written: path.to_owned(), parts: parts(path)?, value })
    }
}

/// At the first `=` that is not within brackets.
fn split(word: &str) -> Option<(&str, &str)> {
    let mut depth = 0usize;
    for (at, letter) in word.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            '=' if depth == 0 => return Some((&word[..at], &word[at + 1..])),
            _ => {}
        }
    }
    None
}

fn parts(path: &str) -> Result<Vec<Part>, String> {
    let bad = |why: &str| format!("{path:?} is no path: {why}; write it as values[TZ].value");
    let (mut parts, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let end = inner.find(']').ok_or_else(|| bad("a bracket is not closed"))?;
            if inner[..end].is_empty() {
                return Err(bad("nothing stands between the brackets"));
            }
            parts.push(Part::Pick(inner[..end].to_owned()));
            rest = &inner[end + 1..];
        } else {
            let name = if parts.is_empty() { rest } else { rest.strip_prefix('.').unwrap_or("") };
            let end = name.find(['.', '[']).unwrap_or(name.len());
            if end == 0 {
                return Err(bad("a name is missing"));
            }
            parts.push(Part::Field(name[..end].to_owned()));
            rest = &name[end..];
        }
    }
    match parts.first() {
        Some(Part::Field(_)) => Ok(parts),
        Some(Part::Pick(_)) => Err(bad("it begins with a bracket")),
        None => Err(bad("it is empty")),
    }
}

#[cfg(test)]
mod tests {
    use super::Assignment;
    use super::Part::{Field, Pick};

    #[test]
    fn a_path_ends_at_the_first_sign_that_is_not_in_brackets() {
        let read = |word: &str| Assignment::parse(word).unwrap();
        let (field, pick) = (|name: &str| Field(name.into()), |name: &str| Pick(name.into()));
        let one = read("values[name=TZ].value=a=b");
        assert_eq!(one.parts, [field("values"), pick("name=TZ"), field("value")]);
        assert_eq!(one.value.as_deref(), Some("a=b"));
        assert_eq!(
            read("metadata.labels[a.b/c]=x").parts,
            [field("metadata"), field("labels"), pick("a.b/c")]
        );
        assert_eq!((read("slug=").value, read("slug-").value), (None, None));
        assert_eq!(read("slug-").written, "slug");
    }

    #[test]
    fn what_is_no_path_says_why() {
        for (word, why) in [
            ("slug", "changes nothing"),
            ("=x", "it is empty"),
            ("[TZ]=x", "begins with a bracket"),
            ("values[TZ=x", "not closed"),
            ("values[]=x", "between the brackets"),
            ("a..b=x", "a name is missing"),
            ("values[TZ]value=x", "a name is missing"),
            (".a=x", "a name is missing"),
        ] {
            let told = Assignment::parse(word).unwrap_err();
            assert!(told.contains(why), "{word}: {told}");
        }
    }
}
