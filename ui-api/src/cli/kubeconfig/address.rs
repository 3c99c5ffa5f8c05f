//! Where a home is, as a person writes it.

use http::Uri;

use super::super::exit::Failure;

/// The port of a home where none is said.
const PORT: u16 = 8420;

/// The address as it is written, its host and its port.
///
/// # Errors
/// What is no address of a home, or one where a token could be read on its way.
pub(in super::super) fn address(text: &str) -> Result<(String, String, u16), Failure> {
    let bad = |why: &str| {
        Failure::usage(format!("{text:?} is no address of a home: {why}"))
            .next("write it as https://home.local:8420")
    };
    if text.starts_with("http://") {
        return Err(bad("a token is not sent to a server that does not prove who it is"));
    }
    let whole = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
    let uri: Uri = whole.parse().map_err(|_| bad("it cannot be read"))?;
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| bad("it names no machine"))?;
    if uri.scheme_str() != Some("https") || !["", "/"].contains(&uri.path()) || uri.query().is_some() {
        return Err(bad("it must be https, a name and a port"));
    }
    let port = uri.port_u16().unwrap_or(PORT);
    let bare = host.trim_matches(['[', ']']).to_owned();
    Ok((format!("https://{host}:{port}"), bare, port))
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn an_address_is_a_name_and_a_port_over_https() {
        let read = |text: &str| address(text).unwrap();
        assert_eq!(read("home.local"), ("https://home.local:8420".into(), "home.local".into(), 8420));
        assert_eq!(read("https://10.0.0.2:1/"), ("https://10.0.0.2:1".into(), "10.0.0.2".into(), 1));
        assert_eq!(read("[::1]:7"), ("https://[::1]:7".into(), "::1".into(), 7));
        for text in ["http://home.local", "HTTP://home.local", "ftp://x", "https://home/a", "https://", "a b"]
        {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
