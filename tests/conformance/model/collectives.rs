//! Collectives of the scenario: moves, scans and reductions of a team.

use super::split_back;
use half::f16;
use num_complex::{Complex32, Complex64};
use nvshmemrs::{Element, Op, Pe, Result, Runtime, SymArray, SymSlice, Team};
use std::fmt::Debug;

/// Two arrays of a team's collectives, and their contents before each collective.
struct Buffers<'a, T: Element> {
    rt: &'a Runtime,
    team: Team,
    dest: &'a SymArray<T>,
    source: &'a SymArray<T>,
    start: Vec<T>,
    guard: T,
}

impl<T: Element + PartialEq + Debug> Buffers<'_, T> {
    /// Fills both, runs the collective on the first elements of `dest` and `source`, or in place, and compares.
    fn check(
        &self,
        what: &str,
        call: impl FnOnce(&SymArray<T>, &SymArray<T>) -> Result<()>,
        at: usize,
        wanted: &[T],
        in_place: bool,
    ) -> Result<()> {
        self.rt.sync(self.team)?;
        self.dest.write(0, &vec![self.guard; self.dest.len()])?;
        self.source.write(0, &self.start)?;
        self.rt.sync(self.team)?;
        call(self.dest, self.source)?;
        let found = if in_place { self.source } else { self.dest };
        let mut wanted = wanted.to_vec();
        if !in_place {
            wanted.push(self.guard);
        }
        assert_eq!(found.to_vec()?[at..at + wanted.len()], wanted, "{what}");
        Ok(())
    }
}

fn moves(rt: &Runtime, team: Team, dest: &SymArray<i64>, source: &SymArray<i64>) -> Result<()> {
    let (m, k) = (rt.team_my_pe(team)? as usize, rt.team_n_pes(team)? as usize);
    let value = |pe: usize, i: usize| (pe * 100 + i) as i64;
    let pairs = |count: usize| (0..k).flat_map(move |pe| (0..count).map(move |i| (pe, i)));
    let on = Buffers {
        rt,
        team,
        dest,
        source,
        start: (0..64).map(|i| value(m, i)).collect(),
        guard: -7,
    };
    let sent: Vec<i64> = (0..3).map(|i| value(k - 1, i)).collect();
    let root = k as Pe - 1;
    on.check(
        "broadcast",
        |d, s| rt.broadcast_array(team, &d.slice(..3)?, &s.slice(..3)?, root),
        0,
        &sent,
        false,
    )?;

    let all: Vec<i64> = pairs(3).map(|(pe, i)| value(pe, i)).collect();
    on.check(
        "fcollect",
        |d, s| rt.fcollect_array(team, &d.slice(..k * 3)?, &s.slice(..3)?),
        0,
        &all,
        false,
    )?;
    let all: Vec<i64> = pairs(3).map(|(pe, i)| value(pe, pe * 3 + i)).collect();
    let part = m * 3..m * 3 + 3;
    on.check(
        "fcollect in place",
        |_, s| rt.fcollect_array(team, &s.slice(..k * 3)?, &s.slice(part)?),
        0,
        &all,
        true,
    )?;

    // Member m gives m + 1 elements.
    let all: Vec<i64> = (0..k)
        .flat_map(|pe| (0..=pe).map(move |i| value(pe, i)))
        .collect();
    let len = all.len();
    on.check(
        "collect",
        |d, s| rt.collect_array(team, &d.slice(..len)?, &s.slice(..m + 1)?),
        0,
        &all,
        false,
    )?;

    let parts: Vec<i64> = pairs(2).map(|(pe, i)| value(pe, m * 2 + i)).collect();
    let len = k * 2;
    on.check(
        "alltoall",
        |d, s| rt.alltoall_array(team, &d.slice(..len)?, &s.slice(..len)?),
        0,
        &parts,
        false,
    )?;
    on.check(
        "alltoall in place",
        |_, s| rt.alltoall_array(team, &s.slice(..len)?, &s.slice(..len)?),
        0,
        &parts,
        true,
    )?;
    let spread = |(pe, i): (usize, usize)| [value(pe, (m * 2 + i) * 3), -7];
    let mut parts: Vec<i64> = pairs(2).flat_map(spread).collect();
    parts.pop();
    on.check(
        "alltoalls",
        |d, s| rt.alltoalls_array(team, &d.all(), &s.all(), 2, 3, 2),
        0,
        &parts,
        false,
    )?;

    for root in 0..k {
        let (is_root, len) = (m == root, k * 2);
        let own = root * 2..root * 2 + 2;
        let (pe, kept) = (root as Pe, (0..len).map(|i| value(m, i)));
        let mut kept: Vec<i64> = kept.collect();
        let all = |at: usize| pairs(2).map(move |(pe, i)| value(pe, at + i)).collect();
        let wanted: Vec<i64> = if is_root { all(0) } else { vec![-7; len] };
        // Only the root's dest is used.
        on.check(
            "gather",
            |d, s| {
                rt.gather_array(
                    team,
                    is_root.then_some(&d.slice(..len)?),
                    &s.slice(..2)?,
                    pe,
                )
            },
            0,
            &wanted,
            false,
        )?;
        let wanted = if is_root { all(root * 2) } else { kept.clone() };
        let part = own.clone();
        on.check(
            "gather in place",
            |_, s| rt.gather_array(team, Some(&s.slice(..len)?), &s.slice(part)?, pe),
            0,
            &wanted,
            true,
        )?;
        let received = [value(root, m * 2), value(root, m * 2 + 1)];
        on.check(
            "scatter",
            |d, s| {
                rt.scatter_array(
                    team,
                    &d.slice(..2)?,
                    is_root.then_some(&s.slice(..len)?),
                    pe,
                )
            },
            0,
            &received,
            false,
        )?;
        kept[own.clone()].copy_from_slice(&received);
        on.check(
            "scatter in place",
            |_, s| rt.scatter_array(team, &s.slice(own)?, Some(&s.slice(..len)?), pe),
            0,
            &kept,
            true,
        )?;
    }
    Ok(())
}

fn scans(rt: &Runtime, team: Team, dest: &SymArray<i32>, source: &SymArray<i32>) -> Result<()> {
    let (m, k) = (rt.team_my_pe(team)?, rt.team_n_pes(team)?);
    let (sum, before, to_me) = (k * (k + 1) / 2, m * (m + 1) / 2, (m + 1) * (m + 2) / 2);
    let on = Buffers {
        rt,
        team,
        dest,
        source,
        start: (1..=16).map(|i| (m + 1) * i).collect(),
        guard: -7,
    };
    let all = k as usize * 2;
    let mine = m as usize * 2;
    let kept = [sum * (m * 2 + 1), sum * (m * 2 + 2)];
    let two = |array: &SymArray<i32>, call: &dyn Fn(&SymSlice<'_, i32>) -> Result<()>| {
        call(&array.slice(..2)?)
    };
    on.check(
        "reducescatter",
        |d, s| rt.reducescatter_array(team, &d.slice(..2)?, &s.slice(..all)?, Op::Sum),
        0,
        &kept,
        false,
    )?;
    on.check(
        "reducescatter in place",
        |_, s| rt.reducescatter_array(team, &s.slice(mine..mine + 2)?, &s.slice(..all)?, Op::Sum),
        mine,
        &kept,
        true,
    )?;
    let wanted = [to_me, to_me * 2];
    on.check(
        "inscan",
        |d, s| rt.inscan_array(team, &d.slice(..2)?, &s.slice(..2)?, Op::Sum),
        0,
        &wanted,
        false,
    )?;
    let rest = [to_me, to_me * 2, (m + 1) * 3];
    on.check(
        "inscan in place",
        |_, s| two(s, &|both| rt.inscan_array(team, both, both, Op::Sum)),
        0,
        &rest,
        true,
    )?;
    let wanted = [before, before * 2];
    on.check(
        "exscan",
        |d, s| rt.exscan_array(team, &d.slice(..2)?, &s.slice(..2)?, Op::Sum),
        0,
        &wanted,
        false,
    )?;
    let least = [if m == 0 { i32::MAX } else { 1 }];
    on.check(
        "exscan in place",
        |_, s| two(s, &|both| rt.exscan_array(team, both, both, Op::Min)),
        0,
        &least,
        true,
    )
}

/// Reduces two elements, out of place and in place; the third stays as it is.
fn reduce<T>(rt: &Runtime, team: Option<Team>, op: Op, mine: T, wanted: T, guard: T) -> Result<()>
where
    T: Element + PartialEq + Debug,
{
    let (dest, source) = (rt.array::<T>(3)?, rt.array::<T>(3)?);
    if let Some(team) = team {
        let on = Buffers {
            rt,
            team,
            dest: &dest,
            source: &source,
            start: vec![mine, mine, guard],
            guard,
        };
        let what = format!("{op} of {:?}", T::DTYPE);
        let both = [wanted; 2];
        on.check(
            &what,
            |d, s| rt.reduce_array(team, &d.slice(..2)?, &s.slice(..2)?, op),
            0,
            &both,
            false,
        )?;
        let both = [wanted, wanted, guard];
        on.check(
            &what,
            |_, s| rt.reduce_array(team, &s.slice(..2)?, &s.slice(..2)?, op),
            0,
            &both,
            true,
        )?;
    }
    rt.barrier_all()?;
    rt.free_array(source)?;
    rt.free_array(dest)
}

/// Allocations are of WORLD, so a PE outside the team comes along with no team.
fn reductions(rt: &Runtime, team: Option<Team>, m: Pe, k: Pe) -> Result<()> {
    let real = f64::from;
    let factorial = [1, 1, 2, 6, 24][k as usize];
    let sign = if k % 2 == 1 { -1 } else { 1 };
    let product = (1..k).fold(Complex32::i(), |product, _| product * Complex32::i());
    let total = Complex64::new(real(k * (k - 1) / 2), real(k));
    let xor = (1 << k) - 1 + (k as u8 % 2) * 128;
    reduce::<u8>(rt, team, Op::Xor, 1 << m | 128, xor, 77)?;
    reduce::<i16>(rt, team, Op::Min, -m as i16, 1 - k as i16, 77)?;
    reduce::<u32>(rt, team, Op::And, !(1 << m), !((1 << k) - 1), 77)?;
    reduce::<u64>(rt, team, Op::Or, 1 << (40 + m), ((1 << k) - 1) << 40, 77)?;
    reduce::<i64>(
        rt,
        team,
        Op::Prod,
        i64::from(-(m + 1)),
        sign * factorial,
        77,
    )?;
    let halves = [real(m) + 0.5, real(k * k) / 2.0, 77.0].map(f16::from_f64);
    reduce::<f16>(rt, team, Op::Sum, halves[0], halves[1], halves[2])?;
    reduce::<f32>(rt, team, Op::Max, m as f32 + 0.5, k as f32 - 0.5, 77.0)?;
    reduce::<f64>(
        rt,
        team,
        Op::Sum,
        real(m + 1) * 0.25,
        real(k * (k + 1) / 2) * 0.25,
        77.0,
    )?;
    reduce::<Complex32>(
        rt,
        team,
        Op::Prod,
        Complex32::i(),
        product,
        Complex32::new(77.0, 0.0),
    )?;
    let guard = Complex64::new(77.0, 0.0);
    reduce::<Complex64>(
        rt,
        team,
        Op::Sum,
        Complex64::new(real(m), 1.0),
        total,
        guard,
    )
}

pub(super) fn collectives(rt: &Runtime, _left: Pe, _right: Pe) -> Result<()> {
    let (dest, source) = (rt.array::<i64>(64)?, rt.array::<i64>(64)?);
    let (scan_dest, scan_source) = (rt.array::<i32>(16)?, rt.array::<i32>(16)?);
    let (back, mine) = split_back(rt)?;
    moves(rt, Team::WORLD, &dest, &source)?;
    scans(rt, Team::WORLD, &scan_dest, &scan_source)?;
    reductions(rt, Some(Team::WORLD), rt.my_pe(), rt.n_pes())?;
    rt.barrier_all()?;
    if let Some(back) = back {
        moves(rt, back, &dest, &source)?;
        scans(rt, back, &scan_dest, &scan_source)?;
        rt.barrier(back)?;
    }
    reductions(rt, back, mine.unwrap_or(0), (rt.n_pes() + 1) / 2)?;
    if let Some(back) = back {
        rt.team_destroy(back)?;
    }
    rt.barrier_all()?;
    rt.free_array(scan_source)?;
    rt.free_array(scan_dest)?;
    rt.free_array(source)?;
    rt.free_array(dest)
}
