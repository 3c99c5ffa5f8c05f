//! One spelling of an image's name: the container engine knows `postgres:17` and `docker.io/library/postgres:17` as one.

/// The registry that is meant where none is said, and another name it has.
const DEFAULT: &str = "docker.io";
const DEFAULT_TOO: &str = "index.docker.io";

/// The name in full: registry, path, and the digest, or else the tag.
pub(super) fn canonical(reference: &str) -> String {
    let (named, digest) = match reference.split_once('@') {
        Some((named, digest)) => (named, Some(digest)),
        None => (reference, None),
    };
    // A colon within the path's last part begins a tag, any other a port.
    let (path, tag) = match named.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => (path, tag),
        _ => (named, "latest"),
    };
    let is_registry = |part: &str| part.contains(['.', ':']) || part == "localhost";
    let (registry, path) = match path.split_once('/') {
        Some((registry, path)) if is_registry(registry) => (registry, path),
        _ => (DEFAULT, path),
    };
    let registry = if registry == DEFAULT_TOO { DEFAULT } else { registry };
    let official = if registry == DEFAULT && !path.contains('/') { "library/" } else { "" };
    match digest {
        // With a digest the tag says nothing.
        Some(digest) => format!("{registry}/{official}{path}@{digest}"),
        None => format!("{registry}/{official}{path}:{tag}"),
    }
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn every_spelling_of_a_name_is_one() {
        for spelling in [
            "postgres",
            "postgres:latest",
            "library/postgres",
            "docker.io/postgres:latest",
            "docker.io/library/postgres",
            "index.docker.io/library/postgres:latest",
        ] {
            assert_eq!(canonical(spelling), "docker.io/library/postgres:latest", "{spelling}");
        }
        for (spelling, wanted) in [
            ("ana/photos:1", "docker.io/ana/photos:1"),
            ("localhost/photos", "localhost/photos:latest"),
            ("localhost:5000/photos", "localhost:5000/photos:latest"),
            ("ghcr.io/ana/photos:2", "ghcr.io/ana/photos:2"),
            ("postgres:17@sha256:d", "docker.io/library/postgres@sha256:d"),
        ] {
            assert_eq!(canonical(spelling), wanted);
        }
    }
}
