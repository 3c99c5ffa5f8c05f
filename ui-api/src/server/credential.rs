//! The admin's token: random, kept only as a hash, and in the clear in the kubeconfig file that is the admin's.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use subtle::ConstantTimeEq;

use crate::access::{Way, draw, hash, kubeconfig};
use crate::private_file;

/// The hash of the one token there is. Clones are the same.
#[derive(Clone)]
pub(super) struct Credential {
    hash: Arc<str>,
}

impl Credential {
    /// Reads the credential, and writes the kubeconfig file where it is missing or stale. A token nobody has any
    /// more is replaced: whoever may write the data directory is the admin.
    ///
    /// The hash is written before the token: a crash between the two is mended at the next start.
    pub(super) fn settle(
        folder: &Path,
        kubeconfig: &Path,
        authority: &str,
        address: SocketAddr,
    ) -> anyhow::Result<Self> {
        let hash_file = folder.join("admin.token.sha256");
        let kept = private_file::read(&hash_file)?;
        let written = private_file::read(kubeconfig)?;
        let known = written.as_deref().and_then(token_in).map(str::to_owned);
        let known = known.filter(|token| kept.as_deref().map(str::trim) == Some(&hash(token)));
        let token = match known {
            Some(token) => token,
            None => {
                let drawn = draw()?;
                private_file::write(&hash_file, &format!("{}\n", drawn.sha256))?;
                drawn.token
            }
        };
        let text = file(&token, authority, address);
        if written.as_deref() != Some(&text) {
            private_file::write(kubeconfig, &text)?;
        }
        Ok(Self { hash: hash(&token).into() })
    }

    /// Whether a token is the right one, in a time that tells nothing of it.
    pub(super) fn is(&self, token: &str) -> bool {
        hash(token).as_bytes().ct_eq(self.hash.as_bytes()).into()
    }
}

fn token_in(kubeconfig: &str) -> Option<&str> {
    kubeconfig.lines().find_map(|line| line.trim().strip_prefix("token: ")).map(str::trim)
}

/// How this very machine reaches the address; one that stands for all is reached through the machine itself.
fn reached_at(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn file(token: &str, authority: &str, address: SocketAddr) -> String {
    let way = Way { server: format!("https://{}", reached_at(address)), authority: authority.to_owned() };
    let text = kubeconfig(&way, token, "admin", hearth_kinds::HOUSEHOLD);
    format!("# Written by `hearth serve`. Whoever can read this file is the admin of this home.\n{text}")
}

#[cfg(test)]
mod tests {
    use super::{Credential, token_in};

    #[test]
    fn a_token_outlives_restarts_and_a_lost_one_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("admin.kubeconfig");
        let settle = |port: u16| {
            let address = ([0, 0, 0, 0], port).into();
            let credential = Credential::settle(folder.path(), &kubeconfig, "CA", address).unwrap();
            (credential, std::fs::read_to_string(&kubeconfig).unwrap())
        };
        let (credential, first) = settle(8420);
        assert!(credential.is(token_in(&first).unwrap()) && !credential.is("other"));
        assert!(first.contains("server: https://127.0.0.1:8420"), "{first}");
        let (_, second) = settle(8421);
        assert_eq!(token_in(&first), token_in(&second));
        assert!(second.contains("https://127.0.0.1:8421"), "a stale address is corrected");
        std::fs::remove_file(&kubeconfig).unwrap();
        let (credential, third) = settle(8421);
        assert_ne!(token_in(&second), token_in(&third));
        assert!(!credential.is(token_in(&second).unwrap()), "the lost token is of no use");
        let kept = std::fs::read_to_string(folder.path().join("admin.token.sha256")).unwrap();
        assert!(!third.contains(kept.trim()), "only the hash is kept");
    }
}
