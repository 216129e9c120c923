//! The facts that a PE sends to the PEs of other hosts in init, as bytes.

use crate::job::topology::Id;

/// The magic word of facts.
const MAGIC: [u8; 8] = *b"nvshmRSh";
/// Bytes of facts, in every version.
const INFO_BYTES: usize = 512;
/// Bytes of the reason why a PE cannot go on.
const TROUBLE_BYTES: usize = 320;

/// The facts that a PE sends to all others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PeInfo {
    pub(super) version: String,
    pub(super) layout: u32,
    pub(super) wire: u32,
    pub(super) host: Id,
    pub(super) host_name: String,
    /// `u64::MAX`: the default.
    pub(super) heap: u64,
    /// The heap that a PE would have by default if it were alone on its host.
    pub(super) default_heap: u64,
    pub(super) memory: u32,
    pub(super) check: bool,
    /// The seed of the checker that this PE wants, or 0 with `any_seed`. That of PE 0 holds.
    pub(super) seed: u64,
    pub(super) any_seed: bool,
    pub(super) nonce: [u8; 32],
    /// Why this PE cannot join; empty: it can.
    pub(super) trouble: String,
}

impl PeInfo {
    pub(super) fn bytes(&self) -> [u8; INFO_BYTES] {
        let mut bytes = [0; INFO_BYTES];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        let text = |text: &str, most: usize| text.as_bytes()[..text.len().min(most)].to_vec();
        put(0, &MAGIC);
        put(8, &text(&self.version, 32));
        put(40, &text(&self.host_name, 64));
        put(104, &self.host);
        put(120, &self.heap.to_le_bytes());
        put(128, &self.default_heap.to_le_bytes());
        put(136, &self.memory.to_le_bytes());
        let check = u32::from(self.check) | u32::from(self.any_seed) << 1;
        put(140, &check.to_le_bytes());
        put(144, &self.layout.to_le_bytes());
        put(148, &self.wire.to_le_bytes());
        put(152, &self.nonce);
        put(184, &text(&self.trouble, TROUBLE_BYTES));
        put(504, &self.seed.to_le_bytes());
        bytes
    }

    /// Reads the bytes of a PE; `None` if they are something else.
    pub(super) fn read(bytes: &[u8]) -> Option<PeInfo> {
        fn part<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
            bytes.get(at..at + N)?.try_into().ok()
        }
        let four = |at| part(bytes, at).map(u32::from_le_bytes);
        let eight = |at| part(bytes, at).map(u64::from_le_bytes);
        if part(bytes, 0)? != MAGIC {
            return None;
        }
        Some(PeInfo {
            version: text(&part::<32>(bytes, 8)?),
            host_name: text(&part::<64>(bytes, 40)?),
            host: part(bytes, 104)?,
            heap: eight(120)?,
            default_heap: eight(128)?,
            memory: four(136)?,
            check: four(140)? & 1 != 0,
            any_seed: four(140)? & 2 != 0,
            seed: eight(504)?,
            layout: four(144)?,
            wire: four(148)?,
            nonce: part(bytes, 152)?,
            trouble: text(&part::<TROUBLE_BYTES>(bytes, 184)?),
        })
    }
}

/// A text that ends with its first NUL, without characters that a terminal would take for commands.
pub(super) fn text(bytes: &[u8]) -> String {
    let bytes = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    text.chars().filter(|c| !c.is_control()).collect()
}
