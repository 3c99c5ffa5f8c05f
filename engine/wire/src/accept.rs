//! In which form the answer is wanted: the `Accept` header, first known entry first.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// The forms an answer can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The object, or the list of them.
    Object,
    /// A table, as the server prints it.
    Table,
    /// Only the metadata.
    Metadata,
}

impl Form {
    /// The form a request wants. Whoever asks for what this server does not speak gets JSON, which every
    /// client of this protocol also reads.
    pub(crate) fn wanted(headers: &HeaderMap) -> Self {
        entries(headers).find_map(|entry| Self::named(&entry)).unwrap_or(Self::Object)
    }

    fn named(entry: &str) -> Option<Self> {
        let mut parts = entry.split(';').map(str::trim);
        let media = parts.next()?;
        let parameters: Vec<&str> = parts.collect();
        let wanted = parameters.iter().find_map(|parameter| parameter.strip_prefix("as="));
        let is_json = ["application/json", "application/*", "*/*"].contains(&media);
        match wanted {
            None if is_json => Some(Self::Object),
            Some("Table") if is_json && parameters.contains(&"v=v1") => Some(Self::Table),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList")
                if is_json && parameters.contains(&"v=v1") =>
            {
                Some(Self::Metadata)
            }
            _ => None,
        }
    }
}

/// Whether one entry of the `Accept` header asks for aggregated discovery in its current form.
pub(crate) fn wants_aggregated(headers: &HeaderMap) -> bool {
    entries(headers).any(|entry| {
        let parts: Vec<&str> = entry.split(';').map(str::trim).collect();
        parts.contains(&"as=APIGroupDiscoveryList") && parts.contains(&"v=v2")
    })
}

/// Whether a media type is among those accepted.
pub(crate) fn names(headers: &HeaderMap, part: &str) -> bool {
    entries(headers).any(|entry| entry.contains(part))
}

fn entries(headers: &HeaderMap) -> impl Iterator<Item = String> {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|entry| entry.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

    use super::Form;

    fn wanted(accept: &str) -> Form {
        let mut headers = HeaderMap::new();
        headers.insert("accept", accept.parse().unwrap());
        Form::wanted(&headers)
    }

    #[test]
    fn the_first_form_this_server_speaks_is_taken() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(wanted(table), Form::Table);
        assert_eq!(
            wanted("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
            Form::Metadata
        );
        assert_eq!(wanted("application/vnd.kubernetes.protobuf,application/json"), Form::Object);
        assert_eq!(wanted("application/yaml"), Form::Object);
        assert_eq!(wanted("application/json, application/json;as=Table;v=v1;g=meta.k8s.io"), Form::Object);
    }
}
