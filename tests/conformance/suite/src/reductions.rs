//! Reduce, reducescatter and scans against a left fold in team order.

use crate::context::{Context, part};
use crate::values::{Value, same_bits};
use nvshmemrs::{Op, Result};

/// The collectives that fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Every member has the fold of all.
    Reduce,
    /// Every member has its part of it.
    Reducescatter,
    /// Every member has the fold of those up to itself.
    Inscan,
    /// Every member has the fold of those before itself.
    Exscan,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 4] = [
        Kind::Reduce,
        Kind::Reducescatter,
        Kind::Inscan,
        Kind::Exscan,
    ];

    fn name(self, in_place: bool) -> &'static str {
        match (self, in_place) {
            (Kind::Reduce, false) => "reduce",
            (Kind::Reduce, true) => "reduce in place",
            (Kind::Reducescatter, false) => "reducescatter",
            (Kind::Reducescatter, true) => "reducescatter in place",
            (Kind::Inscan, false) => "inscan",
            (Kind::Inscan, true) => "inscan in place",
            (Kind::Exscan, false) => "exscan",
            (Kind::Exscan, true) => "exscan in place",
        }
    }
}

/// `len` elements of the result.
pub(crate) fn run<T: Value>(
    c: &mut Context<'_, T>,
    kind: Kind,
    op: Op,
    len: usize,
    in_place: bool,
) -> Result<()> {
    let name = kind.name(in_place);
    let (team, me) = (c.team, c.me);
    let (first, source_len) = match kind {
        Kind::Reducescatter => (me * len, c.n() * len),
        _ => (0, len),
    };
    let sources: Vec<Vec<T>> = c.pes.iter().map(|&pe| c.values(pe, source_len)).collect();
    c.operate(&sources[me], &c.canaries(len), move |rt, source, dest| {
        let source = part(source, source_len)?;
        let dest = match in_place {
            true => source.slice(first..first + len)?,
            false => part(dest, len)?,
        };
        match kind {
            Kind::Reduce => rt.reduce_array(team, &dest, &source, op),
            Kind::Reducescatter => rt.reducescatter_array(team, &dest, &source, op),
            Kind::Inscan => rt.inscan_array(team, &dest, &source, op),
            Kind::Exscan => rt.exscan_array(team, &dest, &source, op),
        }
    })?;

    let members = match kind {
        Kind::Reduce | Kind::Reducescatter => c.n(),
        Kind::Inscan => me + 1,
        Kind::Exscan => me,
    };
    let fold = |index: usize| {
        let mut values = sources[..members]
            .iter()
            .map(|source| source[first + index].wide());
        let start = values.next().unwrap_or_else(|| T::identity(op));
        T::narrow(values.fold(start, |left, right| T::combine(op, left, right)))
    };
    let mut expected: Vec<T> = (0..len).map(fold).collect();
    if in_place {
        // The rest of the source stays.
        expected = [
            &sources[me][..first],
            &expected,
            &sources[me][first + len..],
        ]
        .concat();
    }
    c.expect_result(name, in_place, &expected, &sources[me])?;
    if kind == Kind::Reduce && !in_place && len > 0 {
        same_on_all_members(c, name, len)?;
    }
    Ok(())
}

/// All members have the same bits, those of a NaN too.
fn same_on_all_members<T: Value>(
    c: &mut Context<'_, T>,
    name: &'static str,
    len: usize,
) -> Result<()> {
    c.barrier()?;
    let right = c.right();
    let mut theirs = vec![c.canary(); len];
    c.rt.get(&mut theirs, part(&c.arrays.dest, len)?, right)?;
    let mut mine = vec![c.canary(); len];
    c.rt.get(&mut mine, part(&c.arrays.dest, len)?, c.rt.my_pe())?;
    for (index, (mine, theirs)) in mine.iter().zip(&theirs).enumerate() {
        assert!(
            same_bits(*mine, *theirs),
            "{name}[{index}]: {mine:?} here, {theirs:?} on PE {right} [{}]",
            c.label
        );
    }
    c.barrier()
}
