//! The stack frames of kernels, read from a cubin. For a kernel with a stack frame, the driver allocates local memory
//! at the launch, and may wait for running kernels to do so; those may wait for a kernel that is launched later.
//! Shipped kernels therefore have no stack frame.

/// The section in which the assembler describes all functions, and the attribute that gives the size of a function's
/// frame.
const INFO: &str = ".nv.info";
const FRAME_SIZE: u8 = 0x11;
/// The format of an attribute whose value has an explicit length.
const WITH_LENGTH: u8 = 4;

/// The position of a section.
struct Section {
    name: u32,
    start: u64,
    bytes: u64,
}

fn number<const N: usize>(bytes: &[u8], at: u64) -> Option<[u8; N]> {
    let at = usize::try_from(at).ok()?;
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn word(bytes: &[u8], at: u64) -> Option<u32> {
    number(bytes, at).map(u32::from_le_bytes)
}

fn long(bytes: &[u8], at: u64) -> Option<u64> {
    number(bytes, at).map(u64::from_le_bytes)
}

fn half(bytes: &[u8], at: u64) -> Option<u64> {
    number(bytes, at).map(|half| u16::from_le_bytes(half).into())
}

fn section(cubin: &[u8], index: u64) -> Option<Section> {
    let head = long(cubin, 40)?.checked_add(index.checked_mul(half(cubin, 58)?)?)?;
    Some(Section {
        name: word(cubin, head)?,
        start: long(cubin, head.checked_add(24)?)?,
        bytes: long(cubin, head.checked_add(32)?)?,
    })
}

fn text(cubin: &[u8], table: &Section, at: u32) -> Option<String> {
    let start = usize::try_from(table.start.checked_add(at.into())?).ok()?;
    let bytes = cubin.get(start..)?;
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

/// The functions of a cubin that have a frame, with its size in bytes, and the number of all functions. `None` if the
/// bytes are not a cubin.
pub(super) fn frames(cubin: &[u8]) -> Option<(Vec<(String, u32)>, usize)> {
    if !cubin.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let count = half(cubin, 60)?;
    let names = section(cubin, half(cubin, 62)?)?;
    let find = |wanted: &str| {
        let mut sections = (0..count).filter_map(|index| section(cubin, index));
        sections.find(|section| text(cubin, &names, section.name).as_deref() == Some(wanted))
    };
    let (info, symbols, strings) = (find(INFO)?, find(".symtab")?, find(".strtab")?);
    let end = info.start.checked_add(info.bytes)?;
    let (mut at, mut functions, mut with_frame) = (info.start, 0, Vec::new());
    while at < end {
        let [kind, attribute] = number(cubin, at)?;
        let value = at.checked_add(4)?;
        at = value;
        if kind != WITH_LENGTH {
            continue;
        }
        let length = half(cubin, value - 2)?;
        at = value.checked_add(length)?;
        if attribute == FRAME_SIZE && length == 8 {
            functions += 1;
            let (symbol, bytes) = (word(cubin, value)?, word(cubin, value + 4)?);
            if bytes != 0 {
                let name = word(cubin, symbols.start.checked_add(24 * u64::from(symbol))?)?;
                with_frame.push((text(cubin, &strings, name)?, bytes));
            }
        }
    }
    Some((with_frame, functions))
}
