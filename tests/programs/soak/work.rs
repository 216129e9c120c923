//! Operations drawn by lot, on teams drawn by lot, with the suite's scenarios, which compute the expected results.

use crate::draw::Lot;
use nvshmemrs::{Dtype, Result, Runtime, Stream, SymArray, with_dtypes};
use nvshmemrs_suite::shapes::{self, Made, Shape};
use nvshmemrs_suite::{Arrays, Atomics, Context, Kind, STRIDES, Scenario, Scenarios, Tally, Waits};
use std::any::Any;
use std::sync::Arc;

/// Elements of the longest buffers.
const LONGEST: usize = 30_000;

/// The signal and stream of one thread of a PE, for as long as it works.
pub(crate) struct Place {
    signal: Arc<SymArray<u64>>,
    stream: Stream,
}

impl Place {
    /// Collective over the job.
    pub(crate) fn new(rt: &Runtime) -> Result<Place> {
        Ok(Place {
            signal: Arc::new(rt.array(3)?),
            stream: rt.stream()?,
        })
    }

    /// Another stream in place of the one it has.
    fn renew(&mut self, rt: &Runtime, own: &mut Lot) -> Result<()> {
        let old = std::mem::replace(&mut self.stream, rt.stream()?);
        // Local, so each PE may do it its own way.
        if own.once_in(2) { old.close() } else { Ok(()) }
    }
}

/// Symmetric arrays that this PE drops later than others do.
pub(crate) type Dropped = Vec<Arc<dyn Any + Send + Sync>>;

/// The state that the steps of a PE share.
pub(crate) struct Work<'a> {
    pub(crate) rt: &'a Runtime,
    /// This PE's own lot.
    pub(crate) own: Lot,
    pub(crate) dropped: Dropped,
    /// For messages.
    pub(crate) round: u64,
}

/// A team with arrays of one type, and the seed of its scenarios.
struct Task<T: Scenarios> {
    shape: Shape,
    made: Option<Made>,
    arrays: Arrays<T>,
    len: usize,
    lot: Lot,
}

/// Calls `$body::<T> $args` for the element type at a position in the list of all.
macro_rules! with_type {
    ([$at:block $body:ident $args:tt] $([$variant:ident $number:literal $name:literal $bytes:literal $t:ty, $kind:ident, $doc:literal])*) => {
        match Dtype::ALL[$at] {
            $(Dtype::$variant => $body::<$t> $args),*
        }
    };
}

/// A task over a team, with any element type.
trait Job: Sync {
    /// The team's shape.
    fn shape(&self) -> Shape;
    /// Up to four scenarios over the team, if this PE is a member.
    fn run(&self, rt: &Runtime, round: u64, place: &Place, tally: &mut Tally) -> Result<()>;
    /// Destroys the team, and lets the arrays go when this PE likes.
    fn end(self: Box<Self>, work: &mut Work<'_>) -> Result<()>;
}

/// One step over one team, at once or on a stream. Collective over the job.
pub(crate) fn one_team(
    work: &mut Work<'_>,
    place: &mut Place,
    lot: &mut Lot,
    tally: &mut Tally,
) -> Result<()> {
    if work.own.once_in(20) {
        place.renew(work.rt, &mut work.own)?;
    }
    let task = with_dtypes!(with_type { lot.below(Dtype::ALL.len()) } any_team(work.rt, lot))?;
    task.run(work.rt, work.round, place, tally)?;
    task.end(work)
}

fn any_team<T: Scenarios>(rt: &Runtime, lot: &mut Lot) -> Result<Box<dyn Job>> {
    Ok(Box::new(Task::<T>::draw(rt, lot)?))
}

/// Steps over two teams by two threads of each PE, at the same time. Collective over the job.
pub(crate) fn two_threads(
    work: &mut Work<'_>,
    places: &mut [Place; 2],
    lot: &mut Lot,
    tally: &mut Tally,
) -> Result<()> {
    let (rt, round) = (work.rt, work.round);
    let first = with_dtypes!(with_type { lot.below(Dtype::ALL.len()) } flat_team(rt, lot, None))?;
    // A team has one collective at a time: the second one is never the first one.
    let shape = Some(first.shape());
    let second = with_dtypes!(with_type { lot.below(Dtype::ALL.len()) } flat_team(rt, lot, shape))?;
    let [here, there] = places;
    let (mine, other) = std::thread::scope(|scope| {
        let (second, there) = (&second, &*there);
        let other = scope.spawn(move || {
            let mut tally = Tally::new();
            second.run(rt, round, there, &mut tally).map(|()| tally)
        });
        let mine = first.run(rt, round, here, tally);
        (mine, other.join())
    });
    mine?;
    match other {
        Ok(other) => {
            for (name, checks) in other? {
                *tally.entry(name).or_default() += checks;
            }
        }
        Err(panic) => std::panic::resume_unwind(panic),
    }
    *tally.entry("two threads").or_default() += 1;
    first.end(work)?;
    second.end(work)
}

fn flat_team<T: Scenarios>(
    rt: &Runtime,
    lot: &mut Lot,
    shape: Option<Shape>,
) -> Result<Box<dyn Job>> {
    Ok(Box::new(Task::<T>::draw_flat(rt, lot, shape)?))
}

impl<T: Scenarios> Task<T> {
    /// Draws the team, makes it and the arrays. Collective over the job.
    fn draw(rt: &Runtime, lot: &mut Lot) -> Result<Task<T>> {
        let shape = draw_shape(rt, lot);
        Task::make(rt, shape, lot)
    }

    /// As [`draw`](Task::draw), another team than that of `shape`, and none of a team that has a parent of its own: there a PE that
    /// is no member destroys the parent, and so waits for the members.
    fn draw_flat(rt: &Runtime, lot: &mut Lot, shape: Option<Shape>) -> Result<Task<T>> {
        loop {
            let other = draw_shape(rt, lot);
            if Some(other) != shape && !matches!(other, Shape::Nested | Shape::OfShuffled) {
                return Task::make(rt, other, lot);
            }
        }
    }

    fn make(rt: &Runtime, shape: Shape, lot: &mut Lot) -> Result<Task<T>> {
        let len = lot.length(LONGEST);
        Ok(Task {
            shape,
            arrays: Arrays::new(rt, 4 * len + 4 * rt.n_pes() as usize)?,
            made: shapes::make(rt, shape)?,
            len,
            lot: lot.split(),
        })
    }

    /// The context of a scenario over the team, for blocking calls or for a stream.
    fn context<'a>(
        &'a self,
        rt: &'a Runtime,
        made: &'a Made,
        round: u64,
        place: &'a Place,
        lot: &mut Lot,
        tally: &'a mut Tally,
    ) -> Context<'a, T> {
        let on_stream = lot.once_in(3);
        let me = made.pes.iter().position(|&pe| pe == rt.my_pe());
        Context {
            rt,
            stream: on_stream.then_some(&place.stream),
            team: made.team,
            pes: &made.pes,
            me: me.expect("a member"),
            arrays: &self.arrays,
            signal: &place.signal,
            case: lot.number(),
            label: format!(
                "round {round}, {:?}, {:?} {:?}, PE {}, {} elements, on a stream: {on_stream}",
                T::DTYPE,
                self.shape,
                made.pes,
                rt.my_pe(),
                self.len
            ),
            tally,
        }
    }
}

impl<T: Scenarios> Job for Task<T> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn run(&self, rt: &Runtime, round: u64, place: &Place, tally: &mut Tally) -> Result<()> {
        let Some(made) = &self.made else {
            return Ok(());
        };
        let mut lot = self.lot.clone();
        for _ in 0..lot.between(1, 4) {
            let mut c = self.context(rt, made, round, place, &mut lot, tally);
            scenario(&mut c, &mut lot, self.len)?;
        }
        Ok(())
    }

    fn end(self: Box<Self>, work: &mut Work<'_>) -> Result<()> {
        if let Some(made) = self.made {
            shapes::destroy(work.rt, made)?;
        }
        let arrays = [self.arrays.source, self.arrays.dest];
        for array in arrays {
            work.dropped.push(array);
        }
        let own = &mut work.own;
        work.dropped.retain(|_| !own.once_in(3));
        Ok(())
    }
}

/// A team of a job: one of the suite's, or one that nobody has thought of.
fn draw_shape(rt: &Runtime, lot: &mut Lot) -> Shape {
    let n = rt.n_pes() as usize;
    match lot.below(6) {
        0 => {
            let size = lot.between(1, n);
            let most = (n - 1) / (size - 1).max(1);
            let stride = lot.between(1, most.max(1));
            let room = n - 1 - stride * (size - 1);
            let first = lot.below(room + 1);
            let down = lot.once_in(2);
            let start = if down {
                first + stride * (size - 1)
            } else {
                first
            };
            let stride = stride as i32;
            Shape::Strided {
                start: start as i32,
                stride: if down { -stride } else { stride },
                size: size as i32,
            }
        }
        1 => Shape::Grid {
            width: lot.between(1, n) as i32,
            columns: lot.once_in(2),
        },
        2 => Shape::Listed {
            seed: lot.number(),
            size: lot.between(1, n) as i32,
        },
        _ => loop {
            let shape = lot.one_of(&Shape::ALL);
            if shape.exists(rt.n_pes()) {
                return shape;
            }
        },
    }
}

/// One scenario, with `len` elements where a length matters.
fn scenario<T: Scenarios>(c: &mut Context<'_, T>, lot: &mut Lot, len: usize) -> Result<()> {
    // Where every member has a part, all parts together are as long.
    let each = len / c.n();
    let in_place = lot.once_in(2);
    let scenario = match lot.below(18) {
        0 => Scenario::Barriers,
        1 => {
            let root = lot.below(c.n()) as i32;
            Scenario::Broadcast {
                len,
                root,
                in_place,
            }
        }
        2 => Scenario::Fcollect {
            len: each,
            in_place,
        },
        3 => Scenario::Collect { len: each },
        4 => Scenario::Alltoall {
            len: each,
            in_place,
        },
        5 => {
            let strides = (lot.between(1, 3), lot.between(1, 3));
            Scenario::Alltoalls { len: each, strides }
        }
        6..=9 => {
            let (kind, op) = (lot.one_of(&Kind::ALL), lot.one_of(T::OPS));
            let part = kind == Kind::Reducescatter;
            let len = if part { each } else { len };
            Scenario::Fold {
                kind,
                op,
                len,
                in_place,
            }
        }
        10 | 11 => {
            let (len, root) = (each, lot.below(c.n()) as i32);
            match lot.once_in(2) {
                true => Scenario::Gather {
                    len,
                    root,
                    in_place,
                },
                false => Scenario::Scatter {
                    len,
                    root,
                    in_place,
                },
            }
        }
        12 => Scenario::Elements,
        13 | 14 => Scenario::OneSided { len },
        _ => {
            let strides = lot.one_of(&STRIDES);
            let count = lot.below(len * 3 / 4 + 1);
            Scenario::Strided { strides, count }
        }
    };
    T::run(c, scenario)
}

/// Atomics and waits of single words, of the types that have them. Collective over the job.
pub(crate) fn single_words(
    work: &mut Work<'_>,
    place: &Place,
    lot: &mut Lot,
    tally: &mut Tally,
) -> Result<()> {
    macro_rules! run {
        ($t:ty, $scenario:expr) => {{
            let task = Box::new(Task::<$t>::draw(work.rt, lot)?);
            task.words(work, place, tally, $scenario)?;
            task.end(work)
        }};
    }
    match lot.below(16) {
        0 => run!(i32, Atomics::atomics),
        1 => run!(u32, Atomics::atomics),
        2 => run!(i64, Atomics::atomics),
        3 => run!(u64, Atomics::atomics),
        4 => run!(f32, Atomics::atomics),
        5 => run!(f64, Atomics::atomics),
        6 => run!(i8, Waits::waits),
        7 => run!(i16, Waits::waits),
        8 => run!(i32, Waits::waits),
        9 => run!(i64, Waits::waits),
        10 => run!(u8, Waits::waits),
        11 => run!(u16, Waits::waits),
        12 => run!(u32, Waits::waits),
        13 => run!(u64, Waits::waits),
        14 => run!(f32, Waits::waits),
        _ => run!(f64, Waits::waits),
    }
}

impl<T: Scenarios> Task<T> {
    fn words(
        &self,
        work: &Work<'_>,
        place: &Place,
        tally: &mut Tally,
        scenario: fn(&mut Context<'_, T>) -> Result<()>,
    ) -> Result<()> {
        let Some(made) = &self.made else {
            return Ok(());
        };
        let mut lot = self.lot.clone();
        scenario(&mut self.context(work.rt, made, work.round, place, &mut lot, tally))
    }
}

/// Every thread of every PE adds to the words of all PEs at the same time, and none of it is lost. Collective over the job.
pub(crate) fn additions(work: &mut Work<'_>, lot: &mut Lot, tally: &mut Tally) -> Result<()> {
    let rt = work.rt;
    let sums = rt.array::<u64>(3)?;
    let (times, threads, n) = (lot.between(1, 200), lot.between(1, 3), rt.n_pes() as usize);
    rt.barrier_all()?;
    std::thread::scope(|scope| {
        let add = || -> Result<()> {
            for time in 0..times {
                let pe = (time % n) as i32;
                match time % 3 {
                    0 => rt.atomic_inc(sums.at(1)?, pe)?,
                    1 => rt.atomic_add(sums.at(1)?, 1, pe)?,
                    _ => drop(rt.atomic_fetch_add(sums.at(1)?, 1, pe)?),
                }
            }
            Ok(())
        };
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(add)).collect();
        all.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })?;
    rt.barrier_all()?;
    let mine = (0..times)
        .filter(|time| time % n == rt.my_pe() as usize)
        .count();
    assert_eq!(
        sums.to_vec()?,
        [0, (mine * threads * n) as u64, 0],
        "additions, round {}",
        work.round
    );
    *tally.entry("additions").or_default() += 1;
    rt.free_array(sums)
}
