//! The teams that follow from where the PEs are: their members, and collectives on them, blocking and on a stream.

use super::attr;
use nvshmemrs::{Dtype, Op, Pe, Result, Runtime, SymArray, Team};

const TEAMS: [(&str, Team); 5] = [
    ("SHARED", Team::SHARED),
    ("NODE", Team::NODE),
    ("SAME_MYPE_NODE", Team::SAME_MYPE_NODE),
    ("SAME_GPU", Team::SAME_GPU),
    ("GPU_LEADERS", Team::GPU_LEADERS),
];

pub(super) fn all() -> Result<()> {
    let rt = Runtime::init_with(&attr(2))?;
    let me = rt.my_pe();
    let words: SymArray<i64> = rt.array(3)?;
    for (name, team) in TEAMS {
        let n = rt.team_n_pes(team)?;
        let pes: Result<Vec<Pe>> = (0..n)
            .map(|pe| rt.team_translate_pe(team, pe, Team::WORLD))
            .collect();
        let (pes, mine) = (pes?, rt.team_my_pe(team)?);
        let place = pes.iter().position(|&pe| pe == me);
        let place = place.map_or(-1, |place| place as Pe);
        assert_eq!(place, mine, "{name}: {pes:?}");
        if mine == -1 {
            outside(&rt, team)?;
            println!("PE {me}: {name} not a member");
        } else {
            used(&rt, team, &pes, &words)?;
            println!("PE {me}: {name} {pes:?}");
        }
        rt.barrier(Team::WORLD)?;
    }
    rt.free_array(words)?;
    rt.finalize()
}

/// The error of a PE that is no member.
fn outside(rt: &Runtime, team: Team) -> Result<()> {
    for refused in [
        rt.barrier(team).unwrap_err(),
        rt.team_config(team).unwrap_err(),
    ] {
        assert_eq!(refused.status(), 11, "{refused}");
        assert!(
            refused.to_string().contains("first PE of each GPU"),
            "{refused}"
        );
    }
    assert_eq!(rt.team_n_pes(team)?, -1);
    assert_eq!(rt.team_translate_pe(Team::WORLD, rt.my_pe(), team)?, -1);
    assert_eq!(rt.team_translate_pe(team, 0, Team::WORLD)?, -1);
    Ok(())
}

/// The members sum up a word of each.
fn used(rt: &Runtime, team: Team, pes: &[Pe], words: &SymArray<i64>) -> Result<()> {
    words.write(0, &[1 << rt.my_pe(), 0, 0])?;
    let source = words.slice(0..1)?.range();
    let (first, second) = (words.slice(1..2)?.range(), words.slice(2..3)?.range());
    let (dtype, op) = (Dtype::Int64 as i32, Op::Sum as i32);
    rt.reduce(team, first, source, 1, dtype, op)?;
    let stream = rt.stream()?;
    stream.submit(move |rt| rt.reduce(team, second, source, 1, dtype, op))?;
    stream.synchronize()?;
    rt.barrier(team)?;
    let expected = pes.iter().map(|pe| 1 << pe).sum::<i64>();
    assert_eq!(words.to_vec()?[1..], [expected; 2], "{pes:?}");
    Ok(())
}
