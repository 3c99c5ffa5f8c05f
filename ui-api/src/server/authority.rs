//! The home's own certificate authority, made at the first start, and the certificates from it: one for each way in.
//!
//! The authority's certificate follows from its key alone, so the key is what is kept. A server certificate is
//! made anew when it is near its end, when the machine's names or addresses change, and when it cannot be read.

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
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

use crate::private_file;

/// How long a server certificate lasts: a little over a year, which every client accepts.
const LASTS: SignedDuration = SignedDuration::from_hours(397 * 24);
/// How long before its end it is made anew.
const RENEWED_BEFORE: SignedDuration = SignedDuration::from_hours(60 * 24);
/// What the first line of the server's file starts with.
const MARK: &str = "Hearth server certificate for ";

/// The authority.
pub(super) struct Authority {
    folder: PathBuf,
    certificate: String,
    key: KeyPair,
}

/// A certificate of the authority's for one way in. It is kept good while the server runs.
pub(super) struct ServerCertificate {
    authority: Arc<Authority>,
    file: PathBuf,
    names: Names,
    current: RwLock<Current>,
}

/// What the server is called on a way in, as it is now.
pub(super) type Names = Box<dyn Fn() -> BTreeSet<String> + Send + Sync>;

struct Current {
    key: Arc<CertifiedKey>,
    names: BTreeSet<String>,
    until: Timestamp,
}

impl Authority {
    /// Opens the authority in a folder, making it where there is none.
    ///
    /// # Errors
    /// Where files cannot be read or written, or the authority's key is gone.
    pub(super) fn open(folder: &Path) -> anyhow::Result<Self> {
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
        Ok(Self { folder: folder.to_owned(), certificate, key })
    }

    /// The authority's certificate, which clients trust.
    pub(super) fn certificate(&self) -> &str {
        &self.certificate
    }
}

impl ServerCertificate {
    /// The certificate of a way in, from a file in the authority's folder; one that will not do is made anew.
    ///
    /// # Errors
    /// Where the file cannot be read or written.
    pub(super) fn open(
        authority: Arc<Authority>,
        file: &str,
        names: Names,
        now: Timestamp,
    ) -> anyhow::Result<Self> {
        let (file, wanted) = (authority.folder.join(file), names());
        let kept = private_file::read(&file)?.and_then(|text| kept_certificate(&text, &wanted, now));
        let current = match kept {
            Some(current) => current,
            None => issue(&authority, wanted, now, &file)?,
        };
        Ok(Self { authority, file, names, current: RwLock::new(current) })
    }

    /// Makes it anew if it is near its end, if the clock has jumped out of its time, or if names have changed.
    ///
    /// # Errors
    /// Where it cannot be written; the one that stands goes on.
    pub(super) fn renew(&self, now: Timestamp) -> anyhow::Result<()> {
        let wanted = (self.names)();
        let is_enough = {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            is_good(current.until, now) && current.names == wanted
        };
        if is_enough {
            return Ok(());
        }
        let new = issue(&self.authority, wanted, now, &self.file)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }
}

impl ResolvesServerCert for ServerCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.read().unwrap_or_else(PoisonError::into_inner).key.clone())
    }
}

impl fmt::Debug for ServerCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCertificate").field("file", &self.file).finish_non_exhaustive()
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

/// By what the server is called on this machine.
pub(super) fn own_names() -> BTreeSet<String> {
    let mut names: BTreeSet<String> = ["127.0.0.1", "::1", "localhost"].map(str::to_owned).into();
    names.extend(host_names());
    names
}

/// By what the server is called in the home: its names, and the addresses it has there now. One that listens on one
/// address has only that.
pub(super) fn names_in_the_home(listens: IpAddr) -> BTreeSet<String> {
    let mut names = host_names();
    if listens.is_unspecified() {
        names.extend(addresses().iter().map(ToString::to_string));
    } else {
        names.insert(listens.to_string());
    }
    names
}

fn host_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let host = rustix::system::uname().nodename().to_string_lossy().to_lowercase();
    if hearth_meta::name::check_subdomain(&host).is_ok() {
        names.insert(format!("{host}.local"));
        names.insert(host);
    }
    names
}

/// The interfaces of containers: nobody reaches a home through them, and they come and go with each app.
const OF_CONTAINERS: [&str; 4] = ["docker", "br-", "veth", "podman"];

/// The machine's addresses in the home. Where they cannot be read, none: names still lead there.
fn addresses() -> BTreeSet<IpAddr> {
    let found = if_addrs::get_if_addrs().unwrap_or_else(|error| {
        tracing::warn!(error = %error, "the machine's addresses cannot be read; its certificate has only its names");
        Vec::new()
    });
    let is_of_home = |name: &str| !OF_CONTAINERS.iter().any(|start| name.starts_with(start));
    let is_link_local = |ip: &IpAddr| match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    found
        .into_iter()
        .filter(|interface| !interface.is_loopback() && is_of_home(&interface.name))
        .map(|interface| interface.ip())
        .filter(|ip| !is_link_local(ip))
        .collect()
}

fn issue(
    authority: &Authority,
    names: BTreeSet<String>,
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
    let key = &authority.key;
    let signed = params
        .signed_by(&own, &Issuer::new(authority_params(key), key))
        .context("signing the server's certificate")?;
    let head = head(&names, until);
    let text = format!("{head}\n{}{}{}", signed.pem(), authority.certificate, own.serialize_pem());
    private_file::write(file, &text)?;
    Ok(Current { key: read_key(&text)?, names, until })
}

/// What is kept, if it is for these names and good for some time to come.
fn kept_certificate(text: &str, names: &BTreeSet<String>, now: Timestamp) -> Option<Current> {
    let first = text.lines().next()?;
    let until = first.rsplit_once(" until ")?.1.parse().ok()?;
    let is_ours = first == head(names, until) && is_good(until, now);
    let key = read_key(text).ok().filter(|_| is_ours)?;
    Some(Current { key, names: names.clone(), until })
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
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use hearth_meta::{SignedDuration, Timestamp};

    use super::{Authority, Names, ServerCertificate, names_in_the_home};

    fn at(days: i64) -> Timestamp {
        let start: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
        start.checked_add(SignedDuration::from_hours(days * 24)).unwrap()
    }

    fn certificate(folder: &Path, names: Names, now: Timestamp) -> ServerCertificate {
        let authority = Arc::new(Authority::open(folder).unwrap());
        ServerCertificate::open(authority, "server.pem", names, now).unwrap()
    }

    fn home() -> Names {
        Box::new(|| ["home.local".to_owned()].into())
    }

    #[test]
    fn the_authority_stays_and_the_certificate_is_renewed_near_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let server = || std::fs::read_to_string(folder.path().join("server.pem")).unwrap();
        let first = certificate(folder.path(), home(), at(0));
        let made = server();
        let again = certificate(folder.path(), home(), at(100));
        assert_eq!(first.authority.certificate(), again.authority.certificate());
        assert_eq!(made, server(), "kept while it is good");
        again.renew(at(300)).unwrap();
        assert_eq!(made, server(), "not renewed while it is good");
        again.renew(at(350)).unwrap();
        assert_ne!(made, server(), "renewed near its end");
    }

    #[test]
    fn another_address_makes_the_certificate_anew_while_the_server_runs() {
        let folder = tempfile::tempdir().unwrap();
        let server = || std::fs::read_to_string(folder.path().join("server.pem")).unwrap();
        let address = Arc::new(Mutex::new("192.0.2.1".to_owned()));
        let now = address.clone();
        let names: Names = Box::new(move || [now.lock().unwrap().clone()].into());
        let certificate = certificate(folder.path(), names, at(0));
        let made = server();
        certificate.renew(at(1)).unwrap();
        assert_eq!(made, server(), "kept while nothing changed");
        *address.lock().unwrap() = "192.0.2.2".to_owned();
        certificate.renew(at(1)).unwrap();
        assert!(made != server() && server().starts_with("Hearth server certificate for 192.0.2.2 until"));
    }

    #[test]
    fn in_the_home_it_has_its_names_and_the_address_it_listens_on() {
        let one = names_in_the_home([192, 0, 2, 7].into());
        assert!(
            one.contains("192.0.2.7") && !one.contains("localhost") && !one.contains("127.0.0.1"),
            "{one:?}"
        );
        let all = names_in_the_home([0, 0, 0, 0].into());
        assert!(!all.contains("0.0.0.0") && !all.contains("127.0.0.1"), "{all:?}");
    }

    #[test]
    fn a_clock_that_was_wrong_leaves_no_certificate_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let ahead = certificate(folder.path(), home(), at(20_000));
        let made = std::fs::read_to_string(folder.path().join("server.pem")).unwrap();
        ahead.renew(at(0)).unwrap();
        assert_ne!(made, std::fs::read_to_string(folder.path().join("server.pem")).unwrap());
    }

    #[test]
    fn a_lost_key_is_never_replaced_in_silence() {
        let folder = tempfile::tempdir().unwrap();
        drop(Authority::open(folder.path()).unwrap());
        std::fs::remove_file(folder.path().join("ca.key")).unwrap();
        let error = Authority::open(folder.path()).err().unwrap();
        assert!(error.to_string().contains("ca.key is gone"), "{error}");
    }

    #[test]
    fn only_the_owner_may_read_keys() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        drop(certificate(folder.path(), home(), at(0)));
        for file in ["ca.key", "ca.crt", "server.pem"] {
            let mode = std::fs::metadata(folder.path().join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{file}");
        }
    }
}
