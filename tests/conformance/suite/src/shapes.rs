//! The teams that the suite runs over, and which PEs belong to them, worked out here and not asked of the library.

use crate::values;
use nvshmemrs::{Pe, Result, Runtime, Team, TeamConfig};
use std::hash::{DefaultHasher, Hash, Hasher};

/// How a team comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All PEs.
    World,
    /// All PEs of the host: the same here.
    Node,
    /// The PEs that load and store reach: the same here.
    Shared,
    /// The PE alone.
    SameMypeNode,
    /// The PE alone: it has no GPU to share.
    SameGpu,
    /// All PEs: none has a GPU.
    GpuLeaders,
    /// PEs 0, 2, 4, ...
    Even,
    /// PEs 1, 3, 5, ...
    Odd,
    /// From the last PE to the first.
    Reversed,
    /// The last two.
    LastTwo,
    /// The last one alone.
    Single,
    /// Rows of two.
    Rows,
    /// Columns of rows of two.
    Columns,
    /// Rows of three, the last one shorter.
    Ragged,
    /// All but one PE, in an order without a stride, by unique id.
    Shuffled,
    /// The odd members of the reversed team.
    Nested,
    /// Every other member of the shuffled team, backwards.
    OfShuffled,
    /// `size` PEs from `start` on, `stride` apart.
    Strided {
        /// The first one.
        start: Pe,
        /// From one to the next.
        stride: Pe,
        /// How many.
        size: Pe,
    },
    /// Rows of `width`, or their columns.
    Grid {
        /// PEs of a row.
        width: Pe,
        /// Whether the columns are meant.
        columns: bool,
    },
    /// `size` PEs in an order that follows from `seed`, by unique id.
    Listed {
        /// The seed of the order.
        seed: u64,
        /// How many.
        size: Pe,
    },
}

impl Shape {
    /// Every shape that has no parameters.
    pub const ALL: [Shape; 17] = [
        Shape::World,
        Shape::Node,
        Shape::Shared,
        Shape::SameMypeNode,
        Shape::SameGpu,
        Shape::GpuLeaders,
        Shape::Even,
        Shape::Odd,
        Shape::Reversed,
        Shape::LastTwo,
        Shape::Single,
        Shape::Rows,
        Shape::Columns,
        Shape::Ragged,
        Shape::Shuffled,
        Shape::Nested,
        Shape::OfShuffled,
    ];

    /// Whether a job of `n` PEs has such a team, and it is not another shape's.
    pub fn exists(self, n: Pe) -> bool {
        match self {
            Shape::Odd | Shape::LastTwo | Shape::Reversed | Shape::Rows | Shape::Columns => n >= 2,
            Shape::Nested | Shape::Ragged => n >= 4,
            Shape::Shuffled | Shape::OfShuffled => n >= 3,
            _ => true,
        }
    }
}

/// A team on one of its members.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its handle.
    pub team: Team,
    /// Its PEs, in its order.
    pub pes: Vec<Pe>,
    /// To be destroyed, last first; also teams that the caller has only for the making.
    made: Vec<Team>,
}

/// An order of all PEs but PE `n / 2` that has no stride from four PEs on.
fn shuffled(n: Pe) -> Vec<Pe> {
    let all: Vec<Pe> = (0..n).filter(|pe| *pe != n / 2).collect();
    let (low, high) = all.split_at(all.len() / 2);
    let mut order: Vec<Pe> = high.iter().chain(low.iter().rev()).copied().collect();
    order.rotate_left(1);
    order
}

/// Where a PE is: its host and its GPU, as numbers.
#[derive(Clone, Copy, Default)]
struct Place {
    host: u64,
    gpu: Option<u64>,
}

/// The teams of the shape in a job of PEs at these places, each as its members in order.
fn members(shape: Shape, places: &[Place]) -> Vec<Vec<Pe>> {
    let n = places.len() as Pe;
    let sharers = |pe: Pe| -> Vec<Pe> {
        let gpu = places[pe as usize].gpu;
        let shares =
            |&other: &Pe| other == pe || (gpu.is_some() && places[other as usize].gpu == gpu);
        (0..n).filter(shares).collect()
    };
    let near = |pe: Pe| -> Vec<Pe> {
        let host = places[pe as usize].host;
        let there = |&other: &Pe| places[other as usize].host == host;
        (0..n).filter(there).collect()
    };
    let index = |pe: Pe| near(pe).iter().position(|&one| one == pe);
    let all: Vec<Pe> = (0..n).collect();
    let rows = |width: usize| -> Vec<Vec<Pe>> { all.chunks(width).map(<[Pe]>::to_vec).collect() };
    match shape {
        Shape::World => vec![all],
        Shape::Node | Shape::Shared => all.iter().map(|&pe| near(pe)).collect(),
        Shape::SameMypeNode => {
            let alike = |pe: Pe| {
                all.iter()
                    .copied()
                    .filter(move |&one| index(one) == index(pe))
            };
            all.iter().map(|&pe| alike(pe).collect()).collect()
        }
        Shape::SameGpu => all.iter().map(|&pe| sharers(pe)).collect(),
        Shape::GpuLeaders => vec![all.into_iter().filter(|&pe| sharers(pe)[0] == pe).collect()],
        Shape::Even => vec![all.into_iter().step_by(2).collect()],
        Shape::Odd => vec![all.into_iter().skip(1).step_by(2).collect()],
        Shape::Reversed => vec![all.into_iter().rev().collect()],
        Shape::LastTwo => vec![vec![n - 2, n - 1]],
        Shape::Single => vec![vec![n - 1]],
        Shape::Rows => rows(2),
        Shape::Ragged => rows(3),
        Shape::Columns => (0..2)
            .map(|column| all.iter().copied().filter(|pe| pe % 2 == column).collect())
            .collect(),
        Shape::Shuffled => vec![shuffled(n)],
        Shape::Nested => vec![all.into_iter().rev().skip(1).step_by(2).collect()],
        Shape::OfShuffled => {
            let mut order = shuffled(n);
            order.reverse();
            vec![order.into_iter().step_by(2).collect()]
        }
        Shape::Strided {
            start,
            stride,
            size,
        } => vec![(0..size).map(|index| start + index * stride).collect()],
        Shape::Grid { width, columns } => match columns {
            false => rows(width as usize),
            true => (0..width.min(n))
                .map(|column| {
                    all.iter()
                        .copied()
                        .filter(|pe| pe % width == column)
                        .collect()
                })
                .collect(),
        },
        Shape::Listed { seed, size } => vec![listed(seed, size, n)],
    }
}

/// `size` of `n` PEs in an order without a pattern.
fn listed(seed: u64, size: Pe, n: Pe) -> Vec<Pe> {
    let mut order: Vec<Pe> = (0..n).collect();
    order.sort_by_key(|&pe| values::seed(seed, pe, 0));
    order.truncate(size as usize);
    order
}

/// Creates the shape's teams; returns this PE's team, if any. Collective over the job.
pub fn make(rt: &Runtime, shape: Shape) -> Result<Option<Made>> {
    let (me, n) = (rt.my_pe(), rt.n_pes());
    let config = || Ok(TeamConfig::default());
    let split =
        |parent, start, stride, size| rt.team_split_strided(parent, start, stride, size, config());
    let mut made = Vec::new();
    let team = match shape {
        Shape::World => Some(Team::WORLD),
        Shape::Node => Some(Team::NODE),
        Shape::Shared => Some(Team::SHARED),
        Shape::SameMypeNode => Some(Team::SAME_MYPE_NODE),
        Shape::SameGpu => Some(Team::SAME_GPU),
        Shape::GpuLeaders => {
            // A PE that is no leader gets -1 for its number and the team's size, and an error from a barrier.
            let mine = rt.team_my_pe(Team::GPU_LEADERS)?;
            if mine < 0 {
                assert_eq!(rt.team_n_pes(Team::GPU_LEADERS)?, -1);
                assert_eq!(rt.barrier(Team::GPU_LEADERS).unwrap_err().status(), 11);
            }
            (mine >= 0).then_some(Team::GPU_LEADERS)
        }
        Shape::Even => split(Team::WORLD, 0, 2, (n + 1) / 2)?,
        Shape::Odd => split(Team::WORLD, 1, 2, n / 2)?,
        Shape::Reversed => split(Team::WORLD, n - 1, -1, n)?,
        Shape::LastTwo => split(Team::WORLD, n - 2, 1, 2)?,
        Shape::Single => split(Team::WORLD, n - 1, 0, 1)?,
        Shape::Rows | Shape::Columns | Shape::Ragged => {
            let width = if shape == Shape::Ragged { 3 } else { 2 };
            let (x, y) = rt.team_split_2d(Team::WORLD, width, config(), config())?;
            let (keep, other) = if shape == Shape::Columns {
                (y, x)
            } else {
                (x, y)
            };
            made.push(other);
            Some(keep)
        }
        Shape::Shuffled => init_listed(rt, &shuffled(n))?,
        Shape::Strided {
            start,
            stride,
            size,
        } => split(Team::WORLD, start, stride, size)?,
        Shape::Grid { width, columns } => {
            let (x, y) = rt.team_split_2d(Team::WORLD, width, config(), config())?;
            let (keep, other) = if columns { (y, x) } else { (x, y) };
            made.push(other);
            Some(keep)
        }
        Shape::Listed { seed, size } => init_listed(rt, &listed(seed, size, n))?,
        Shape::Nested => match split(Team::WORLD, n - 1, -1, n)? {
            Some(parent) => {
                made.push(parent);
                split(parent, 1, 2, n / 2)?
            }
            None => None,
        },
        Shape::OfShuffled => match init_listed(rt, &shuffled(n))? {
            Some(parent) => {
                made.push(parent);
                let size = n - 1;
                split(parent, size - 1, -2, (size + 1) / 2)?
            }
            None => None,
        },
    };
    made.extend(team.filter(|team| team.number() > Team::GPU_LEADERS.number()));
    let places = match shape {
        Shape::Node | Shape::Shared | Shape::SameMypeNode => places(rt)?,
        Shape::SameGpu | Shape::GpuLeaders => places(rt)?,
        _ => vec![Place::default(); n as usize],
    };
    let mine = members(shape, &places)
        .into_iter()
        .find(|pes| pes.contains(&me));
    assert_eq!(
        team.is_some(),
        mine.is_some(),
        "{shape:?} on PE {me} of {n}: the library and the model disagree about who is a member"
    );
    if let (Some(team), Some(pes)) = (team, mine) {
        check(rt, shape, team, &pes)?;
        return Ok(Some(Made { team, pes, made }));
    }
    for team in made.into_iter().rev() {
        rt.team_destroy(team)?;
    }
    Ok(None)
}

/// A number for the card that is GPU `number` of this process, not 0. A machine that plays several hosts may give each other cards.
fn card(number: i32) -> u64 {
    let list = std::env::var("CUDA_VISIBLE_DEVICES").unwrap_or_default();
    let listed = list.split(',').nth(number as usize);
    let name = listed.filter(|name| !name.is_empty());
    let mut hash = DefaultHasher::new();
    name.map_or_else(|| number.to_string(), str::to_string)
        .hash(&mut hash);
    hash.finish() | 1
}

/// Where each PE is. One machine plays several hosts where `NVSHMEMRS_HOST_ID` says so.
fn places(rt: &Runtime) -> Result<Vec<Place>> {
    let (mine, all) = (
        rt.array::<u64>(2)?,
        rt.array::<u64>(2 * rt.n_pes() as usize)?,
    );
    let mut host = DefaultHasher::new();
    std::env::var("NVSHMEMRS_HOST_ID").ok().hash(&mut host);
    let gpu = rt.device().map_or(0, card);
    mine.write(0, &[host.finish(), gpu])?;
    rt.fcollect_array(Team::WORLD, &all.all(), &mine.all())?;
    let words = all.to_vec()?;
    rt.free_array(mine)?;
    rt.free_array(all)?;
    let (pairs, []) = words.as_chunks::<2>() else {
        unreachable!("two words of each PE");
    };
    let place = |&[host, gpu]: &[u64; 2]| Place {
        host,
        gpu: (gpu != 0).then_some(gpu),
    };
    Ok(pairs.iter().map(place).collect())
}

/// PE 0 draws an id and hands it to all, then only the members meet.
fn init_listed(rt: &Runtime, order: &[Pe]) -> Result<Option<Team>> {
    let id = rt.array::<u64>(1)?;
    if rt.my_pe() == 0 {
        id.store(0, rt.team_unique_id()?)?;
    }
    rt.broadcast_array(Team::WORLD, &id.all(), &id.all(), 0)?;
    let config = TeamConfig {
        unique_id: id.load(0)?,
        num_contexts: 2,
    };
    let mine = order.iter().position(|&pe| pe == rt.my_pe());
    let team = mine
        .map(|index| rt.team_init(config, order.len() as Pe, index as Pe))
        .transpose()?;
    rt.free_array(id)?;
    Ok(team)
}

/// Compares the library's view of a team with the model's.
fn check(rt: &Runtime, shape: Shape, team: Team, pes: &[Pe]) -> Result<()> {
    let me = pes
        .iter()
        .position(|&pe| pe == rt.my_pe())
        .map(|index| index as Pe);
    assert_eq!(Some(rt.team_my_pe(team)?), me, "{shape:?}");
    assert_eq!(rt.team_n_pes(team)?, pes.len() as Pe, "{shape:?}");
    for (number, &pe) in (0..).zip(pes) {
        assert_eq!(
            rt.team_translate_pe(team, number, Team::WORLD)?,
            pe,
            "{shape:?}"
        );
        assert_eq!(
            rt.team_translate_pe(Team::WORLD, pe, team)?,
            number,
            "{shape:?}"
        );
    }
    for pe in (0..rt.n_pes()).filter(|pe| !pes.contains(pe)) {
        assert_eq!(
            rt.team_translate_pe(Team::WORLD, pe, team)?,
            -1,
            "{shape:?}"
        );
    }
    let wrong = rt.team_translate_pe(team, pes.len() as Pe, Team::WORLD);
    assert_eq!(wrong.unwrap_err().status(), 12, "{shape:?}");
    Ok(())
}

/// Destroys the team that `make` created; afterwards the handle is invalid.
pub fn destroy(rt: &Runtime, made: Made) -> Result<()> {
    for &team in made.made.iter().rev() {
        rt.team_destroy(team)?;
        assert_eq!(rt.barrier(team).unwrap_err().status(), 11, "a stale handle");
        assert_eq!(
            rt.team_my_pe(team).unwrap_err().status(),
            11,
            "a stale handle"
        );
    }
    Ok(())
}
