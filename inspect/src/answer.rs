//! Reads the answer of a PE's library as values.

use crate::values::{Details, Team};
use nvshmemrs::board::StatusAnswer;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A PE's answer. Fields that another version of the library adds are ignored.
#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(flatten)]
    details: Details,
    teams: Vec<Membership>,
}

/// The version of the library, which is read even if the rest of an answer is not understood.
#[derive(Deserialize)]
struct Version {
    library: String,
}

/// A team that a PE is a member of.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Membership {
    number: u32,
    name: String,
    n_pes: i32,
    start: i32,
    stride: i32,
    list: Option<Vec<i32>>,
    place: Option<String>,
}

/// Reads the report of a PE; the error is a text.
pub(crate) fn read(told: &StatusAnswer) -> Result<(Details, Vec<Membership>), String> {
    let answer: Answer = serde_json::from_slice(&told.text).map_err(|why| {
        let ours = env!("CARGO_PKG_VERSION");
        match serde_json::from_slice::<Version>(&told.text) {
            Ok(Version { library }) if library != ours => format!(
                "it runs nvshmemrs {library}, whose answer this nvshmemrs {ours} does not understand: {why}"
            ),
            _ => format!("its answer makes no sense: {why}"),
        }
    })?;
    let details = Details {
        age: told.age.as_secs_f64(),
        fresh: told.fresh,
        ..answer.details
    };
    Ok((details, answer.teams))
}

impl Membership {
    /// The members, in a job of `n_pes` PEs; none if they are invalid.
    fn members(&self, n_pes: i32) -> Option<Vec<i32>> {
        let is_pe = |pe: &i32| (0..n_pes).contains(pe);
        if !(1..=n_pes).contains(&self.n_pes) {
            return None;
        }
        let members: Vec<i32> = match &self.list {
            Some(list) => list.clone(),
            None => (0..self.n_pes)
                .map(|member| self.start.wrapping_add(member.wrapping_mul(self.stride)))
                .collect(),
        };
        let right = members.len() == self.n_pes as usize && members.iter().all(is_pe);
        right.then_some(members)
    }
}

/// A key that differs for teams with the same number.
type Key = (u32, i32, i32, i32, Option<Vec<i32>>);

/// The teams in the reports of some PEs of a job of `n_pes`. `collectives` gives the number of collectives that a PE has begun on a team.
pub(crate) fn teams(
    told: impl Iterator<Item = Membership>,
    n_pes: i32,
    collectives: impl Fn(u32, i32) -> u64,
) -> Vec<Team> {
    let mut all: BTreeMap<Key, Membership> = BTreeMap::new();
    for one in told {
        // The distance of a single member has no meaning.
        let stride = if one.n_pes > 1 { one.stride } else { 0 };
        let key = (one.number, one.start, stride, one.n_pes, one.list.clone());
        let known = all.entry(key).or_insert_with(|| one.clone());
        if known.place.is_none() {
            known.place = one.place;
        }
    }
    let team = |team: Membership| {
        let members = team.members(n_pes)?;
        Some(Team {
            number: team.number,
            collectives: members
                .iter()
                .map(|&pe| collectives(team.number, pe))
                .collect(),
            members,
            name: team.name,
            place: team.place,
        })
    };
    all.into_values().filter_map(team).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn told(text: &str) -> StatusAnswer {
        StatusAnswer {
            text: text.as_bytes().to_vec(),
            age: Duration::ZERO,
            fresh: true,
        }
    }

    #[test]
    fn an_answer_that_is_not_understood_names_both_versions() {
        let why = read(&told(r#"{"library": "7.8.9", "heaps": []}"#)).unwrap_err();
        assert!(why.contains("nvshmemrs 7.8.9"), "{why}");
        assert!(
            why.contains(&format!("nvshmemrs {}", env!("CARGO_PKG_VERSION"))),
            "{why}"
        );
        for text in ["", "{", "[1]", "\u{0}"] {
            let why = read(&told(text)).unwrap_err();
            assert!(why.contains("makes no sense"), "{why}");
        }
    }

    #[test]
    fn members_with_one_team_give_one_value() {
        let member =
            |number, start, n_pes, list: Option<Vec<i32>>, place: Option<&str>| Membership {
                number,
                name: "a team".into(),
                n_pes,
                start,
                stride: 2,
                list,
                place: place.map(str::to_string),
            };
        let told = [
            member(6, 0, 2, None, None),
            member(6, 0, 2, None, Some("here")),
            member(6, 1, 2, None, None),
            member(7, 0, 3, Some(vec![3, 0, 2]), None),
            // Invalid in a job of 4 PEs.
            member(8, 2, 2, None, None),
            member(9, 0, 5, None, None),
            member(9, 0, 2, Some(vec![1]), None),
            member(9, i32::MAX, 2, None, None),
        ];
        let teams = teams(told.into_iter(), 4, |number, pe| {
            u64::from(number) * 10 + pe as u64
        });
        let members: Vec<_> = teams.iter().map(|team| team.members.clone()).collect();
        assert_eq!(members, [vec![0, 2], vec![1, 3], vec![3, 0, 2]]);
        assert_eq!(teams[0].place.as_deref(), Some("here"));
        assert_eq!(teams[2].collectives, [73, 70, 72]);
    }
}
