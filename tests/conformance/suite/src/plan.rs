//! Which part of the cross product runs. Everything in full would take minutes on two cores; each thinning has its reason here.

use crate::Sizes;
use crate::rma::STRIDES;
use crate::shapes::Shape;
use crate::values::Value;
use nvshmemrs::Pe;

/// The large size in elements: many times the payload of one meeting, and no multiple of any size.
pub(crate) const LARGE: usize = 70_001;
/// Bytes that travel with a meeting; larger collectives use another algorithm.
const PAYLOAD: usize = 1984;

/// The scenarios that run over a team.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) on_stream: bool,
    /// Lengths in elements.
    pub(crate) sizes: Vec<usize>,
    /// Every collective in place and not in place; else in turn.
    pub(crate) both_places: bool,
    /// Broadcast from every member; else from the last.
    pub(crate) all_roots: bool,
    /// The forms of put and get.
    pub(crate) one_sided: bool,
    /// Strides of dest and source, and block, of strided forms.
    pub(crate) strides: Vec<(isize, isize, usize)>,
}

/// All sizes: 0, single elements, odd ones, and those about the border between the algorithms, for this type, for 64-bit types
/// (247 to 249 elements), and where a whole team's parts share the payload.
fn all_sizes<T: Value>(n: Pe) -> Vec<usize> {
    let border = PAYLOAD / size_of::<T>();
    let shared = border / n as usize;
    // Collect brings two words of its own.
    let collect = (PAYLOAD - 16) / size_of::<T>();
    let mut sizes = vec![0, 1, 2, 7, 247, 248, 249, 1000, LARGE];
    sizes.extend([
        border - 1,
        border,
        border + 1,
        shared,
        shared + 1,
        collect,
        collect + 1,
    ]);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The rows for a shape in a job of `n` PEs.
pub(crate) fn plan<T: Value>(shape: Shape, n: Pe, sizes: Sizes) -> Vec<Row> {
    let border = PAYLOAD / size_of::<T>();
    let full = |on_stream| Row {
        on_stream,
        sizes: all_sizes::<T>(n),
        both_places: true,
        all_roots: true,
        one_sided: true,
        strides: STRIDES.to_vec(),
    };
    // A size of each algorithm. Sizes and places do not interact with membership, which is all that a shape varies.
    let few = |on_stream, one_sided| Row {
        on_stream,
        sizes: vec![7, border + 1],
        both_places: false,
        all_roots: false,
        one_sided,
        strides: STRIDES[4..6].to_vec(),
    };
    match shape {
        Shape::World if sizes == Sizes::Few => vec![few(false, true), few(true, true)],
        // A stream runs the same code from another thread, so the sizes do not matter to it, but the forms do.
        Shape::World => vec![
            full(false),
            Row {
                both_places: true,
                all_roots: true,
                ..few(true, true)
            },
        ],
        // The order of a reduction shows here: in full, but on the fly only.
        Shape::Reversed | Shape::Shuffled => vec![
            Row {
                both_places: true,
                all_roots: true,
                ..few(false, true)
            },
            few(true, true),
        ],
        // The predefined teams with WORLD's members, or with one, differ from WORLD only in their number.
        Shape::Node | Shape::Shared | Shape::GpuLeaders | Shape::SameMypeNode | Shape::SameGpu => {
            vec![few(T::DTYPE as i32 % 2 == 0, false)]
        }
        _ => vec![few(false, true), few(true, false)],
    }
}
