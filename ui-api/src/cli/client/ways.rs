//! Where the server is, for somebody else's file; and what one may look into, where that is not everything.

use hearth_meta::{KindInfo, Scope};
use http::Method;
use serde_json::{Value, json};

use super::super::resource::collection;
use super::{Client, JSON, Trouble};
use crate::access::Way;

/// Where one asks who one is.
const WHO_AM_I: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
/// Under which name the answer tells the namespaces one may look into.
const SEEN: &str = "hearth.dev/namespaces";

impl Client {
    /// The way to the server, for a kubeconfig file of somebody else.
    ///
    /// # Errors
    /// Where the server is reached without a certificate of its own.
    pub(in super::super) fn way(&self) -> anyhow::Result<Way> {
        if let Some(folder) = self.socket.as_ref().and_then(|socket| socket.parent()) {
            return Way::of_data_dir(folder);
        }
        anyhow::ensure!(!self.roots.is_empty(), "the kubeconfig file names no certificate-authority");
        let pem = |der: &Vec<u8>| {
            let text = serde_json::to_value(k8s_openapi::ByteString(der.clone())).unwrap_or_default();
            let text = text.as_str().unwrap_or_default().as_bytes().chunks(64);
            let lines: Vec<String> = text.map(|line| String::from_utf8_lossy(line).into_owned()).collect();
            format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
        };
        Ok(Way { server: self.address.clone(), authority: self.roots.iter().map(pem).collect() })
    }

    /// Reads the objects of a kind in every namespace, or, where one may not, in those one may look into.
    ///
    /// # Errors
    /// See [`Trouble`].
    pub(in super::super) async fn everywhere(
        &self,
        kind: &KindInfo,
        query: &str,
        accept: &str,
    ) -> Result<Vec<Value>, Trouble> {
        let refused = match self.list(&format!("{}{query}", collection(kind, None)), accept).await {
            Ok(listing) => return Ok(vec![listing]),
            Err(trouble) if trouble.is_forbidden() && kind.scope == Scope::Namespaced => trouble,
            Err(trouble) => return Err(trouble),
        };
        let mut found = Vec::new();
        for namespace in self.seen_namespaces().await? {
            match self.list(&format!("{}{query}", collection(kind, Some(&namespace))), accept).await {
                Ok(listing) => found.push(listing),
                Err(trouble) if trouble.is_forbidden() => {}
                Err(trouble) => return Err(trouble),
            }
        }
        if found.is_empty() { Err(refused) } else { Ok(found) }
    }

    /// The namespaces one may look into, as the server tells them.
    ///
    /// # Errors
    /// See [`Trouble`].
    pub(in super::super) async fn seen_namespaces(&self) -> Result<Vec<String>, Trouble> {
        Ok(self.who().await?.1)
    }

    /// Who one is to the server, and which namespaces one may look into.
    ///
    /// # Errors
    /// See [`Trouble`].
    pub(in super::super) async fn who(&self) -> Result<(String, Vec<String>), Trouble> {
        let me = self.send(Method::POST, WHO_AM_I, JSON, &json!({})).await?;
        let user = me["status"]["userInfo"]["username"].as_str().unwrap_or_default().to_owned();
        let namespaces = me["status"]["userInfo"]["extra"][SEEN].as_array().cloned().unwrap_or_default();
        Ok((user, namespaces.iter().filter_map(Value::as_str).map(str::to_owned).collect()))
    }
}
