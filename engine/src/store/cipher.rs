//! Keeps secrets unreadable in the file, and lets them be compared without being shown.
#![expect(clippy::disallowed_methods, reason = "the store keeps its own files")]

use std::path::Path;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{ChaCha20Poly1305, Key, Nonce};
use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::error::OpenError;
use crate::private_file;

/// The first byte of an encrypted body, so that another scheme can follow this one.
const SCHEME: u8 = 1;
const NONCE_LEN: usize = 12;
/// How many bytes a store's key has.
pub const KEY_BYTES: usize = 32;

/// The store's key. It lies beside the store, readable by its owner alone, and is never printed.
#[derive(Clone)]
pub struct Cipher {
    aead: ChaCha20Poly1305,
    key: [u8; KEY_BYTES],
}

impl Cipher {
    /// The key in `path`; made anew only where `may_make` says that no store needs an older one, and durable then.
    ///
    /// # Errors
    /// Where the file cannot be read or written, is missing, or is not a key.
    pub fn load(path: &Path, may_make: bool) -> Result<Self, OpenError> {
        match std::fs::read(path) {
            Ok(bytes) => {
                let key = <[u8; KEY_BYTES]>::try_from(bytes)
                    .map_err(|_| OpenError::Key { key: path.display().to_string(), folder: String::new() })?;
                Ok(Self::of(key))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && may_make => {
                let key = random()?;
                // Durable, name and all: a store whose key is lost after a power cut is lost.
                private_file::write(path, &key).map_err(|source| OpenError::File {
                    action: format!("writing the key {}", path.display()),
                    source,
                })?;
                Ok(Self::of(key))
            }
            Err(source) => {
                Err(OpenError::File { action: format!("reading the key {}", path.display()), source })
            }
        }
    }

    fn of(key: [u8; KEY_BYTES]) -> Self {
        Self { aead: ChaCha20Poly1305::new(&Key::from(key)), key }
    }

    /// Encrypts, bound to what it belongs to: under another `owner` it does not decrypt.
    ///
    /// # Errors
    /// Where the machine gives no random numbers.
    pub fn encrypt(&self, owner: &str, plain: &[u8]) -> Result<Vec<u8>, OpenError> {
        let nonce: [u8; NONCE_LEN] = random()?;
        let payload = Payload { msg: plain, aad: owner.as_bytes() };
        let sealed =
            self.aead.encrypt(&Nonce::from(nonce), payload).expect("a body is far below the cipher's limit");
        Ok([&[SCHEME][..], &nonce, &sealed].concat())
    }

    /// Decrypts what [`Cipher::encrypt`] made for the same owner; `None` where it was not.
    pub fn decrypt(&self, owner: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (scheme, rest) = sealed.split_first()?;
        let (nonce, sealed) = rest.split_at_checked(NONCE_LEN)?;
        let nonce = <[u8; NONCE_LEN]>::try_from(nonce).ok()?;
        let payload = Payload { msg: sealed, aad: owner.as_bytes() };
        (*scheme == SCHEME).then(|| self.aead.decrypt(&Nonce::from(nonce), payload).ok()).flatten()
    }

    /// What a store keeps to tell this key from another.
    pub(super) fn mark(&self) -> String {
        self.keyed_hash(b"the key of this store")
    }

    /// A keyed hash, as 32 hex digits.
    pub fn keyed_hash(&self, value: &[u8]) -> String {
        let mut mac =
            <Hmac<Sha256> as hmac::KeyInit>::new_from_slice(&self.key).expect("any length of key will do");
        mac.update(value);
        hex(&mac.finalize().into_bytes()[..16])
    }
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |four: u8| char::from_digit(u32::from(four), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn random<const N: usize>() -> Result<[u8; N], OpenError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| OpenError::File {
        action: "asking for random numbers".into(),
        source: std::io::Error::other(error),
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::Cipher;

    #[test]
    fn opens_only_what_was_sealed_for_the_same_owner() {
        let cipher = Cipher::of([7; 32]);
        let sealed = cipher.encrypt("uid-1", b"hunter2").unwrap();
        assert_eq!(cipher.decrypt("uid-1", &sealed).as_deref(), Some(&b"hunter2"[..]));
        assert_eq!(cipher.decrypt("uid-2", &sealed), None);
        assert_eq!(Cipher::of([8; 32]).decrypt("uid-1", &sealed), None);
        assert!(!sealed.windows(7).any(|window| window == b"hunter2"));
    }
}
