//! Members that call a collective wrongly. `collectives_model.rs` and `tests/conformance/suite` have the results.

use nvshmemrs::{Dtype, Error, Op, Symmetric, Team, local};

#[test]
fn wrong_arguments_of_one_member_reach_all_and_nothing_is_written() {
    local::run(3, |rt| {
        let me = rt.my_pe();
        let source = rt.array::<i32>(1000)?;
        let dest = rt.array::<i32>(1000)?;
        source.write(0, &[1; 1000])?;
        dest.write(0, &[-7; 1000])?;
        rt.barrier_all()?;
        let (to, from) = (dest.as_ptr() as u64, source.as_ptr() as u64);
        let (int, sum) = (Dtype::Int32 as i32, Op::Sum as i32);
        let stack = &raw const me as u64;
        // The call of PE 1 instead, its status, the status of the others.
        type Call<'a> = Box<dyn Fn() -> nvshmemrs::Result<()> + 'a>;
        #[rustfmt::skip]
        let cases: Vec<(&str, Call<'_>, i32, i32)> = vec![
            ("count", Box::new(|| rt.reduce(Team::WORLD, to, from, 999, int, sum)), 14, 14),
            ("dtype", Box::new(|| rt.reduce(Team::WORLD, to, from, 1000, Dtype::Float as i32, sum)), 14, 14),
            ("op", Box::new(|| rt.reduce(Team::WORLD, to, from, 1000, int, Op::Max as i32)), 14, 14),
            ("addresses", Box::new(|| rt.reduce(Team::WORLD, from, to, 1000, int, sum)), 14, 14),
            ("other collective", Box::new(|| rt.barrier(Team::WORLD)), 14, 14),
            ("broadcast instead", Box::new(|| rt.broadcast(Team::WORLD, to, from, 4000, 0)), 14, 14),
            ("bad dtype", Box::new(|| rt.reduce(Team::WORLD, to, from, 1000, 99, sum)), 1, 24),
            ("bad op", Box::new(|| rt.reduce(Team::WORLD, to, from, 1000, int, 0)), 1, 24),
            ("too long", Box::new(|| rt.reduce(Team::WORLD, to, from, 1001, int, sum)), 13, 24),
            ("overflow", Box::new(|| rt.reduce(Team::WORLD, to, from, usize::MAX, int, sum)), 1, 24),
            ("not symmetric", Box::new(|| rt.reduce(Team::WORLD, stack, from, 1000, int, sum)), 4, 24),
            ("NULL", Box::new(|| rt.reduce(Team::WORLD, to, 0, 1000, int, sum)), 4, 24),
            ("overlap", Box::new(|| rt.reduce(Team::WORLD, to, to + 4, 999, int, sum)), 1, 24),
        ];
        for (what, wrong, own, others) in &cases {
            let result = if me == 1 {
                wrong()
            } else {
                rt.reduce(Team::WORLD, to, from, 1000, int, sum)
            };
            let error = result.expect_err(what);
            assert_eq!(
                error.status(),
                if me == 1 { *own } else { *others },
                "{what} on PE {me}: {error}"
            );
            assert!(
                error.to_string().contains("PE 1") || me == 1,
                "{what}: {error}"
            );
            if error.status() == 24 {
                let text = error.to_string();
                assert!(
                    text.contains("PE 1 reports: ") && text.contains("argument `"),
                    "{what}: {text}"
                );
            }
            rt.barrier_all()?;
            assert!(
                dest.to_vec()?.iter().all(|&value| value == -7),
                "{what}: the destination changed"
            );
        }
        drop(cases);
        // All alike wrong: every member gets its own error.
        for bad in [-1, 3, i32::MAX] {
            let error = rt.broadcast(Team::WORLD, to, from, 4000, bad).unwrap_err();
            assert_eq!(
                error,
                Error::PeRange {
                    argument: "root",
                    pe: bad.into(),
                    n_pes: 3
                }
            );
        }
        let lengths = rt
            .reduce_array(
                Team::WORLD,
                &dest.slice(0..5)?,
                &source.slice(0..6)?,
                Op::Sum,
            )
            .unwrap_err();
        assert!(
            lengths.to_string().contains("20 bytes") && lengths.to_string().contains("24 bytes"),
            "{lengths}"
        );
        // A handle that is no team cannot be met on: it fails at once, for its caller.
        assert_eq!(rt.barrier(Team::from_number(7)).unwrap_err().status(), 11);
        assert_eq!(
            rt.barrier(Team::from_number(u64::MAX))
                .unwrap_err()
                .status(),
            11
        );
        rt.reduce(Team::WORLD, to, from, 1000, int, sum)?;
        assert_eq!(dest.to_vec()?, [3; 1000]);
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn a_mismatch_says_who_does_what() {
    local::run(3, |rt| {
        let word = rt.array::<i64>(1)?;
        let result = match rt.my_pe() {
            2 => rt.reduce_array(Team::WORLD, &word.all(), &word.all(), Op::Sum),
            _ => rt.barrier_all(),
        };
        let text = result.unwrap_err().to_string();
        assert!(
            text.contains("PE 2 has called `reduce`") && text.contains("PE 0 has called `barrier`"),
            "{text}"
        );
        rt.finalize()
    })
    .unwrap();
}

#[test]
fn strides_that_lead_nowhere_may_be_of_any_size() {
    // Found by fuzzing: where there is at most one element, no step is taken, and none must be added up.
    local::run(1, |rt| {
        let array = rt.array::<u64>(2)?;
        array.store(0, 7)?;
        let (to, from) = (array.as_ptr() as u64 + 8, array.as_ptr() as u64);
        let far = isize::MAX;
        for (element, count) in [(8, 0), (8, 1)] {
            let (to, from) = (Symmetric::Address(to), Symmetric::Address(from));
            rt.alltoalls(Team::WORLD, to, from, far, far, element, count)?;
        }
        assert_eq!(array.load(1)?, 7);
        drop(array);
        rt.finalize()
    })
    .unwrap();
}
