//! The home's authority and the server's certificate, as their files stand.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hearth_meta::{SignedDuration, Timestamp};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::Check;
use crate::cli::fingerprint;

/// The server renews its certificate two months before its end; one nearer than this was not renewed.
const NOT_RENEWED: SignedDuration = SignedDuration::from_hours(30 * 24);
/// What only the owner may read.
const PRIVATE: [&str; 5] =
    ["pki/ca.key", "pki/server.pem", "pki/admin.token.sha256", "store.key", "admin.kubeconfig"];

/// Everything there is to say of the files of a data directory.
pub(super) fn of_folder(data_dir: &Path, now: Timestamp) -> Vec<Check> {
    let mut checks = vec![certificate(data_dir, now)];
    checks.extend(keys(data_dir));
    checks
}

fn certificate(data_dir: &Path, now: Timestamp) -> Check {
    let (key, file) = (data_dir.join("pki/ca.key"), data_dir.join("pki/server.pem"));
    if let Err(error) = std::fs::metadata(&key) {
        let message = format!("the key of the home's authority, {}, cannot be read: {error}", key.display());
        return Check::failure(
            "certificates",
            message,
            "bring it back from a backup; the server will not start without it",
        );
    }
    let again = "restart the server: it makes the certificate anew";
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) => {
            let message = format!("the server's certificate, {}, cannot be read: {error}", file.display());
            return Check::warning("certificates", message, again);
        }
    };
    let until = text.lines().next().and_then(|line| line.rsplit_once(" until ")?.1.parse::<Timestamp>().ok());
    let Some(until) = until else {
        let message = format!("{} does not say until when it holds", file.display());
        return Check::warning("certificates", message, again);
    };
    let shown = Timestamp::from_second(until.as_second()).unwrap_or(until);
    let left = until.duration_since(now);
    if left <= SignedDuration::ZERO {
        let message = format!("the server's certificate ended at {shown}");
        return Check::failure("certificates", message, again);
    }
    if left < NOT_RENEWED {
        let message = format!("the server's certificate ends at {shown} and was not renewed");
        return Check::warning("certificates", message, again);
    }
    // What `hearth login` elsewhere shows, and asks to compare.
    let authority = CertificateDer::from_pem_file(data_dir.join("pki/ca.crt"));
    let print = authority
        .map(|authority| format!("; the authority's SHA-256 fingerprint is {}", fingerprint(&authority)));
    Check::ok(
        "certificates",
        format!("the server's certificate holds until {shown}{}", print.unwrap_or_default()),
    )
}

fn keys(data_dir: &Path) -> Option<Check> {
    let mut open = Vec::new();
    for name in PRIVATE {
        let path = data_dir.join(name);
        match std::fs::metadata(&path) {
            Ok(found) if found.permissions().mode() & 0o077 != 0 => open.push(path.display().to_string()),
            // What is missing is told by whoever needs it.
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                let message = format!("{} cannot be looked at: {error}", path.display());
                return Some(Check::warning("keys", message, "look again as root"));
            }
        }
    }
    let message = || format!("others than the owner may read {}", open.join(", "));
    let next = || format!("chmod 600 {}", open.join(" "));
    (!open.is_empty()).then(|| Check::failure("keys", message(), next()))
}
