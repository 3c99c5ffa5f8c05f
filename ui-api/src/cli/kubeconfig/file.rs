//! A kubeconfig file as it is kept: read whole, changed in one entry, written whole. What other programs keep in it stays.

use std::path::{Path, PathBuf};

use hearth_charts::yaml::parse_documents;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::super::exit::{Exit, Failure};
use super::super::yaml;
use crate::private_file;

/// A kubeconfig file.
pub(in super::super) struct File {
    path: PathBuf,
    value: Value,
}

/// One context of it.
pub(in super::super) struct Context {
    /// Its name.
    pub(in super::super) name: String,
    /// Where the server is.
    pub(in super::super) server: String,
    /// Who comes in.
    pub(in super::super) user: String,
    /// Where, if nothing is said.
    pub(in super::super) namespace: String,
    /// Whether it is used where none is named.
    pub(in super::super) is_current: bool,
}

/// What a login found out.
pub(in super::super) struct Entry<'a> {
    /// The context's name.
    pub(in super::super) name: &'a str,
    /// Where the server is.
    pub(in super::super) server: &'a str,
    /// The certificate of its authority, as PEM.
    pub(in super::super) authority: &'a str,
    /// Who comes in.
    pub(in super::super) user: &'a str,
    /// With what.
    pub(in super::super) token: &'a str,
    /// Where, if nothing is said.
    pub(in super::super) namespace: &'a str,
}

impl File {
    /// Reads it; one that is not there is empty.
    ///
    /// # Errors
    /// One that cannot be read or is none.
    pub(in super::super) fn read(path: &Path) -> Result<Self, Failure> {
        // A link stays one: what it leads to is what is kept.
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let text = private_file::read(&path)
            .map_err(|error| Failure::new(Exit::NotAllowed, format!("{error:#}")))?
            .unwrap_or_default();
        let bad = |why: String| {
            let message = format!("{} is no kubeconfig file: {why}; it is left as it is", path.display());
            Failure::new(Exit::Rejected, message).next("name another with --kubeconfig FILE")
        };
        let mut documents = parse_documents("it", &text)
            .map_err(|problems| bad(problems.first().map(ToString::to_string).unwrap_or_default()))?;
        let value = match documents.pop() {
            None => json!({ "apiVersion": "v1", "kind": "Config" }),
            Some(document) if documents.is_empty() && document.value["kind"] == "Config" => document.value,
            Some(_) => return Err(bad("it must be one document of kind Config".into())),
        };
        Ok(Self { path, value })
    }

    /// Where it is.
    pub(in super::super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its contexts, in its order.
    pub(in super::super) fn contexts(&self) -> Vec<Context> {
        let entries = self.value["contexts"].as_array().into_iter().flatten();
        entries.map(|entry| self.context_of(entry)).collect()
    }

    fn context_of(&self, entry: &Value) -> Context {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (name, context) = (text(&entry["name"]), &entry["context"]);
        let server = find(&self.value["clusters"], &text(&context["cluster"]))
            .map(|cluster| text(&cluster["cluster"]["server"]));
        Context {
            is_current: self.value["current-context"] == *name,
            name,
            server: server.unwrap_or_default(),
            user: text(&context["user"]),
            namespace: text(&context["namespace"]),
        }
    }

    /// Whether a context of this name may be written: there is none, or one of the same server and, where it is known
    /// already, the same user.
    ///
    /// # Errors
    /// It is another's.
    pub(in super::super) fn check(
        &self,
        name: &str,
        server: &str,
        user: Option<&str>,
    ) -> Result<(), Failure> {
        let contexts = self.contexts();
        let Some(known) = contexts.iter().find(|known| known.name == name) else { return Ok(()) };
        if known.server != server {
            return Err(self.taken(&format!("a context {name} for {}", known.server)));
        }
        match user {
            Some(user) if ![user.to_owned(), user_of(user, name)].contains(&known.user) => {
                Err(self.taken(&format!("a context {name} for {}", known.user)))
            }
            _ => Ok(()),
        }
    }

    fn taken(&self, what: &str) -> Failure {
        Failure::new(Exit::Conflict, format!("{} has {what} already", self.path.display()))
            .next("call this one otherwise with --name NAME")
    }

    /// Puts a context in, in the place of one of the same name, and uses it.
    ///
    /// # Errors
    /// That context is another's, or what it would consist of is used by another context, which would then lead
    /// elsewhere; then this is not to be written.
    pub(in super::super) fn put(&mut self, entry: &Entry<'_>) -> Result<(), Failure> {
        let name = entry.name;
        self.check(name, entry.server, Some(entry.user))?;
        let user = user_of(entry.user, name);
        let authority = ByteString(entry.authority.as_bytes().to_vec());
        self.take_out(name);
        let new = [
            (
                "clusters",
                json!({ "name": name, "cluster": { "server": entry.server, "certificate-authority-data": authority } }),
            ),
            ("users", json!({ "name": user, "user": { "token": entry.token } })),
            (
                "contexts",
                json!({ "name": name, "context": { "cluster": name, "user": user, "namespace": entry.namespace } }),
            ),
        ];
        // What leads to the same server is the same, with a newer token or authority.
        let elsewhere = |context: &&Context| context.server != entry.server;
        for (field, named) in [("cluster", name), ("user", &user)] {
            let with = self.contexts_with(field, named);
            if let Some(other) = with.iter().find(elsewhere) {
                return Err(self.taken(&format!("a {field} {named} in use by its context {}", other.name)));
            }
        }
        for (list, item) in new {
            let entries = &mut self.value[list];
            if !entries.is_array() {
                *entries = json!([]);
            }
            if let Some(entries) = entries.as_array_mut() {
                entries.retain(|known| known["name"] != item["name"]);
                entries.push(item);
            }
        }
        self.value["current-context"] = name.into();
        Ok(())
    }

    /// The contexts that have this cluster or user.
    fn contexts_with(&self, field: &str, named: &str) -> Vec<Context> {
        let entries = self.value["contexts"].as_array().into_iter().flatten();
        let has = |entry: &&Value| entry["context"][field] == *named;
        entries.filter(has).map(|entry| self.context_of(entry)).collect()
    }

    /// Uses a context where none is named.
    pub(in super::super) fn choose(&mut self, name: &str) {
        self.value["current-context"] = name.into();
    }

    /// Takes a context out, with the server and the credential that no other context uses.
    pub(in super::super) fn take_out(&mut self, name: &str) {
        let Some(gone) = find(&self.value["contexts"], name).map(|entry| entry["context"].clone()) else {
            return;
        };
        remove(&mut self.value["contexts"], name);
        for (list, field) in [("clusters", "cluster"), ("users", "user")] {
            let named = gone[field].as_str().unwrap_or_default();
            if self.contexts_with(field, named).is_empty() {
                remove(&mut self.value[list], named);
            }
        }
        if self.value["current-context"] == name {
            self.value["current-context"] = "".into();
        }
    }

    /// Writes it, for its owner alone.
    ///
    /// # Errors
    /// Where it cannot be written; then it is as it was.
    pub(in super::super) fn write(&self) -> Result<(), Failure> {
        let failed = |error: anyhow::Error| Failure::new(Exit::Rejected, format!("{error:#}"));
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private_file::make_folder(folder).map_err(failed)?;
        }
        private_file::write(&self.path, &yaml::written(&self.value)).map_err(failed)
    }
}

/// What somebody is called in the file, where one person may be known to several servers.
fn user_of(user: &str, context: &str) -> String {
    format!("{user}@{context}")
}

fn find<'a>(list: &'a Value, name: &str) -> Option<&'a Value> {
    list.as_array()?.iter().find(|entry| entry["name"] == name)
}

fn remove(list: &mut Value, name: &str) {
    if let Some(entries) = list.as_array_mut() {
        entries.retain(|entry| entry["name"] != name);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Entry, Exit, File};

    fn entry<'a>(name: &'a str, token: &'a str) -> Entry<'a> {
        Entry { name, server: "https://home:1", authority: "PEM", user: "ana", token, namespace: "ana" }
    }

    #[test]
    fn what_others_keep_in_it_stays_and_a_context_goes_with_what_only_it_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let text = "# mine\nkind: Config\napiVersion: v1\npreferences: {colors: true}\ncurrent-context: work\n\
                    clusters: [{name: work, cluster: {server: 'https://work', tls-server-name: x}}]\n\
                    users: [{name: me, user: {exec: {command: get-token, args: [\"1\"]}}}]\n\
                    contexts: [{name: work, context: {cluster: work, user: me}}, {name: other, context: {cluster: work, user: me}}]\n";
        std::fs::write(&path, text).unwrap();
        let before = File::read(&path).unwrap().value;
        let mut file = File::read(&path).unwrap();
        file.put(&entry("home", "one")).unwrap();
        file.put(&entry("home", "two")).unwrap();
        file.write().unwrap();
        let mut file = File::read(&path).unwrap();
        let names: Vec<String> = file.contexts().into_iter().map(|context| context.name).collect();
        assert_eq!(names, ["work", "other", "home"]);
        assert_eq!(file.value["users"][1], json!({ "name": "ana@home", "user": { "token": "two" } }));
        assert_eq!(file.value["users"].as_array().map(Vec::len), Some(2));
        file.take_out("home");
        assert_eq!(file.value["current-context"], "");
        file.choose("work");
        assert_eq!(file.value, before);
        file.take_out("work");
        assert_eq!(file.value["users"].as_array().map(Vec::len), Some(1), "another context uses it");
    }

    #[test]
    fn what_another_context_uses_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let text = "kind: Config\napiVersion: v1\ncurrent-context: admin@cabin\n\
                    clusters: [{name: cabin, cluster: {server: 'https://cabin'}}, {name: flat, cluster: {server: 'https://home:1'}}]\n\
                    users: [{name: admin, user: {token: t}}, {name: ana@shed, user: {token: t}}]\n\
                    contexts: [{name: admin@cabin, context: {cluster: cabin, user: admin}}, {name: flat, context: {cluster: flat, user: admin}},\n\
                    {name: ana@far, context: {cluster: far, user: ana@shed}}]\n";
        std::fs::write(&path, text).unwrap();
        for (name, part) in [
            ("cabin", "a cluster cabin in use by its context admin@cabin"),
            ("shed", "a user ana@shed in use by its context ana@far"),
            ("admin@cabin", "a context admin@cabin for https://cabin"),
            ("flat", "a context flat for admin"),
        ] {
            let failure = File::read(&path).unwrap().put(&entry(name, "one")).unwrap_err();
            assert!(failure.message.contains(part), "{name}: {}", failure.message);
            assert!(failure.exit == Exit::Conflict && failure.next.contains("--name"), "{failure:?}");
        }
        // The very same server under that name leads nobody elsewhere, and a newer token is for all who go there.
        let mut file = File::read(&path).unwrap();
        file.put(&entry("home", "one")).unwrap();
        let contexts = file.value["contexts"].as_array_mut().unwrap();
        contexts.push(json!({ "name": "bo", "context": { "cluster": "home", "user": "bo" } }));
        contexts.push(json!({ "name": "ana's", "context": { "cluster": "home", "user": "ana@home" } }));
        file.put(&entry("home", "two")).unwrap();
        assert_eq!(super::find(&file.value["users"], "ana@home").unwrap()["user"]["token"], "two");
        // But not for one who goes elsewhere as well.
        let contexts = file.value["contexts"].as_array_mut().unwrap();
        contexts.push(json!({ "name": "far", "context": { "cluster": "cabin", "user": "ana@home" } }));
        let failure = file.put(&entry("home", "three")).unwrap_err();
        assert!(failure.message.contains("a user ana@home in use by its context far"), "{}", failure.message);
    }

    #[test]
    fn what_is_no_kubeconfig_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["kind: Pod\n", "a: [\n", "kind: Config\n---\nkind: Config\n"] {
            let path = folder.path().join("file");
            std::fs::write(&path, text).unwrap();
            let failure = File::read(&path).err().unwrap();
            assert!(failure.message.contains("is no kubeconfig file"), "{}", failure.message);
        }
        assert!(File::read(&folder.path().join("none")).unwrap().contexts().is_empty());
    }
}
