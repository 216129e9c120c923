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
    c.set_source(&mine)?;
    c.clear_dest(len)?;
    let (source, dest) = (Arc::clone(&c.arrays.source), Arc::clone(&c.arrays.dest));
    c.queue(move |rt| {
        let target = if in_place { &source } else { &dest };
        rt.broadcast_array(team, &part(target, len)?, &part(&source, len)?, root)
    })?;
    c.finish()?;
    let expected = c.values(c.pes[root as usize], len);
    if in_place {
        c.expect_source("broadcast in place", &expected)
    } else {
        c.expect_dest("broadcast", &expected)?;
        c.expect_source("broadcast", &mine)
    }
}

/// `len` elements of every member.
pub(crate) fn fcollect<T: Value>(c: &mut Context<'_, T>, len: usize, in_place: bool) -> Result<()> {
    let (team, me, total) = (c.team, c.me, c.n() * len);
    let mine = c.values(c.rt.my_pe(), len);
    c.set_source(&mine)?;
    c.clear_dest(total)?;
    if in_place {
        c.arrays.dest.write(PAD + me * len, &mine)?;
    }
    let (source, dest) = (Arc::clone(&c.arrays.source), Arc::clone(&c.arrays.dest));
    c.queue(move |rt| {
        let all = part(&dest, total)?;
        let own = match in_place {
            true => all.slice(me * len..(me + 1) * len)?,
            false => part(&source, len)?,
        };
        rt.fcollect_array(team, &all, &own)
    })?;
    c.finish()?;
    let expected: Vec<T> = c.pes.iter().flat_map(|&pe| c.values(pe, len)).collect();
    c.expect_dest(
        if in_place {
            "fcollect in place"
        } else {
            "fcollect"
        },
        &expected,
    )?;
    c.expect_source("fcollect", &mine)
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
    c.set_source(&mine)?;
    c.clear_dest(total)?;
    let (source, dest) = (Arc::clone(&c.arrays.source), Arc::clone(&c.arrays.dest));
    c.queue(move |rt| rt.collect_array(team, &part(&dest, total)?, &part(&source, own)?))?;
    c.finish()?;
    let lengths = c.pes.iter().enumerate();
    let expected: Vec<T> = lengths
        .flat_map(|(member, &pe)| c.values(pe, length(member)))
        .collect();
    c.expect_dest("collect", &expected)?;
    c.expect_source("collect", &mine)
}

/// `len` elements from every member to every member.
pub(crate) fn alltoall<T: Value>(c: &mut Context<'_, T>, len: usize, in_place: bool) -> Result<()> {
    let (team, me, total) = (c.team, c.me, c.n() * len);
    let mine = c.values(c.rt.my_pe(), total);
    c.set_source(&mine)?;
    c.clear_dest(total)?;
    let (source, dest) = (Arc::clone(&c.arrays.source), Arc::clone(&c.arrays.dest));
    c.queue(move |rt| {
        let target = if in_place { &source } else { &dest };
        rt.alltoall_array(team, &part(target, total)?, &part(&source, total)?)
    })?;
    c.finish()?;
    let parts = c.pes.iter();
    let expected: Vec<T> = parts
        .flat_map(|&pe| c.values(pe, total)[me * len..(me + 1) * len].to_vec())
        .collect();
    if in_place {
        c.expect_source("alltoall in place", &expected)
    } else {
        c.expect_dest("alltoall", &expected)?;
        c.expect_source("alltoall", &mine)
    }
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
    c.set_source(&mine)?;
    c.clear_dest(total)?;
    let mut untouched = c.canaries(total);
    if in_place {
        c.arrays.dest.write(PAD + first, &mine)?;
        untouched[first..first + len].copy_from_slice(&mine);
    }
    let (source, dest) = (Arc::clone(&c.arrays.source), Arc::clone(&c.arrays.dest));
    c.queue(move |rt| {
        let all = part(&dest, total)?;
        let own = match in_place {
            true => all.slice(first..first + len)?,
            false => part(&source, len)?,
        };
        rt.gather_array(team, is_root.then_some(&all), &own, root)
    })?;
    c.finish()?;
    let expected = match is_root {
        true => c.pes.iter().flat_map(|&pe| c.values(pe, len)).collect(),
        false => untouched,
    };
    let name = if in_place {
        "gather in place"
    } else {
        "gather"
    };
    c.expect_dest(name, &expected)?;
    c.expect_source("gather", &mine)
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
    c.set_source(&mine)?;
    c.clear_dest(len)?;
    let (source, dest) = (Arc::clone(&c.arrays.source), Arc::clone(&c.arrays.dest));
    c.queue(move |rt| {
        let all = part(&source, total)?;
        let own = match in_place {
            true => all.slice(first..first + len)?,
            false => part(&dest, len)?,
        };
        rt.scatter_array(team, &own, is_root.then_some(&all), root)
    })?;
    c.finish()?;
    let sent = c.values(c.pes[root as usize], total);
    let received = &sent[me * len..(me + 1) * len];
    if in_place {
        let mut expected = mine;
        expected[first..first + len].copy_from_slice(received);
        c.expect_source("scatter in place", &expected)
    } else {
        c.expect_dest("scatter", received)?;
        c.expect_source("scatter", &mine)
    }
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
    c.set_source(&mine)?;
    c.clear_dest(to)?;
    let (source, dest) = (Arc::clone(&c.arrays.source), Arc::clone(&c.arrays.dest));
    c.queue(move |rt| {
        let (dest, source) = (part(&dest, to)?, part(&source, from)?);
        rt.alltoalls_array(team, &dest, &source, dst as isize, sst as isize, count)
    })?;
    c.finish()?;
    let mut expected = c.canaries(to);
    for (member, &pe) in c.pes.iter().enumerate() {
        for index in 0..count {
            expected[(member * count + index) * dst] = c.value(pe, (me * count + index) * sst);
        }
    }
    c.expect_dest("alltoalls", &expected)?;
    c.expect_source("alltoalls", &mine)
}
