//! Paths as text: cleaned, joined and told apart without ever asking a disk.

/// The shortest path that means the same: no `.`, no `//`, `..` taken back where it can be.
pub(crate) fn clean(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// `path` seen from `folder`, cleaned; an absolute path stays what it is.
pub(crate) fn join(folder: &str, path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { clean(&format!("{folder}/{path}")) }
}

/// What paths are seen from.
pub(crate) struct Base<'a> {
    pub folder: &'a str,
    /// The folder `~` stands for; without one it is a name like any other.
    pub home: Option<&'a str>,
}

impl Base<'_> {
    /// `path` made whole, and clean unless it was absolute.
    pub(crate) fn join(&self, path: &str) -> String {
        match (self.home, path.strip_prefix('~')) {
            (Some(home), Some(rest)) => clean(&format!("{home}/{rest}")),
            _ => join(self.folder, path),
        }
    }
}

/// The folder a path stands in.
pub(crate) fn parent(path: &str) -> String {
    match path.rsplit_once('/') {
        Some((folder, _)) => clean(if folder.is_empty() { "/" } else { folder }),
        None => ".".to_owned(),
    }
}

/// `path` relative to `folder`, both cleaned and absolute or both relative; none when it would need
/// a step up that cannot be known.
pub(crate) fn relative(folder: &str, path: &str) -> Option<String> {
    let (folder, path) = (clean(folder), clean(path));
    if folder.starts_with('/') != path.starts_with('/') {
        return None;
    }
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect()
    };
    let (from, to) = (parts(&folder), parts(&path));
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    if from[shared..].iter().any(|part| part == "..") {
        return None;
    }
    let mut out = vec!["..".to_owned(); from.len() - shared];
    out.extend_from_slice(&to[shared..]);
    Some(if out.is_empty() { ".".to_owned() } else { out.join("/") })
}

/// Whether the source of a short mount is a path of the host, not the name of a volume.
pub(crate) fn is_host_path(source: &str) -> bool {
    source.starts_with(['.', '/', '~']) || source.starts_with(r"\\") || has_drive(source)
}

fn has_drive(path: &str) -> bool {
    let mut characters = path.chars();
    characters.next().is_some_and(char::is_alphabetic) && characters.next() == Some(':')
}

/// Whether a path is absolute for Windows: `C:\data`, `\\server\share`.
pub(crate) fn is_windows_absolute(path: &str) -> bool {
    let separator = |byte: u8| matches!(byte, b'\\' | b'/');
    match path.as_bytes() {
        [first, second, ..] if separator(*first) && separator(*second) => {
            // A share needs a server and a name.
            path[2..].split(['\\', '/']).filter(|part| !part.is_empty()).count() >= 2
        }
        [_, b':', third, ..] => separator(*third),
        _ => false,
    }
}
