//! The scenarios that every element type has, with their arguments, for a program that draws them by lot.

use crate::context::Context;
use crate::reductions::Kind;
use crate::values::Value;
use crate::{collectives, reductions, rma};
use nvshmemrs::{Op, Pe, Result};

/// One scenario over a team. Lengths are in elements.
#[derive(Clone, Copy, Debug)]
pub enum Scenario {
    /// Barrier and sync.
    Barriers,
    /// Broadcast from a member.
    Broadcast {
        /// Elements of the buffers.
        len: usize,
        /// The member's number in the team.
        root: Pe,
        /// Whether dest is source.
        in_place: bool,
    },
    /// Fcollect.
    Fcollect {
        /// Elements of a member's part.
        len: usize,
        /// Whether the source is a part of dest.
        in_place: bool,
    },
    /// Collect.
    Collect {
        /// About so many elements of a member's part.
        len: usize,
    },
    /// Alltoall.
    Alltoall {
        /// Elements from a member to a member.
        len: usize,
        /// Whether dest is source.
        in_place: bool,
    },
    /// Alltoalls.
    Alltoalls {
        /// Elements from a member to a member.
        len: usize,
        /// Of dest and source.
        strides: (usize, usize),
    },
    /// Gather to a member.
    Gather {
        /// Elements of a member's part.
        len: usize,
        /// The member's number in the team.
        root: Pe,
        /// Whether the source is a part of dest.
        in_place: bool,
    },
    /// Scatter from a member.
    Scatter {
        /// Elements of a member's part.
        len: usize,
        /// The member's number in the team.
        root: Pe,
        /// Whether dest is a part of the source.
        in_place: bool,
    },
    /// A collective that folds.
    Fold {
        /// Which one.
        kind: Kind,
        /// The reduction's operation, which the type must have.
        op: Op,
        /// Elements of the result.
        len: usize,
        /// Whether dest lies in source.
        in_place: bool,
    },
    /// Put and get of one element, and signals.
    Elements,
    /// Put and get in all forms, with and without a signal.
    OneSided {
        /// Elements of the buffers.
        len: usize,
    },
    /// The strided forms.
    Strided {
        /// Strides of dest and source, elements of a block.
        strides: (isize, isize, usize),
        /// Blocks.
        count: usize,
    },
}

/// An element type whose scenarios are compiled in this package, and not again in each program that runs them.
pub trait Scenarios: Value {
    /// Runs a scenario. Collective over the context's team.
    fn run(c: &mut Context<'_, Self>, scenario: Scenario) -> Result<()>;
}

macro_rules! scenarios {
    ([] $([$variant:ident $number:literal $name:literal $bytes:literal $t:ty, $kind:ident, $doc:literal])*) => { $(
        impl Scenarios for $t {
            fn run(c: &mut Context<'_, $t>, scenario: Scenario) -> Result<()> {
                run(c, scenario)
            }
        }
    )* };
}
nvshmemrs::with_dtypes!(scenarios);

fn run<T: Value>(c: &mut Context<'_, T>, scenario: Scenario) -> Result<()> {
    match scenario {
        Scenario::Barriers => collectives::barriers(c),
        Scenario::Broadcast {
            len,
            root,
            in_place,
        } => collectives::broadcast(c, len, root, in_place),
        Scenario::Fcollect { len, in_place } => collectives::fcollect(c, len, in_place),
        Scenario::Collect { len } => collectives::collect(c, len),
        Scenario::Alltoall { len, in_place } => collectives::alltoall(c, len, in_place),
        Scenario::Alltoalls { len, strides } => collectives::alltoalls(c, len, strides),
        Scenario::Gather {
            len,
            root,
            in_place,
        } => collectives::gather(c, len, root, in_place),
        Scenario::Scatter {
            len,
            root,
            in_place,
        } => collectives::scatter(c, len, root, in_place),
        Scenario::Fold {
            kind,
            op,
            len,
            in_place,
        } => reductions::run(c, kind, op, len, in_place),
        Scenario::Elements => rma::elements(c),
        Scenario::OneSided { len } => rma::all(c, len),
        Scenario::Strided { strides, count } => rma::strided(c, strides, count),
    }
}
