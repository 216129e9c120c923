//! What every kernel gets of the job. It is declared here once: `state.cuh` is what [`State::HEADER`] says, which a test compares, and
//! both compilers check where each field is.

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
        #[derive(Clone, Copy, Debug, bytemuck::NoUninit)]
        #[repr(C)]
        pub(crate) struct $name {
            $($(#[doc = $doc])* $field: $type,)*
        }

        const _: () = {
            assert!(size_of::<$name>() == $bytes);
            $(assert!(offset_of!($name, $field) == $offset);)*
        };

        #[cfg(test)]
        impl $name {
            /// The declaration for the device code.
            pub(crate) const HEADER: &str = concat!(
                "// Written from kernels/state.rs, where it is declared; a test compares the two.\n#pragma once\n\n",
                "// NVRTC has no other one that is constant.\n#ifdef __CUDACC_RTC__\n",
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
    /// The job as a kernel sees it. Addresses are numbers: they belong to the address space of the PE's own GPU.
    struct State of 64 bytes {
        /// "nvsh" in ASCII, the first letter lowest.
        magic: u32 at 0,
        /// Changes whenever a field does.
        version: u32 at 4,
        my_pe: i32 at 8,
        n_pes: i32 at 12,
        /// PE p's copy of symmetric offset o is at base + p * stride + o.
        base: u64 at 16,
        stride: u64 at 24,
        /// A u32 in the mailbox, in pinned host memory; not 0: leave.
        abort: u64 at 32,
        /// An ErrorRecord in the mailbox.
        error: u64 at 40,
        /// 0: for the teams of kernels that call collectives themselves.
        reserved_teams: u64 at 48,
        /// 0.
        reserved: u64 at 56,
    }
}

/// [`State::magic`].
const MAGIC: u32 = u32::from_le_bytes(*b"nvsh");
/// [`State::version`].
const VERSION: u32 = 2;

impl State {
    /// `abort` and `error` are the kernels' addresses of a `u32` and an [`ErrorRecord`](super::ErrorRecord) in pinned host memory.
    pub(crate) fn new(layout: &Layout, my_pe: Pe, n_pes: Pe, abort: u64, error: u64) -> State {
        State {
            magic: MAGIC,
            version: VERSION,
            my_pe,
            n_pes,
            base: layout.base,
            stride: layout.stride,
            abort,
            error,
            reserved_teams: 0,
            reserved: 0,
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
            include_str!("state.cuh"),
            expected,
            "write this to state.cuh:\n{expected}"
        );
    }
}
