//! iput, iget and their block forms against a plain model, with arguments that are often wrong.

#[path = "common/pool.rs"]
mod pool;

use nvshmemrs::{Pe, Result, Runtime, SymArray, Team, Transfer};
use pool::Plan;
use proptest::prelude::*;

/// Bytes of the symmetric array.
const LEN: usize = 6000;

#[derive(Clone, Debug)]
struct Case {
    dst: isize,
    sst: isize,
    element: usize,
    block: usize,
    count: usize,
    /// Where the symmetric side begins, in bytes from the array's start.
    offset: usize,
    pe: Pe,
    seed: u8,
}

fn cases(n: Pe) -> impl Strategy<Value = Case> {
    let stride = || prop_oneof![20 => -9..10isize, 1 => Just(isize::MAX), 1 => Just(isize::MIN), 1 => -999..999isize];
    let size = |usual: usize| prop_oneof![20 => 0..usual, 1 => Just(usize::MAX), 1 => Just(usize::MAX / 2 + 1)];
    let element = prop_oneof![10 => prop_oneof![Just(1usize), Just(2), Just(4), Just(8), Just(16), Just(3)], 1 => size(2)];
    let pe = prop_oneof![20 => 0..n, 1 => Just(n), 1 => Just(-1)];
    (
        stride(),
        stride(),
        element,
        size(6),
        size(60),
        0..LEN + 40,
        pe,
        any::<u8>(),
    )
        .prop_map(|(dst, sst, element, block, count, offset, pe, seed)| Case {
            dst,
            sst,
            element,
            block,
            count,
            offset,
            pe,
            seed,
        })
}

/// One side of a transfer, in wide arithmetic: where each block begins from the lowest, and the bytes from the lowest block's start to the
/// highest one's end. `None` if that is beyond any memory.
fn side(case: &Case, stride: isize) -> Option<(Vec<usize>, usize)> {
    let (element, block, count) = (case.element as i128, case.block as i128, case.count as i128);
    if block == 0 || count == 0 {
        return Some((Vec::new(), 0));
    }
    let step = (stride as i128).checked_mul(element)?;
    let span = step
        .abs()
        .checked_mul(count - 1)?
        .checked_add(block.checked_mul(element)?)?;
    if span > 1 << 30 || count > 1 << 30 {
        return None;
    }
    let lowest = if step < 0 { step * (count - 1) } else { 0 };
    let starts = (0..count)
        .map(|index| (index * step - lowest) as usize)
        .collect();
    Some((starts, span as usize))
}

struct State {
    array: SymArray<u8>,
}

fn pattern(seed: u8, pe: Pe, len: usize) -> Vec<u8> {
    (0..len)
        .map(|index| (index as u8).wrapping_mul(31) ^ seed ^ (pe as u8) << 5)
        .collect()
}

fn run(rt: &Runtime, state: &mut State, case: &Case) {
    let (me, n) = (rt.my_pe(), rt.n_pes());
    // Each PE uses the case's PE from its own place on, so all are used at once.
    let pe = if (0..n).contains(&case.pe) {
        (case.pe + me) % n
    } else {
        case.pe
    };
    let writer = (me - case.pe).rem_euclid(n);
    let (dest, source) = (side(case, case.dst), side(case, case.sst));
    let block = case.block.saturating_mul(case.element);
    let apart = |starts: &Vec<usize>| {
        starts
            .windows(2)
            .all(|pair| pair[0].abs_diff(pair[1]) >= block)
    };
    let sound = dest.as_ref().is_some_and(|(starts, _)| apart(starts))
        && source.is_some()
        && case.element > 0;
    let transfer = Transfer::new(case.dst, case.sst, case.element, case.block, case.count);
    if !sound {
        // Nothing to transfer may be said with any strides and sizes; all else must be refused.
        let nothing = case.element > 0 && (case.block == 0 || case.count == 0);
        assert!(transfer.is_err() || nothing, "{case:?} was accepted");
        return;
    }
    let nothing = case.block == 0 || case.count == 0;
    let transfer = match transfer {
        Ok(transfer) => transfer,
        // Sizes that fit nothing may be refused even if there is nothing to transfer.
        Err(error) => {
            assert!(nothing, "{case:?}: {error}");
            return;
        }
    };
    let ((to, to_span), (from, from_span)) = (dest.expect("sound"), source.expect("sound"));
    assert_eq!(
        (transfer.dest().span(), transfer.source().span()),
        (to_span as u64, from_span as u64),
        "{case:?}"
    );
    if to_span > 1 << 20 || from_span > 1 << 20 {
        return;
    }
    let model = |source: &[u8], dest: &mut [u8]| {
        for (to, from) in to.iter().zip(&from) {
            dest[*to..*to + block].copy_from_slice(&source[*from..*from + block]);
        }
    };
    let base = state.array.as_ptr() as u64 + case.offset as u64;
    let fits = |span: usize| span == 0 || case.offset + span <= LEN;
    let pe_fits = (0..n).contains(&case.pe);
    let before = pattern(case.seed, me, LEN);

    // Put.
    state.array.write(0, &before).unwrap();
    rt.barrier(Team::WORLD).unwrap();
    let local = pattern(!case.seed, me, from_span);
    let result = rt.put_blocks(base, &local, &transfer, pe);
    assert_eq!(
        result.is_ok(),
        pe_fits && fits(to_span),
        "{case:?}: {result:?}"
    );
    rt.barrier(Team::WORLD).unwrap();
    let mut expected = before.clone();
    if result.is_ok() && to_span > 0 {
        let theirs = pattern(!case.seed, writer, from_span);
        model(&theirs, &mut expected[case.offset..case.offset + to_span]);
    }
    assert_eq!(state.array.to_vec().unwrap(), expected, "{case:?}");
    rt.barrier(Team::WORLD).unwrap();

    // Get.
    state.array.write(0, &before).unwrap();
    rt.barrier(Team::WORLD).unwrap();
    let mut seen = vec![0xee; to_span];
    let mut expected = seen.clone();
    let result = rt.get_blocks(&mut seen, base, &transfer, pe);
    assert_eq!(
        result.is_ok(),
        pe_fits && fits(from_span),
        "{case:?}: {result:?}"
    );
    if result.is_ok() && from_span > 0 {
        let theirs = pattern(case.seed, pe, LEN);
        model(&theirs[case.offset..case.offset + from_span], &mut expected);
    }
    assert_eq!(seen, expected, "{case:?}");
    rt.barrier(Team::WORLD).unwrap();
}

#[test]
fn agree_with_the_model() {
    let setup = |rt: &Runtime| -> Result<State> {
        Ok(State {
            array: rt.array(LEN)?,
        })
    };
    pool::check(
        "strided",
        &[1, 2, 3],
        pool::share(25),
        Plan { setup, body: run },
        cases,
    );
}
