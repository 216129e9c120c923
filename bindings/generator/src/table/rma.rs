//! Remote memory access: bytes, single elements, strided blocks.

use super::types::{List, Scalar};
use super::*;

const VALUES: &str =
    "Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE; nothing is written.";
const PUT: &str = "Returns when `source` may be reused; the data is visible on `pe` after quiet, barrier or a signal.";
const GET: &str = "Returns when the data is in `dest`.";
const BYTES: Arg = within("bytes", "usize");

const fn dest(expression: &'static str) -> Arg {
    passed("dest", "*mut c_void", expression)
}

const fn source(expression: &'static str) -> Arg {
    passed("source", "*const c_void", expression)
}

fn one_sided(name: &str, args: &[Arg], does: &str, standard: Standard) -> Row {
    Row {
        errors: "Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS; nothing is written.",
        ..row(Caller::OneSided, name, args, does, standard)
    }
}

/// Put and get of bytes, and p and g.
#[rustfmt::skip]
pub(super) fn contiguous() -> Family {
    let mut rows = vec![
        Row {
            completes: PUT,
            demands: "`source` and `dest` may overlap on the same PE.".into(),
            ..one_sided("put", &[DEST, source("handle::source(rt, source, bytes)?"), BYTES, PE],
                "Copies `bytes` bytes from local memory at `source` to the symmetric address `dest` on PE `pe`.",
                shmem("9.6.1", "shmem_putmem"))
        },
        Row {
            completes: GET,
            ..one_sided("get", &[dest("handle::dest(rt, dest, bytes)?"), SOURCE, BYTES, PE],
                "Copies `bytes` bytes from the symmetric address `source` on PE `pe` to local memory at `dest`.",
                shmem("9.6.1", "shmem_getmem"))
        },
        one_sided("put_nbi", &[DEST, source("handle::source_until_quiet(rt, source, bytes)?"), BYTES, PE],
            "As `nvshmemrs_put`, but `source` may be reused only after `nvshmemrs_quiet`.",
            shmem("9.6.2", "shmem_putmem_nbi")),
        one_sided("get_nbi", &[dest("handle::dest_until_quiet(rt, dest, bytes)?"), SOURCE, BYTES, PE],
            "As `nvshmemrs_get`, but the data is in `dest` only after `nvshmemrs_quiet`.",
            shmem("9.6.2", "shmem_getmem_nbi")),
    ];
    rows.extend([Scalar::U8, Scalar::U16, Scalar::U32, Scalar::U64].into_iter().flat_map(elements));
    Family { file: "rma", about: "Remote memory access: put, get, p, g.", uses: &["std::ffi::c_void"], rows }
}

/// `p` and `g` of one width.
#[rustfmt::skip]
fn elements(of: Scalar) -> [Row; 2] {
    let bits = 8 * of.size();
    let sized = |row: Row| Row {
        name: format!("{}{bits}", row.name),
        of: Some(of),
        typed: vec![typed(format!("TYPE_{}", row.name), List::Rma, Serves::Bits(of.size()))],
        ..row
    };
    let element = dest("rt.element::<{T}>(\"dest\", handle::addr(dest))?");
    let p = Row {
        completes: "Visible on `pe` after quiet, barrier or a signal.",
        demands: "`dest` must be aligned to {size}.".into(),
        errors: VALUES,
        ..one_sided("p", &[element, plain("value", "{T}"), PE],
            &format!("Writes one {bits}-bit element to the symmetric address `dest` on PE `pe`, in one access."),
            shmem("9.6.1", "shmem_p"))
    };
    let element = source("rt.element::<{T}>(\"source\", handle::addr(source))?");
    let g = Row {
        demands: "`source` must be aligned to {size}.".into(),
        errors: "Errors: PE_RANGE, NOT_SYMMETRIC, OUT_OF_BOUNDS, INVALID_VALUE.",
        ..one_sided("g", &[element, PE, output("value", "*mut {T}")],
            &format!("Reads one {bits}-bit element from the symmetric address `source` on PE `pe`, in one access."),
            shmem("9.6.1", "shmem_g"))
    };
    [sized(p), sized(g)]
}

/// Put and get of blocks with a stride.
#[rustfmt::skip]
pub(super) fn strided() -> Family {
    const PUTS: [Arg; 2] = [dest("handle::strided_symmetric(rt, \"dest\", dest, transfer.dest())?"),
        source("handle::strided_source(rt, source, transfer.source())?")];
    const GETS: [Arg; 2] = [dest("handle::strided_dest(rt, dest, transfer.dest())?"),
        source("handle::strided_symmetric(rt, \"source\", source, transfer.source())?")];
    const STRIDES: [Arg; 3] =
        [within("dest_stride", "isize"), within("source_stride", "isize"), within("element_bytes", "usize")];
    let elements = |row: Row| Row {
        args: [&row.args, &STRIDES[..], &[passed("count", "usize", "&transfer"), PE]].concat(),
        errors: VALUES,
        ..row
    };
    let blocks = |row: Row| Row {
        args: [&row.args, &STRIDES[..],
            &[within("block_elements", "usize"), passed("block_count", "usize", "&transfer"), PE]].concat(),
        ..row
    };
    let body = |core: &str, of: &str| Body::Call {
        before: format!("let transfer = Transfer::{of}?;"),
        core: core.into(),
    };
    let elements_of = "elements(dest_stride, source_stride, element_bytes, count)";
    let blocks_of = "new(dest_stride, source_stride, element_bytes, block_elements, block_count)";
    let rows = vec![
        elements(Row {
            completes: PUT,
            body: body("put_blocks", elements_of),
            ..one_sided("iput", &PUTS,
                "Copies `count` elements of `element_bytes` bytes from local memory at `source`, `source_stride` elements \
                 apart, to the symmetric address `dest` on PE `pe`, `dest_stride` elements apart. Elements in between stay \
                 as they are. Strides may be negative; those of `dest` must keep its elements apart.",
                shmem("9.6.1", "shmem_iput"))
        }),
        elements(Row {
            completes: GET,
            body: body("get_blocks", elements_of),
            ..one_sided("iget", &GETS,
                "Copies `count` elements of `element_bytes` bytes from the symmetric address `source` on PE `pe`, \
                 `source_stride` elements apart, to local memory at `dest`, `dest_stride` elements apart. Elements in \
                 between stay as they are. Strides may be negative; those of `dest` must keep its elements apart.",
                shmem("9.6.1", "shmem_iget"))
        }),
        blocks(Row {
            completes: "Completion as `nvshmemrs_iput`.",
            errors: "Errors: as `nvshmemrs_iput`.",
            body: body("put_blocks", blocks_of),
            ..one_sided("ibput", &PUTS,
                "As `nvshmemrs_iput` for `block_count` blocks of `block_elements` elements; strides are from the start of \
                 one block to the start of the next.",
                Standard::Shmem16("shmem_ibput"))
        }),
        blocks(Row {
            completes: "Completion as `nvshmemrs_iget`.",
            errors: "Errors: as `nvshmemrs_iget`.",
            body: body("get_blocks", blocks_of),
            ..one_sided("ibget", &GETS,
                "As `nvshmemrs_iget` for `block_count` blocks of `block_elements` elements; strides are from the start of \
                 one block to the start of the next.",
                Standard::Shmem16("shmem_ibget"))
        }),
    ];
    Family {
        file: "strided",
        about: "Strided remote memory access. A stride is the distance from the start of one block to the start of the next, in \
                elements; it may be negative. A pointer names the first block's first element.",
        uses: &["nvshmem_core::Transfer", "std::ffi::c_void"],
        rows,
    }
}
