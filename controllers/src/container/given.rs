//! What a container's given files hold, looked up at this moment. What is in them may be secret, so it leaves here only
//! for the disk, and as a keyed hash.

use std::collections::BTreeMap;

use hearth_capabilities::volumes::{Given, GivenFile};
use hearth_engine::controller::{Blind, Wanted};
use hearth_kinds::Container;
use hearth_kinds::container::{AppFile, GivenFile as Declared};
use hearth_meta::Reason;

use super::ContainerController;
use super::observe::secret_value;
use crate::fault::blind;

/// What is seen of a container's given files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GivenSeen {
    /// Where they are, in their order; `None` where they are not all there as they should be.
    pub(super) paths: Option<Vec<String>>,
    /// A keyed hash of all that is in them.
    pub(super) hash: String,
}

/// Why a file cannot be given yet, in words for people.
pub(super) type NotYet = (Reason, String);

impl ContainerController {
    /// The files as they should be, and whether they are there.
    pub(super) async fn look_at_given(
        &self,
        wanted: &Wanted<Container>,
    ) -> Result<Result<GivenSeen, NotYet>, Blind> {
        if wanted.object.spec.files.is_empty() {
            return Ok(Ok(GivenSeen { paths: Some(Vec::new()), hash: String::new() }));
        }
        let given = match self.given(wanted).await? {
            Ok(given) => given,
            Err(not_yet) => return Ok(Err(not_yet)),
        };
        let lengths = given.files.iter().flat_map(|file| file.bytes.len().to_le_bytes());
        let all: Vec<u8> = lengths.chain(given.files.iter().flat_map(|f| f.bytes.clone())).collect();
        let paths = self.hands.volumes.find_given(&given).await.map_err(blind)?;
        Ok(Ok(GivenSeen { paths, hash: self.store.keyed_hash(&all) }))
    }

    /// Whether files are still given to a container that is not there: a secret must not outlast who may read it.
    pub(super) async fn still_holds(&self, wanted: &Wanted<Container>) -> Result<bool, Blind> {
        let (instance, holder) = (wanted.owner_uid().to_owned(), wanted.name().to_owned());
        let anything = Given { instance, holder, files: Vec::new() };
        Ok(self.hands.volumes.find_given(&anything).await.map_err(blind)?.is_some())
    }

    /// The files with what is in them.
    pub(super) async fn given(&self, wanted: &Wanted<Container>) -> Result<Result<Given, NotYet>, Blind> {
        let declared = &wanted.object.spec.files;
        let of_app = match declared.iter().any(|file| file.of_app.is_some()) {
            true => self.hands.volumes.load_files(wanted.owner_uid()).await.map_err(blind)?,
            false => None,
        };
        let of_app = of_app.unwrap_or_default();
        let files: Result<Vec<GivenFile>, NotYet> = declared
            .iter()
            .map(|file| {
                let bytes = match &file.of_app {
                    Some(of_app_file) => self.of_app(&of_app, of_app_file)?,
                    None => self.put_together(wanted, file)?,
                };
                Ok(GivenFile { bytes, mode: file.mode_bits().unwrap_or(0o400), uid: file.uid, gid: file.gid })
            })
            .collect();
        let (instance, holder) = (wanted.owner_uid().to_owned(), wanted.name().to_owned());
        Ok(files.map(|files| Given { instance, holder, files }))
    }

    /// A file of the package. Until the instance holds the one that was declared, it is waited for.
    fn of_app(&self, files: &BTreeMap<String, Vec<u8>>, wanted: &AppFile) -> Result<Vec<u8>, NotYet> {
        let bytes = files.get(&wanted.path).filter(|bytes| self.store.keyed_hash(bytes) == wanted.hash);
        let missing = || {
            let message = format!("Waiting for the file {} of the app", wanted.path);
            (Reason::DependencyNotReady, message)
        };
        bytes.cloned().ok_or_else(missing)
    }

    fn put_together(&self, wanted: &Wanted<Container>, file: &Declared) -> Result<Vec<u8>, NotYet> {
        let mut text = String::new();
        for part in &file.parts {
            match &part.secret_key_ref {
                Some(secret) => {
                    let value = secret_value(&self.store, wanted.namespace(), secret);
                    text.push_str(&value.map_err(|message| (Reason::SecretMissing, message))?);
                }
                None => text.push_str(part.text.as_deref().unwrap_or_default()),
            }
        }
        Ok(text.into_bytes())
    }
}
