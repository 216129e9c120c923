//! Unique ids: they name a job and carry its secret.

use crate::{Error, Result};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

const BYTES: usize = 128;
const VERSION: u32 = (1 << 16) + BYTES as u32;
const MAGIC: &[u8; 8] = b"nvshmRS1";

/// Names a job, and carries the secret that its PEs prove to each other. A process that has it, and runs as the same user
/// on the same host, can join.
#[derive(Clone, PartialEq, Eq)]
pub struct UniqueId {
    bytes: [u8; BYTES],
}

impl std::fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not its bytes: they hold the secret.
        f.write_str("UniqueId(...)")
    }
}

impl UniqueId {
    /// A new one, from the system's random numbers. Local.
    pub fn new() -> Result<UniqueId> {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&VERSION.to_ne_bytes());
        bytes[4..12].copy_from_slice(MAGIC);
        getrandom::fill(&mut bytes[12..76]).map_err(|error| Error::system("getrandom", error))?;
        Ok(UniqueId { bytes })
    }

    /// Its 128 bytes: a version word, then opaque.
    pub fn as_bytes(&self) -> &[u8; BYTES] {
        &self.bytes
    }

    /// The id with these bytes; an error if they are invalid.
    pub fn from_bytes(bytes: &[u8; BYTES]) -> Result<UniqueId> {
        let version = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        if version != VERSION || &bytes[4..12] != MAGIC {
            return Err(Error::invalid(
                "id",
                format!("bytes with version word {version:#x}"),
                "a unique id that `UniqueId::new()` of this version made",
            ));
        }
        Ok(UniqueId { bytes: *bytes })
    }

    /// 256 hexadecimal digits.
    pub fn to_hex(&self) -> String {
        self.bytes
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// Parses the output of [`to_hex`](UniqueId::to_hex).
    pub fn from_hex(text: &str) -> Result<UniqueId> {
        let wrong = || {
            Error::invalid(
                "NVSHMEMRS_UNIQUE_ID",
                format!("a text of {} characters", text.len()),
                "256 hexadecimal digits",
            )
        };
        if text.len() != 2 * BYTES || !text.is_ascii() {
            return Err(wrong());
        }
        let mut bytes = [0; BYTES];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).map_err(|_| wrong())?;
        }
        UniqueId::from_bytes(&bytes).map_err(|_| {
            Error::invalid(
                "NVSHMEMRS_UNIQUE_ID",
                "a text of 256 digits that is no unique id",
                "an id from `UniqueId::new()` of this version",
            )
        })
    }

    /// The key of the bootstrap.
    pub(super) fn key(&self) -> Key {
        Key::new(&self.bytes)
    }
}

/// The names of a job's sockets, and its secret.
#[derive(Clone)]
pub(super) struct Key {
    name: String,
    secret: [u8; 32],
}

impl Key {
    /// The key derived from `material`: equal material gives equal names.
    pub(super) fn new(material: &[u8]) -> Key {
        let digest = |label: &str| {
            Sha256::new()
                .chain_update(label)
                .chain_update(material)
                .finalize()
        };
        let name: String = digest("name")[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Key {
            name: format!("nvshmemrs-{name}"),
            secret: digest("secret").into(),
        }
    }

    /// The abstract socket's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac: Hmac<Sha256> =
            Mac::new_from_slice(&self.secret).expect("HMAC takes keys of any length");
        for part in parts {
            mac.update(part);
        }
        mac
    }

    /// Proves the secret over `parts`.
    pub(super) fn prove(&self, parts: &[&[u8]]) -> [u8; 32] {
        self.mac(parts).finalize().into_bytes().into()
    }

    /// Checks a proof, in constant time.
    pub(super) fn verify(&self, parts: &[&[u8]], proof: &[u8]) -> bool {
        self.mac(parts).verify_slice(proof).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_goes_there_and_back() {
        let id = UniqueId::new().unwrap();
        assert_eq!(UniqueId::from_hex(&id.to_hex()).unwrap(), id);
        assert_ne!(UniqueId::new().unwrap(), id);
        for wrong in [
            "",
            "00",
            &"0".repeat(256),
            &"x".repeat(256),
            &"é".repeat(128),
        ] {
            assert!(UniqueId::from_hex(wrong).is_err(), "{wrong:?} was accepted");
        }
        assert!(!format!("{id:?}").contains(&id.to_hex()[24..60]));
    }

    #[test]
    fn proofs_need_the_secret() {
        let (one, other) = (Key::new(b"one"), Key::new(b"other"));
        let proof = one.prove(&[b"join", b"1"]);
        assert!(one.verify(&[b"join", b"1"], &proof));
        assert!(!one.verify(&[b"join", b"2"], &proof));
        assert!(!other.verify(&[b"join", b"1"], &proof));
        assert!(!one.verify(&[b"join", b"1"], &proof[..31]));
    }
}
