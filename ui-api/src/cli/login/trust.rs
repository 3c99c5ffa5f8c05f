//! Whom to trust: the authority that a server shows, told by its fingerprint before anything secret is sent.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use sha2::{Digest, Sha256};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::super::exit::{Exit, Failure};

/// How long a server may take to show its certificate.
const PATIENCE: Duration = Duration::from_secs(10);

/// The authority that a server shows with its certificate. Nothing is sent to the server but the beginning of a
/// connection, and nothing is believed of what it says.
///
/// # Errors
/// No server, or one that shows no authority.
pub(super) async fn shown(host: &str, port: u16) -> Result<CertificateDer<'static>, Failure> {
    let address = format!("{host}:{port}");
    let failed = |why: String| {
        Failure::new(Exit::Unreachable, format!("no server shows a certificate at {address}: {why}")).next(
            "the home must be started with `hearth serve --lan-listen ADDRESS` to be reached from elsewhere",
        )
    };
    let chain = tokio::time::timeout(PATIENCE, chain_of(host, port)).await;
    let chain = chain.map_err(|_| failed(format!("it took longer than {} s", PATIENCE.as_secs())))?;
    match chain.map_err(|error| failed(error.to_string()))?.as_slice() {
        [_, .., last] => Ok(last.clone()),
        _ => Err(Failure::new(Exit::NotAllowed, format!("{address} does not show which authority it is of"))
            .next("take pki/ca.crt from the home's data directory and give it with --ca FILE")),
    }
}

async fn chain_of(host: &str, port: u16) -> std::io::Result<Vec<CertificateDer<'static>>> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(std::io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Looks { provider }))
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(std::io::Error::other)?;
    let stream = TcpStream::connect((host, port)).await?;
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    Ok(stream.get_ref().1.peer_certificates().map(<[_]>::to_vec).unwrap_or_default())
}

/// Takes any certificate, to look at it.
#[derive(Debug)]
struct Looks {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Looks {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The SHA-256 of a certificate, in hex.
pub(crate) fn fingerprint(certificate: &[u8]) -> String {
    Sha256::digest(certificate).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether two fingerprints are the same, however they are written: browsers and openssl put colons between.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    let bare = |text: &str| -> String {
        let text = text.rsplit_once(['=', ' ']).map_or(text, |(_, last)| last);
        let text = text.to_lowercase();
        let text = text.strip_prefix("sha256:").unwrap_or(&text).to_owned();
        text.chars().filter(char::is_ascii_hexdigit).collect()
    };
    let (one, other) = (bare(one), bare(other));
    one.len() == 64 && one == other
}

#[cfg(test)]
mod tests {
    use super::{fingerprint, is_same};

    #[test]
    fn a_fingerprint_is_known_however_it_is_written() {
        let shown = fingerprint(b"hello");
        assert!(shown.starts_with("2cf24dba"), "{shown}");
        let pairs: Vec<&str> = (0..32).map(|at| &shown[2 * at..2 * at + 2]).collect();
        let colons = pairs.join(":").to_uppercase();
        for written in
            [shown.clone(), colons.clone(), format!("sha256 Fingerprint={colons}"), format!("SHA256:{shown}")]
        {
            assert!(is_same(&written, &shown), "{written}");
        }
        assert!(!is_same(&shown[..60], &shown[..60]), "a part of one is none");
        assert!(!is_same(&fingerprint(b"other"), &shown));
    }
}
