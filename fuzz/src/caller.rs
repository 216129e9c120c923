//! A caller of the C ABI that keeps only the rules a C compiler cannot check: local buffers are as long as it says, unless that is more
//! than any symmetric memory here, in which case the library must refuse them unseen.

use arbitrary::{Result, Unstructured};
use nvshmemrs_abi::types::*;
use std::ffi::{c_char, c_void};
use std::fmt::Debug;
use std::ops::Range;

/// A function of the C ABI.
pub struct Entry {
    /// Its name without `nvshmemrs_`.
    pub name: &'static str,
    /// Whether only the caller calls it.
    pub one_sided: bool,
    /// Calls it.
    pub call: fn(&mut Caller, &mut Unstructured<'_>) -> Result<i32>,
}

/// The use of an output.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kept {
    Nothing,
    Address,
    Team,
    Runtime,
    Handle,
    Id,
}

/// The symmetric heap of the jobs here.
pub const HEAP: u64 = 2 << 20;
/// Local memory: more than any call here may touch.
const LOCAL: usize = 64 << 20;
/// The most bytes that an operation may correctly move.
const MOST: usize = 8 << 20;
const OUTPUT: usize = 256;
const UNWRITTEN: u8 = 0xa5;
const PAGE: usize = 4096;

/// The state of a series of calls.
pub struct Caller {
    runtimes: Vec<u64>,
    handles: Vec<u64>,
    teams: Vec<u64>,
    addresses: Vec<u64>,
    avoided: Vec<Range<u64>>,
    ids: Vec<[u8; 128]>,
    local: Vec<u8>,
    buffer: Vec<u8>,
    outputs: [[u8; OUTPUT]; 4],
    attr: nvshmemrs_init_attr_t,
    id: nvshmemrs_unique_id_t,
    config: nvshmemrs_team_config_t,
    bytes: usize,
    traces: bool,
}

/// An interrupt hook, or a host function of a stream, that returns 0.
extern "C-unwind" fn never(_: *mut c_void) -> i32 {
    0
}

/// Such a function that returns 1.
extern "C-unwind" fn always(_: *mut c_void) -> i32 {
    1
}

/// Such a function that calls the library.
extern "C-unwind" fn again(_: *mut c_void) -> i32 {
    nvshmemrs_abi::order::nvshmemrs_quiet(1) & 1
}

extern "C-unwind" fn no_site(_: *mut c_void, _: *const c_void, _: *mut c_char, _: usize) -> i32 {
    1
}

impl Default for Caller {
    fn default() -> Caller {
        Caller {
            runtimes: Vec::new(),
            handles: Vec::new(),
            teams: Vec::new(),
            addresses: Vec::new(),
            avoided: Vec::new(),
            ids: Vec::new(),
            local: vec![0; LOCAL],
            buffer: vec![0; 9 * PAGE],
            outputs: [[UNWRITTEN; OUTPUT]; 4],
            attr: nvshmemrs_init_attr_t {
                version: 0,
                memory_kind: 0,
                heap_bytes: HEAP,
                timeout_s: 0.0,
                init_timeout_s: 0.0,
                device: -1,
                reserved: [0; 28],
            },
            id: nvshmemrs_unique_id_t {
                version: 0,
                internal: [0; 124],
            },
            config: nvshmemrs_team_config_t {
                version: 0,
                num_contexts: 0,
                uniqueid: 0,
                reserved: [0; 48],
            },
            bytes: 0,
            traces: std::env::var_os("FUZZ_TRACE").is_some(),
        }
    }
}

impl Caller {
    /// Drops the outputs of earlier calls; `runtimes` and `addresses` are there from the start.
    pub fn reset(&mut self, runtimes: &[u64], addresses: &[u64]) {
        self.runtimes = runtimes.to_vec();
        self.addresses = addresses.to_vec();
        self.handles.clear();
        self.teams.clear();
        self.ids.clear();
    }

    /// Passes no address in these ranges, which are valid, too, but to stay as they are.
    pub fn avoid(&mut self, ranges: impl Iterator<Item = Range<u64>>) {
        self.avoided = ranges.collect();
    }

    /// All runtimes that were ever given out, live or not.
    pub fn runtimes(&self) -> &[u64] {
        &self.runtimes
    }

    /// All other handles that were ever given out, live or not.
    pub fn handles(&self) -> &[u64] {
        &self.handles
    }

    pub(crate) fn begin(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        self.bytes = self.size(u)?;
        self.outputs = [[UNWRITTEN; OUTPUT]; 4];
        Ok(())
    }

    pub(crate) fn trace(&self, name: &str, args: &[&dyn Debug]) {
        if self.traces {
            eprintln!("{name} {args:x?}");
        }
    }

    /// A status that must not be.
    pub(crate) fn check(&self, name: &str, status: i32) {
        if self.traces {
            eprintln!("    {status}");
        }
        assert!(
            is_known(status),
            "{name} returned {status}: {}",
            last_error()
        );
    }

    /// Looks at an output: written in full if the call succeeded, else not at all.
    pub(crate) fn keep(
        &mut self,
        which: usize,
        at: *mut c_void,
        bytes: usize,
        status: i32,
        kept: Kept,
    ) {
        let output = &self.outputs[which];
        let start = (at as usize).wrapping_sub(output.as_ptr() as usize);
        let written = status == 0 && start < 16;
        let rest = match written {
            true => &output[start + bytes..],
            false => &output[..],
        };
        assert!(
            rest.iter().all(|&byte| byte == UNWRITTEN),
            "output {which} was written where it must not be (status {status})"
        );
        if !written {
            return;
        }
        if kept == Kept::Id {
            let mut id = [0; 128];
            id.copy_from_slice(&output[start..start + 128]);
            self.ids.push(id);
            return;
        }
        let list = match kept {
            Kept::Address => &mut self.addresses,
            Kept::Team => &mut self.teams,
            Kept::Runtime => &mut self.runtimes,
            Kept::Handle => &mut self.handles,
            Kept::Nothing | Kept::Id => return,
        };
        let mut value = [0; 8];
        value.copy_from_slice(&output[start..start + 8]);
        list.push(u64::from_ne_bytes(value));
    }

    pub(crate) fn output(&mut self, u: &mut Unstructured<'_>, which: usize) -> Result<*mut c_void> {
        let start = match u.arbitrary::<u8>()? {
            0..=3 => return Ok(std::ptr::null_mut()),
            4..=15 => 3,
            _ => 0,
        };
        Ok(self.outputs[which].as_mut_ptr().wrapping_add(start).cast())
    }

    /// A valid handle, or a wrong one.
    fn of(list: &[u64], others: &[u64], u: &mut Unstructured<'_>) -> Result<u64> {
        let choice = u.arbitrary::<u8>()?;
        let index = usize::from(choice >> 4);
        Ok(match choice & 15 {
            0..=11 => match list.len() {
                0 => 0,
                count => list[count - 1 - index % count],
            },
            12 => others.get(index).copied().unwrap_or(0),
            13 => u.arbitrary()?,
            14 => list.first().map_or(1, |first| first ^ 1 << (index * 4)),
            _ => 0,
        })
    }

    pub(crate) fn runtime(&mut self, u: &mut Unstructured<'_>) -> Result<u64> {
        // A stream's handle may stand in its place.
        let handle = Caller::of(&self.runtimes, &self.handles, u)?;
        Ok(handle)
    }

    pub(crate) fn handle(&mut self, u: &mut Unstructured<'_>) -> Result<u64> {
        Caller::of(&self.handles, &self.runtimes, u)
    }

    pub(crate) fn team(&mut self, u: &mut Unstructured<'_>) -> Result<u64> {
        match u.arbitrary::<u8>()? {
            choice @ 0..=127 => Ok(u64::from(choice % 8)),
            128..=191 => Ok(u64::MAX),
            _ => Caller::of(&self.teams, &self.handles, u),
        }
    }

    /// A symmetric address, or a wrong one; it is never dereferenced.
    pub(crate) fn symmetric(&mut self, u: &mut Unstructured<'_>) -> Result<*mut c_void> {
        let base = Caller::of(&self.addresses, &[], u)?;
        let offset: u64 = match u.arbitrary::<u8>()? {
            0..=127 => 0,
            small @ 128..=223 => u64::from(small - 128) * 8,
            224..=239 => u64::from(u.arbitrary::<u16>()?),
            240..=247 => HEAP,
            248..=251 => u64::MAX,
            _ => u.arbitrary()?,
        };
        let address = base.wrapping_add(offset);
        let avoided = self.avoided.iter().any(|range| range.contains(&address));
        Ok(if avoided { 0 } else { address } as *mut c_void)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn size(&mut self, u: &mut Unstructured<'_>) -> Result<usize> {
        Ok(match u.arbitrary::<u8>()? {
            small @ 0..=159 => usize::from(small) / 2,
            160..=207 => usize::from(u.arbitrary::<u16>()?),
            208..=223 => HEAP as usize - usize::from(u.arbitrary::<u8>()?),
            224..=231 => HEAP as usize + usize::from(u.arbitrary::<u8>()?),
            232..=239 => usize::MAX - usize::from(u.arbitrary::<u8>()?),
            240..=245 => usize::MAX / 2 + usize::from(u.arbitrary::<u8>()?) - 128,
            246..=250 => 1 << (u.arbitrary::<u8>()? % 64),
            _ => usize::MAX / usize::from(u.arbitrary::<u8>()?.max(1)),
        })
    }

    pub(crate) fn element_bytes(&mut self, u: &mut Unstructured<'_>) -> Result<usize> {
        match u.arbitrary::<u8>()? {
            choice @ 0..=239 => Ok([1, 2, 4, 8, 16, 12][usize::from(choice) % 6]),
            _ => self.size(u),
        }
    }

    /// So many blocks that local memory holds them; a number too large for any symmetric memory stays.
    pub(crate) fn limit_blocks(&self, element: usize, block: usize, count: usize) -> usize {
        if element > MOST || block > MOST || count > MOST {
            return count;
        }
        match element.checked_mul(block).filter(|&bytes| bytes > 0) {
            Some(bytes) => count.min(MOST / bytes + 1),
            None => count,
        }
    }

    pub(crate) fn number(&mut self, u: &mut Unstructured<'_>) -> Result<i32> {
        Ok(match u.arbitrary::<u8>()? {
            choice @ 0..=239 => i32::from(choice % 18) - 1,
            240..=243 => i32::MAX,
            244..=247 => i32::MIN,
            _ => u.arbitrary()?,
        })
    }

    /// A deadline that is over soon, or that cannot be.
    pub(crate) fn seconds(&mut self, u: &mut Unstructured<'_>) -> Result<f64> {
        let few = [
            0.0005,
            0.001,
            -1.0,
            f64::NAN,
            f64::INFINITY,
            1e300,
            -0.5,
            1e-300,
        ];
        Ok(few[usize::from(u.arbitrary::<u8>()? % 8)])
    }

    /// An earlier deadline, which is long over: a later one would let waits last.
    pub(crate) fn moment(&mut self, u: &mut Unstructured<'_>) -> Result<u64> {
        u.arbitrary::<u16>().map(u64::from)
    }

    pub(crate) fn bits<T: for<'a> arbitrary::Arbitrary<'a>>(
        &mut self,
        u: &mut Unstructured<'_>,
    ) -> Result<T> {
        u.arbitrary()
    }

    pub(crate) fn small_stride(&mut self, u: &mut Unstructured<'_>) -> Result<isize> {
        Ok(isize::from(u.arbitrary::<u8>()? % 7) - 3)
    }

    pub(crate) fn stride(&mut self, u: &mut Unstructured<'_>) -> Result<isize> {
        Ok(match u.arbitrary::<u8>()? {
            choice @ 0..=223 => isize::from(choice % 9) - 4,
            224..=231 => isize::MAX - isize::from(u.arbitrary::<u8>()?),
            232..=239 => isize::MIN + isize::from(u.arbitrary::<u8>()?),
            240..=247 => 1 << (u.arbitrary::<u8>()? % 63),
            _ => u.arbitrary()?,
        })
    }

    /// A block that is read again and again would need any amount of local memory.
    pub(crate) fn stride_but_0(&mut self, u: &mut Unstructured<'_>) -> Result<isize> {
        Ok(match self.stride(u)? {
            0 => 1,
            stride => stride,
        })
    }

    /// Local memory that ends where the operation's bytes end, or what the library must not touch.
    pub(crate) fn exact(&mut self, u: &mut Unstructured<'_>) -> Result<*mut c_void> {
        match u.arbitrary::<u8>()? {
            0..=7 => Ok(std::ptr::null_mut()),
            8..=31 => self.own(u),
            _ => {
                let start = LOCAL - self.bytes.min(MOST);
                Ok(self.local.as_mut_ptr().wrapping_add(start).cast())
            }
        }
    }

    /// Local memory with room before and behind.
    pub(crate) fn middle(&mut self, u: &mut Unstructured<'_>) -> Result<*mut c_void> {
        match u.arbitrary::<u8>()? {
            0..=7 => Ok(std::ptr::null_mut()),
            start => {
                let start = LOCAL / 2 + usize::from(start % 16);
                Ok(self.local.as_mut_ptr().wrapping_add(start).cast())
            }
        }
    }

    /// As much local memory as there is.
    pub(crate) fn long(&mut self, u: &mut Unstructured<'_>) -> Result<*mut c_void> {
        match u.arbitrary::<u8>()? {
            0..=63 => Ok(std::ptr::null_mut()),
            start => {
                let start = usize::from(start % 16);
                Ok(self.local.as_mut_ptr().wrapping_add(start).cast())
            }
        }
    }

    /// Symmetric memory in place of local memory: the library knows how long that is.
    fn own(&mut self, u: &mut Unstructured<'_>) -> Result<*mut c_void> {
        let address = u.choose_index(self.addresses.len().max(1))?;
        let address = self.addresses.get(address).copied().unwrap_or(0);
        Ok(address as *mut c_void)
    }

    pub(crate) fn user(&self) -> *mut c_void {
        std::ptr::null_mut()
    }

    /// Memory that can be registered, or cannot.
    pub(crate) fn buffer(&mut self, u: &mut Unstructured<'_>) -> Result<*mut c_void> {
        let pages = (self.buffer.as_ptr() as usize).next_multiple_of(PAGE);
        self.bytes = match u.arbitrary::<u8>()? {
            0..=31 => self.bytes,
            pages => PAGE * usize::from(pages % 9),
        };
        Ok(match u.arbitrary::<u8>()? {
            0..=7 => std::ptr::null_mut(),
            8..=15 => (pages + 8) as *mut c_void,
            16..=31 => self.own(u)?,
            _ => {
                // Only what is the program's own may be registered.
                self.bytes = match self.bytes {
                    fits if fits <= 8 * PAGE => fits,
                    huge if huge > isize::MAX as usize => huge,
                    other => other % (8 * PAGE),
                };
                pages as *mut c_void
            }
        })
    }

    pub(crate) fn preferred(&mut self, u: &mut Unstructured<'_>) -> Result<*mut c_void> {
        Ok(match u.arbitrary::<u8>()? {
            0..=191 => std::ptr::null_mut(),
            192..=223 => self.buffer.as_mut_ptr().cast(),
            224..=239 => (u.arbitrary::<usize>()? & !(PAGE - 1)) as *mut c_void,
            _ => u.arbitrary::<usize>()? as *mut c_void,
        })
    }

    pub(crate) fn init_attr_t(
        &mut self,
        u: &mut Unstructured<'_>,
    ) -> Result<*const nvshmemrs_init_attr_t> {
        let choice = u.arbitrary::<u8>()?;
        if choice < 16 {
            return Ok(std::ptr::null());
        }
        nvshmemrs_abi::runtime::nvshmemrs_init_attr_default(&raw mut self.attr);
        self.attr.heap_bytes = HEAP;
        (self.attr.timeout_s, self.attr.init_timeout_s) = (0.001, 0.001);
        match choice {
            16..=31 => self.attr.version = u.arbitrary()?,
            32..=63 => self.attr.memory_kind = self.number(u)?,
            64..=79 => self.attr.heap_bytes = u.arbitrary()?,
            80..=87 => self.attr.timeout_s = u.arbitrary::<f64>()?.min(0.001),
            88..=95 => self.attr.init_timeout_s = u.arbitrary::<f64>()?.min(0.001),
            _ => {}
        }
        Ok(&raw const self.attr)
    }

    pub(crate) fn unique_id_t(
        &mut self,
        u: &mut Unstructured<'_>,
    ) -> Result<*const nvshmemrs_unique_id_t> {
        let choice = u.arbitrary::<u8>()?;
        if choice < 16 {
            return Ok(std::ptr::null());
        }
        let mut id = self.ids.last().copied().unwrap_or([0; 128]);
        match choice {
            16..=63 => u.fill_buffer(&mut id)?,
            64..=95 => id[usize::from(u.arbitrary::<u8>()? % 128)] ^= u.arbitrary::<u8>()?,
            _ => {}
        }
        self.id.version = u32::from_ne_bytes([id[0], id[1], id[2], id[3]]);
        self.id.internal.copy_from_slice(&id[4..]);
        Ok(&raw const self.id)
    }

    pub(crate) fn team_config_t(
        &mut self,
        u: &mut Unstructured<'_>,
    ) -> Result<*const nvshmemrs_team_config_t> {
        let choice = u.arbitrary::<u8>()?;
        if choice < 64 {
            return Ok(std::ptr::null());
        }
        nvshmemrs_abi::team::nvshmemrs_team_config_default(&raw mut self.config);
        self.config.uniqueid = u.arbitrary::<u8>()?.into();
        match choice {
            64..=79 => self.config.version = u.arbitrary()?,
            80..=95 => self.config.num_contexts = self.number(u)?,
            96..=103 => self.config.reserved[7] = u.arbitrary()?,
            _ => {}
        }
        Ok(&raw const self.config)
    }

    pub(crate) fn interrupt_hook_t(
        &mut self,
        u: &mut Unstructured<'_>,
    ) -> Result<nvshmemrs_interrupt_hook_t> {
        Ok(
            [None, Some(never as _), Some(always as _), Some(again as _)]
                [usize::from(u.arbitrary::<u8>()? % 4)],
        )
    }

    pub(crate) fn host_function_t(
        &mut self,
        u: &mut Unstructured<'_>,
    ) -> Result<nvshmemrs_host_function_t> {
        self.interrupt_hook_t(u)
    }

    pub(crate) fn site_hook_t(
        &mut self,
        u: &mut Unstructured<'_>,
    ) -> Result<nvshmemrs_site_hook_t> {
        Ok([None, Some(no_site as _)][usize::from(u.arbitrary::<u8>()? % 2)])
    }
}

/// Whether a status is one that a caller can act on: success, or an error that is neither INTERNAL nor PANIC.
pub fn is_known(status: i32) -> bool {
    matches!(status, 0..=4 | 10..=98)
}

/// The library's words for the last failure.
fn last_error() -> String {
    // SAFETY: the text is never NULL, ends with a NUL, and stays until this thread's next failure.
    let text = unsafe { std::ffi::CStr::from_ptr(nvshmemrs_abi::library::nvshmemrs_last_error()) };
    text.to_string_lossy().into_owned()
}
