//! The job as every kernel sees it. It is declared here once: a test compares `kernels/state.cuh` with [`State::HEADER`], and both
//! compilers check where each field is.

use crate::Pe;
use crate::job::layout::Layout;
use std::mem::offset_of;

/// Declares a struct that kernels get, of so many bytes, each field at an offset: for Rust, and as a header for the device code. Types
/// have the same names there.
macro_rules! kernel_struct {
    (
        $(#[doc = $head:literal])*
        struct $name:ident of $bytes:literal bytes { $($(#[doc = $doc:literal])* $field:ident: $type:ident at $offset:literal,)* }
    ) => {
        $(#[doc = $head])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::NoUninit)]
        #[repr(C)]
        pub struct $name {
            $($(#[doc = $doc])* pub $field: $type,)*
        }

        const _: () = {
            assert!(size_of::<$name>() == $bytes);
            $(assert!(offset_of!($name, $field) == $offset);)*
        };

        #[cfg(test)]
        impl $name {
            /// The declaration for the device code.
            pub const HEADER: &str = concat!(
                "// Written from device_state/state.rs, where it is declared; a test compares the two.\n#pragma once\n\n",
                "// NVRTC's only constant expression for an offset is __INTADDR__.\n#ifdef __CUDACC_RTC__\n",
                "#define OFFSET_OF(type, field) __INTADDR__(&((type *)0)->field)\n#else\n",
                "#define OFFSET_OF(type, field) __builtin_offsetof(type, field)\n#endif\n\n",
                $("//", $head, "\n",)*
                "struct ", stringify!($name), " {\n",
                $($("    //", $doc, "\n",)* "    ", stringify!($type), " ", stringify!($field), ";\n",)*
                "};\n",
                "static_assert(sizeof(", stringify!($name), ") == ", $bytes, ", \"size\");\n",
                $(
                    "static_assert(OFFSET_OF(", stringify!($name), ", ", stringify!($field), ") == ", $offset, ", \"",
                    stringify!($field), "\");\n",
                )*
            );
        }
    };
}

kernel_struct! {
    /// The job as a kernel sees it: 64 bytes, which it gets as an argument. Addresses are numbers. They belong to the address space of the
    /// PE's own GPU, or of its process if the heap is in host memory. `include/nvshmemrs_device.cuh` declares the same struct.
    struct State of 64 bytes {
        /// "nvsh" in ASCII, the first letter lowest.
        magic: u32 at 0,
        /// The layout of this struct, and of what it refers to.
        version: u32 at 4,
        /// This PE's number.
        my_pe: i32 at 8,
        /// The number of PEs.
        n_pes: i32 at 12,
        /// PE p's copy of symmetric offset o is at base + p * stride + o.
        base: u64 at 16,
        /// Bytes from one PE's part to the next one's.
        stride: u64 at 24,
        /// A u32; not 0 once the job is broken: leave.
        abort: u64 at 32,
        /// An ErrorRecord, or 0: only the library's own kernels write it.
        error: u64 at 40,
        /// A DeviceJob, in memory that the kernels of this PE can read.
        job: u64 at 48,
        /// A bit for arguments that are checked (NVSHMEMRS_DEVICE_CHECK), and one for PEs of other hosts.
        check: u32 at 56,
        /// Shared memory that a thread or a warp of the program's kernel has lent. The library leaves it 0.
        lent: u32 at 60,
    }
}

/// [`State::magic`].
const MAGIC: u32 = u32::from_le_bytes(*b"nvsh");
/// [`State::version`]. A kernel that was compiled for another one looks for the report, so [`State::job`] and the job's report keep their places
/// in all versions.
const VERSION: u32 = 4;
/// A bit of [`State::version`] in a checked job. Kernels that do not know it refuse the state, so none runs unseen.
pub(super) const WATCHED: u32 = 1 << 16;

/// The struct to which a [`State`] refers.
#[derive(Clone, Copy, Debug)]
pub struct StateAddresses {
    /// The kernels' address of a `u32`.
    pub abort: u64,
    /// That of an `ErrorRecord` of the library's kernels, or 0.
    pub error: u64,
    /// That of a [`DeviceJob`](super::DeviceJob).
    pub job: u64,
}

impl State {
    #[doc(hidden)]
    pub fn new(layout: &Layout, my_pe: Pe, n_pes: Pe, to: StateAddresses, check: u32) -> State {
        State {
            magic: MAGIC,
            version: VERSION,
            my_pe,
            n_pes,
            base: layout.base,
            stride: layout.stride,
            abort: to.abort,
            error: to.error,
            job: to.job,
            check,
            lent: 0,
        }
    }

    /// The same, of a checked job.
    #[doc(hidden)]
    pub fn watched(self) -> State {
        State {
            version: VERSION | WATCHED,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::State;

    #[test]
    fn the_header_is_what_rust_declares() {
        let expected = State::HEADER;
        assert_eq!(
            include_str!("../../../cuda/src/kernels/state.cuh"),
            expected,
            "write this to state.cuh:\n{expected}"
        );
    }
}
