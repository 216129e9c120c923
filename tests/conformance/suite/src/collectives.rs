//! Collectives that move data.

use crate::context::{Context, PAD, part};
use crate::values::Value;
use nvshmemrs::{Pe, Result};
use std::sync::Arc;

/// Barrier and sync order earlier operations: every member's word has arrived afterwards.
pub(crate) fn barriers<T: Value>(c: &mut Context<'_, T>) -> Result<()> {
    let team = c.team;
    for name in ["barrier", "sync"] {
        let (dest, right, value) = (
            Arc::clone(&c.arrays.dest),
            c.right(),
            c.value(c.rt.my_pe(), 0),
        );
        c.clear_dest(1)?;
        c.barrier()?;
        c.queue(move |rt| rt.p(dest.at(PAD)?, value, right))?;
        c.queue(move |rt| match name {
            "barrier" => rt.barrier(team),
            _ => rt
                .quiet()
                .and_then(|()| rt.fence())
                .and_then(|()| rt.sync(team)),
        })?;
        c.finish()?;
        let expected = [c.value(c.left(), 0)];
        c.expect_dest(name, &expected)?;
    }
    c.barrier()
}

/// Broadcast from `root`, a number in the team.
pub(crate) fn broadcast<T: Value>(
    c: &mut Context<'_, T>,
    len: usize,
    root: Pe,
    in_place: bool,
) -> Result<()> {
    let (team, mine) = (c.team, c.values(c.rt.my_pe(), len));
    c.operate(&mine, &c.canaries(len), move |rt, source, dest| {
        let target = if in_place { source } else { dest };
        rt.broadcast_array(team, &part(target, len)?, &part(source, len)?, root)
    })?;
    let expected = c.values(c.pes[root as usize], len);
    let name = ["broadcast", "broadcast in place"][usize::from(in_place)];
    c.expect_result(name, in_place, &expected, &mine)
}

/// `len` elements of every member.
pub(crate) fn fcollect<T: Value>(c: &mut Context<'_, T>, len: usize, in_place: bool) -> Result<()> {
    let (team, total, own) = (c.team, c.n() * len, c.me * len..(c.me + 1) * len);
    let mine = c.values(c.rt.my_pe(), len);
    let mut before = c.canaries(total);
    if in_place {
        before[own.clone()].copy_from_slice(&mine);
    }
    c.operate(&mine, &before, move |rt, source, dest| {
        let all = part(dest, total)?;
        let own = match in_place {
            true => all.slice(own)?,
            false => part(source, len)?,
        };
        rt.fcollect_array(team, &all, &own)
    })?;
    let expected: Vec<T> = c.pes.iter().flat_map(|&pe| c.values(pe, len)).collect();
    let name = ["fcollect", "fcollect in place"][usize::from(in_place)];
    c.expect_result(name, false, &expected, &mine)
}

/// About `len` elements of every member: some more, some less, now and then none.
pub(crate) fn collect<T: Value>(c: &mut Context<'_, T>, len: usize) -> Result<()> {
    let team = c.team;
    let length = |member: usize| match member % 4 {
        0 => len,
        1 => len / 2,
        2 => len + 3,
        _ => 0,
    };
    let own = length(c.me);
    let total: usize = (0..c.n()).map(length).sum();
    let mine = c.values(c.rt.my_pe(), own);
    c.operate(&mine, &c.canaries(total), move |rt, source, dest| {
        rt.collect_array(team, &part(dest, total)?, &part(source, own)?)
    })?;
    let lengths = c.pes.iter().enumerate();
    let expected: Vec<T> = lengths
        .flat_map(|(member, &pe)| c.values(pe, length(member)))
        .collect();
    c.expect_result("collect", false, &expected, &mine)
}

/// `len` elements from every member to every member.
pub(crate) fn alltoall<T: Value>(c: &mut Context<'_, T>, len: usize, in_place: bool) -> Result<()> {
    let (team, me, total) = (c.team, c.me, c.n() * len);
    let mine = c.values(c.rt.my_pe(), total);
    c.operate(&mine, &c.canaries(total), move |rt, source, dest| {
        let target = if in_place { source } else { dest };
        rt.alltoall_array(team, &part(target, total)?, &part(source, total)?)
    })?;
    let parts = c.pes.iter();
    let expected: Vec<T> = parts
        .flat_map(|&pe| c.values(pe, total)[me * len..(me + 1) * len].to_vec())
        .collect();
    let name = ["alltoall", "alltoall in place"][usize::from(in_place)];
    c.expect_result(name, in_place, &expected, &mine)
}

/// `len` elements of every member to member `root`. In place, `source` is the root's part of `dest`.
pub(crate) fn gather<T: Value>(
    c: &mut Context<'_, T>,
    len: usize,
    root: Pe,
    in_place: bool,
) -> Result<()> {
    let (team, total, first) = (c.team, c.n() * len, root as usize * len);
    let is_root = c.me == root as usize;
    let mine = c.values(c.rt.my_pe(), len);
    let mut before = c.canaries(total);
    if in_place {
        before[first..first + len].copy_from_slice(&mine);
    }
    c.operate(&mine, &before, move |rt, source, dest| {
        let all = part(dest, total)?;
        let own = match in_place {
            true => all.slice(first..first + len)?,
            false => part(source, len)?,
        };
        rt.gather_array(team, is_root.then_some(&all), &own, root)
    })?;
    let expected = match is_root {
        true => c.pes.iter().flat_map(|&pe| c.values(pe, len)).collect(),
        false => before,
    };
    let name = ["gather", "gather in place"][usize::from(in_place)];
    c.expect_result(name, false, &expected, &mine)
}

/// `len` elements of member `root` to every member. In place, `dest` is the root's part of `source`.
pub(crate) fn scatter<T: Value>(
    c: &mut Context<'_, T>,
    len: usize,
    root: Pe,
    in_place: bool,
) -> Result<()> {
    let (team, me, total, first) = (c.team, c.me, c.n() * len, root as usize * len);
    let is_root = me == root as usize;
    let mine = c.values(c.rt.my_pe(), total);
    c.operate(&mine, &c.canaries(len), move |rt, source, dest| {
        let all = part(source, total)?;
        let own = match in_place {
            true => all.slice(first..first + len)?,
            false => part(dest, len)?,
        };
        rt.scatter_array(team, &own, is_root.then_some(&all), root)
    })?;
    let mut expected = c.values(c.pes[root as usize], total)[me * len..(me + 1) * len].to_vec();
    if in_place {
        // The rest of the source stays.
        expected = [&mine[..first], &expected, &mine[first + len..]].concat();
    }
    let name = ["scatter", "scatter in place"][usize::from(in_place)];
    c.expect_result(name, in_place, &expected, &mine)
}

/// `count` elements from every member to every member, apart from each other.
pub(crate) fn alltoalls<T: Value>(
    c: &mut Context<'_, T>,
    count: usize,
    (dst, sst): (usize, usize),
) -> Result<()> {
    let (team, me) = (c.team, c.me);
    let elements = c.n() * count;
    let span = |stride: usize| elements.saturating_sub(1) * stride + elements.min(1);
    let (to, from) = (span(dst), span(sst));
    let mine = c.values(c.rt.my_pe(), from);
    c.operate(&mine, &c.canaries(to), move |rt, source, dest| {
        let (dest, source) = (part(dest, to)?, part(source, from)?);
        rt.alltoalls_array(team, &dest, &source, dst as isize, sst as isize, count)
    })?;
    let mut expected = c.canaries(to);
    for (member, &pe) in c.pes.iter().enumerate() {
        for index in 0..count {
            expected[(member * count + index) * dst] = c.value(pe, (me * count + index) * sst);
        }
    }
    c.expect_result("alltoalls", false, &expected, &mine)
}
