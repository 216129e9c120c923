//! The table-driven suite: every operation, for every type that it has, over every shape of team, at once and on a stream. It writes to
//! the right neighbour, looks at the elements written and at those beside them, and compares with a plain model that knows
//! nothing of the library. The same code runs with PEs as threads (`tests/conformance/suite/tests/threads.rs`) and as processes
//! (`tests/conformance/suite.rs`).

mod collectives;
mod context;
mod plan;
mod reductions;
mod rma;
mod scenario;
pub mod shapes;
pub mod values;
mod words;

pub use context::{Arrays, Context, Tally};
pub use reductions::Kind;
pub use rma::STRIDES;
pub use scenario::{Scenario, Scenarios};
pub use words::{Atomics, Waits};

use nvshmemrs::{Dtype, Pe, Result, Runtime, Stream, SymArray};
use plan::{LARGE, Row, plan};
use shapes::{Made, Shape};
use std::sync::Arc;
use values::Value;

/// The operations that a job of `n` PEs must have checked at least once, each name on some PE. `run` counts.
pub const NAMES: &[&str] = &[
    "put",
    "put_nbi",
    "get",
    "get_nbi",
    "p",
    "g",
    "put_signal set",
    "put_signal add",
    "put_signal_nbi set",
    "put_signal_nbi add",
    "signal set",
    "signal add",
    "signal_fetch",
    "iput",
    "iget",
    "ibput",
    "ibget",
    "barrier",
    "sync",
    "broadcast",
    "broadcast in place",
    "fcollect",
    "fcollect in place",
    "collect",
    "alltoall",
    "alltoall in place",
    "alltoalls",
    "gather",
    "gather in place",
    "scatter",
    "scatter in place",
    "reduce",
    "reduce in place",
    "reducescatter",
    "reducescatter in place",
    "inscan",
    "inscan in place",
    "exscan",
    "exscan in place",
    "atomic_fetch",
    "atomic_set",
    "atomic_swap",
    "atomic_add",
    "atomic_fetch_add",
    "atomic_and",
    "atomic_or",
    "atomic_xor",
    "atomic_inc",
    "atomic_fetch_and",
    "atomic_fetch_or",
    "atomic_fetch_xor",
    "atomic_fetch_inc",
    "atomic_compare_swap",
    "wait_until",
    "wait_until_all",
    "wait_until_any",
    "wait_until_some",
];

/// How many sizes run over all PEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All about every border between algorithms, in place and not, from every root.
    All,
    /// One size of each algorithm. For a heap whose sizes another test has run, and whose transport alone is new. A type runs over
    /// all PEs; a type of each length also runs over every shape of team.
    Few,
}

impl Sizes {
    /// The shapes of team over which a type runs: no form of a team depends on the type, so with few sizes a type of each length is enough.
    fn shapes(self, dtype: Dtype) -> impl Iterator<Item = (usize, Shape)> {
        let all = match dtype {
            Dtype::Int32 | Dtype::Double | Dtype::Half | Dtype::Float8E4m3fn | Dtype::Complexd => {
                true
            }
            _ => self == Sizes::All,
        };
        let shapes = Shape::ALL.into_iter().enumerate();
        shapes.filter(move |(_, shape)| all || matches!(shape, Shape::World))
    }
}

/// Runs the suite on this PE: every operation, type and shape of team. Collective over the job.
pub fn run(rt: &Runtime, sizes: Sizes) -> Result<Tally> {
    let mut tally = Tally::new();
    let signal = Arc::new(rt.array::<u64>(3)?);
    let stream = rt.stream()?;
    macro_rules! every_type {
        ([$args:tt] $([$variant:ident $number:literal $name:literal $bytes:literal $t:ty, $kind:ident, $doc:literal])*) => {
            $(with_type::<$t> $args?;)*
        };
    }
    nvshmemrs::with_dtypes!(every_type(rt, sizes, &stream, &signal, &mut tally));
    macro_rules! words {
        ($trait:ident::$scenario:ident: $($t:ty),*) => { $(
            over_shapes::<$t>(rt, sizes, &stream, &signal, &mut tally, $trait::$scenario)?;
        )* };
    }
    words!(Atomics::atomics: i32, u32, i64, u64, f32, f64);
    words!(Waits::waits: i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
    drop(stream);
    rt.barrier_all()?;
    Ok(tally)
}

/// A scenario of single words over every shape of team, at once and on a stream.
fn over_shapes<T: Value>(
    rt: &Runtime,
    sizes: Sizes,
    stream: &Stream,
    signal: &Arc<SymArray<u64>>,
    tally: &mut Tally,
    scenario: fn(&mut Context<'_, T>) -> Result<()>,
) -> Result<()> {
    let arrays = Arrays::<T>::new(rt, 3)?;
    for (_, shape) in sizes.shapes(T::DTYPE) {
        if !shape.exists(rt.n_pes()) {
            continue;
        }
        let Some(made) = shapes::make(rt, shape)? else {
            continue;
        };
        for on_stream in [false, true] {
            let way = if on_stream { "on a stream" } else { "at once" };
            scenario(&mut Context {
                rt,
                stream: on_stream.then_some(stream),
                team: made.team,
                pes: &made.pes,
                me: made
                    .pes
                    .iter()
                    .position(|&pe| pe == rt.my_pe())
                    .expect("a member"),
                arrays: &arrays,
                signal,
                case: 77 + T::DTYPE as u64,
                label: format!(
                    "{:?}, {shape:?} {:?}, PE {}, {way}",
                    T::DTYPE,
                    made.pes,
                    rt.my_pe()
                ),
                tally,
            })?;
        }
        shapes::destroy(rt, made)?;
    }
    rt.barrier_all()
}

/// All shapes with one element type.
fn with_type<T: Value>(
    rt: &Runtime,
    sizes: Sizes,
    stream: &Stream,
    signal: &Arc<SymArray<u64>>,
    tally: &mut Tally,
) -> Result<()> {
    let arrays = Arrays::<T>::new(rt, 2 * LARGE)?;
    for (number, shape) in sizes.shapes(T::DTYPE) {
        if !shape.exists(rt.n_pes()) {
            continue;
        }
        let Some(made) = shapes::make(rt, shape)? else {
            continue;
        };
        for row in plan::<T>(shape, rt.n_pes(), sizes) {
            let surroundings = (&made, stream, signal, &arrays);
            scenarios::<T>(rt, shape, number as u64, &row, surroundings, tally)?;
        }
        shapes::destroy(rt, made)?;
    }
    // Scenarios over different teams go on at the same time; only here all PEs meet.
    rt.barrier_all()
}

/// Everything that the plan's row asks for, over one team.
fn scenarios<T: Value>(
    rt: &Runtime,
    shape: Shape,
    number: u64,
    row: &Row,
    (made, stream, signal, arrays): (&Made, &Stream, &Arc<SymArray<u64>>, &Arrays<T>),
    tally: &mut Tally,
) -> Result<()> {
    let me = made
        .pes
        .iter()
        .position(|&pe| pe == rt.my_pe())
        .expect("a member");
    let (n, way) = (
        made.pes.len(),
        if row.on_stream {
            "on a stream"
        } else {
            "at once"
        },
    );
    let mut c = Context {
        rt,
        stream: row.on_stream.then_some(stream),
        team: made.team,
        pes: &made.pes,
        me,
        arrays,
        signal,
        case: number << 32 | (T::DTYPE as u64) << 24,
        label: String::new(),
        tally,
    };
    collectives::barriers(&mut c)?;
    rma::elements(&mut c)?;
    for (index, &len) in row.sizes.iter().enumerate() {
        c.case += 1;
        c.label = format!(
            "{:?}, {shape:?} {:?}, PE {}, {way}, {len} elements",
            T::DTYPE,
            made.pes,
            rt.my_pe()
        );
        // Where every member has a part, a large buffer is as large as elsewhere in all.
        let each = if len == LARGE { len / n } else { len };
        let places: &[bool] = if row.both_places {
            &[false, true]
        } else {
            &[index % 2 == 1]
        };
        if row.one_sided {
            rma::all(&mut c, len)?;
        }
        for &strides in &row.strides {
            rma::strided(&mut c, strides, len.min(LARGE / 4))?;
        }
        for &in_place in places {
            for root in roots(n, row.all_roots) {
                collectives::broadcast(&mut c, len, root, in_place)?;
                collectives::gather(&mut c, each, root, in_place)?;
                collectives::scatter(&mut c, each, root, in_place)?;
            }
            collectives::fcollect(&mut c, each, in_place)?;
            collectives::alltoall(&mut c, each, in_place)?;
        }
        collectives::collect(&mut c, each)?;
        for strides in [(1, 1), (2, 3)] {
            collectives::alltoalls(&mut c, each.min(LARGE / 2 / n), strides)?;
        }
        let ops = if len == LARGE { &T::OPS[..1] } else { T::OPS };
        for (kind, &op) in Kind::ALL
            .into_iter()
            .flat_map(|kind| ops.iter().map(move |op| (kind, op)))
        {
            for &in_place in places {
                let len = if kind == Kind::Reducescatter {
                    each
                } else {
                    len
                };
                reductions::run(&mut c, kind, op, len, in_place)?;
            }
        }
    }
    Ok(())
}

fn roots(n: usize, all: bool) -> Vec<Pe> {
    let last = n as Pe - 1;
    match all {
        true => (0..=last).collect(),
        false => vec![last],
    }
}
