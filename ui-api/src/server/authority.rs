//! The home's own certificate authority, made at the first start, and the server's certificate from it.
//!
//! The authority's certificate follows from its key alone, so the key is what is kept. A server certificate is
//! made anew when it is near its end, when the machine's name changes, and when it cannot be read.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::{Context, bail};
use hearth_meta::{SignedDuration, Timestamp};
use k8s_openapi::jiff::tz::TimeZone;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};

use super::private_file;

/// How long a server certificate lasts: a little over a year, which every client accepts.
const LASTS: SignedDuration = SignedDuration::from_hours(397 * 24);
/// How long before its end it is made anew.
const RENEWED_BEFORE: SignedDuration = SignedDuration::from_hours(60 * 24);
/// What the first line of the server's file starts with.
const MARK: &str = "Hearth server certificate for ";

/// The authority and what it has signed for this server.
pub(super) struct Authority {
    folder: PathBuf,
    certificate: String,
    key: KeyPair,
    names: BTreeSet<String>,
    current: RwLock<Current>,
}

struct Current {
    key: Arc<CertifiedKey>,
    until: Timestamp,
}

impl Authority {
    /// Opens the authority in a folder, making it where there is none.
    ///
    /// # Errors
    /// Where files cannot be read or written, or the authority's key is gone.
    pub(super) fn open(folder: &Path, now: Timestamp) -> anyhow::Result<Self> {
        private_file::make_folder(folder)?;
        let (key_file, certificate_file) = (folder.join("ca.key"), folder.join("ca.crt"));
        let key = match private_file::read(&key_file)? {
            Some(text) => {
                KeyPair::from_pem(&text).with_context(|| format!("reading the key {}", key_file.display()))?
            }
            None if certificate_file.exists() => bail!(
                "{} is gone, and {} is of no use without it; bring it back from a backup, or remove the other as well \
                 for a new authority, which every client has to be told of",
                key_file.display(),
                certificate_file.display()
            ),
            None => {
                let key = KeyPair::generate().context("making the authority's key")?;
                private_file::write(&key_file, &key.serialize_pem())?;
                key
            }
        };
        let certificate = match private_file::read(&certificate_file)? {
            Some(text) => text,
            None => {
                let made =
                    authority_params(&key).self_signed(&key).context("making the authority's certificate")?;
                private_file::write(&certificate_file, &made.pem())?;
                made.pem()
            }
        };
        let names = own_names();
        let server_file = folder.join("server.pem");
        let kept = private_file::read(&server_file)?.and_then(|text| kept_certificate(&text, &names, now));
        let current = match kept {
            Some(current) => current,
            None => issue(&key, &certificate, &names, now, &server_file)?,
        };
        Ok(Self { folder: folder.to_owned(), certificate, key, names, current: RwLock::new(current) })
    }

    /// The authority's certificate, which clients trust.
    pub(super) fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Makes the server's certificate anew if it is near its end, or if the clock has jumped out of its time.
    pub(super) fn renew(&self, now: Timestamp) -> anyhow::Result<()> {
        let until = self.current.read().unwrap_or_else(PoisonError::into_inner).until;
        if is_good(until, now) {
            return Ok(());
        }
        let new = issue(&self.key, &self.certificate, &self.names, now, &self.folder.join("server.pem"))?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }
}

impl ResolvesServerCert for Authority {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.read().unwrap_or_else(PoisonError::into_inner).key.clone())
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("names", &self.names).finish_non_exhaustive()
    }
}

/// Neither near its end, nor made by a clock that was far ahead.
fn is_good(until: Timestamp, now: Timestamp) -> bool {
    let left = until.duration_since(now);
    left > RENEWED_BEFORE && left <= LASTS + SignedDuration::from_hours(24)
}

fn authority_params(key: &KeyPair) -> CertificateParams {
    let mut params = CertificateParams::default();
    let print: String =
        Sha256::digest(key.public_key_raw()).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, format!("Hearth home authority {print}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    // A machine whose clock is not set yet must be able to start.
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2099, 12, 31);
    params
}

/// By what the server is called on this machine and in the home.
fn own_names() -> BTreeSet<String> {
    let mut names: BTreeSet<String> = ["127.0.0.1", "::1", "localhost"].map(str::to_owned).into();
    let host = rustix::system::uname().nodename().to_string_lossy().to_lowercase();
    if hearth_meta::name::check_subdomain(&host).is_ok() {
        names.insert(format!("{host}.local"));
        names.insert(host);
    }
    names
}

fn issue(
    key: &KeyPair,
    certificate: &str,
    names: &BTreeSet<String>,
    now: Timestamp,
    file: &Path,
) -> anyhow::Result<Current> {
    let own = KeyPair::generate().context("making the server's key")?;
    let until = now.saturating_add(LASTS).context("reading the clock")?;
    let names_wanted: Vec<String> = names.iter().cloned().collect();
    let mut params = CertificateParams::new(names_wanted).context("naming the server")?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "hearth");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let end = until.to_zoned(TimeZone::UTC).date();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(end.year().into(), end.month().unsigned_abs(), end.day().unsigned_abs());
    let signed = params
        .signed_by(&own, &Issuer::new(authority_params(key), key))
        .context("signing the server's certificate")?;
    let head = head(names, until);
    let text = format!("{head}\n{}{certificate}{}", signed.pem(), own.serialize_pem());
    private_file::write(file, &text)?;
    Ok(Current { key: read_key(&text)?, until })
}

/// What is kept, if it is for these names and good for some time to come.
fn kept_certificate(text: &str, names: &BTreeSet<String>, now: Timestamp) -> Option<Current> {
    let first = text.lines().next()?;
    let until = first.rsplit_once(" until ")?.1.parse().ok()?;
    let is_ours = first == head(names, until) && is_good(until, now);
    let key = read_key(text).ok().filter(|_| is_ours)?;
    Some(Current { key, until })
}

fn head(names: &BTreeSet<String>, until: Timestamp) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    format!("{MARK}{} until {until}", names.join(" "))
}

fn read_key(text: &str) -> anyhow::Result<Arc<CertifiedKey>> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).context("reading the server's key")?;
    let key = any_supported_type(&key).context("reading the server's key")?;
    Ok(Arc::new(CertifiedKey::new(chain.context("reading the server's certificate")?, key)))
}

#[cfg(test)]
mod tests {
    use hearth_meta::{SignedDuration, Timestamp};

    use super::Authority;

    fn at(days: i64) -> Timestamp {
        let start: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
        start.checked_add(SignedDuration::from_hours(days * 24)).unwrap()
    }

    #[test]
    fn the_authority_stays_and_the_certificate_is_renewed_near_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let server = || std::fs::read_to_string(folder.path().join("server.pem")).unwrap();
        let first = Authority::open(folder.path(), at(0)).unwrap();
        let made = server();
        let again = Authority::open(folder.path(), at(100)).unwrap();
        assert_eq!(first.certificate(), again.certificate());
        assert_eq!(made, server(), "kept while it is good");
        again.renew(at(300)).unwrap();
        assert_eq!(made, server(), "not renewed while it is good");
        again.renew(at(350)).unwrap();
        assert_ne!(made, server(), "renewed near its end");
    }

    #[test]
    fn a_clock_that_was_wrong_leaves_no_certificate_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let ahead = Authority::open(folder.path(), at(20_000)).unwrap();
        let made = std::fs::read_to_string(folder.path().join("server.pem")).unwrap();
        ahead.renew(at(0)).unwrap();
        assert_ne!(made, std::fs::read_to_string(folder.path().join("server.pem")).unwrap());
    }

    #[test]
    fn a_lost_key_is_never_replaced_in_silence() {
        let folder = tempfile::tempdir().unwrap();
        drop(Authority::open(folder.path(), at(0)).unwrap());
        std::fs::remove_file(folder.path().join("ca.key")).unwrap();
        let error = Authority::open(folder.path(), at(0)).unwrap_err();
        assert!(error.to_string().contains("ca.key is gone"), "{error}");
    }

    #[test]
    fn only_the_owner_may_read_keys() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        drop(Authority::open(folder.path(), at(0)).unwrap());
        for file in ["ca.key", "ca.crt", "server.pem"] {
            let mode = std::fs::metadata(folder.path().join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
    }
}
