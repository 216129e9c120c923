//! The list of unfreed objects as text, which finalize writes to standard error.

use super::{Resource, Unfreed};
use std::collections::BTreeMap;

impl Resource {
    /// "1 allocation", "2 teams".
    fn count(self, count: usize) -> String {
        let name = match self {
            Resource::Allocation => "allocation",
            Resource::Buffer => "registered buffer",
            Resource::Team => "team",
            Resource::Stream => "stream",
            Resource::Event => "event",
            Resource::Mapping => "kept heap",
        };
        format!("{count} {name}{}", if count == 1 { "" } else { "s" })
    }

    /// "64 bytes", of an object with a size.
    fn bytes(self, bytes: u64) -> String {
        match self {
            Resource::Allocation | Resource::Buffer => format!("{bytes} bytes"),
            _ => String::new(),
        }
    }

    /// The name of the resource's number, if the number is useful to a reader.
    fn numbered(self) -> Option<&'static str> {
        match self {
            Resource::Allocation | Resource::Buffer => Some("offset"),
            Resource::Team => Some("number"),
            Resource::Stream | Resource::Event | Resource::Mapping => None,
        }
    }
}

/// FNV-1a: the PEs of a job must come to the same number. Never 0, which says that there is no text.
pub fn digest(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash.max(1)
}

/// The text of a list of unfreed objects.
pub struct Report {
    title: String,
    pub lines: Vec<String>,
}

/// Things of a kind that were made at one place.
#[derive(Default)]
struct Sum {
    count: usize,
    bytes: u64,
    numbers: Vec<u64>,
}

impl Sum {
    fn add(&mut self, unfreed: &Unfreed) {
        self.count += 1;
        self.bytes += unfreed.bytes;
        self.numbers.push(unfreed.number);
    }
}

/// Most numbers that are shown of the objects made at one place.
const SHOWN: usize = 3;

impl Report {
    /// The largest first, with one line for all objects made at one place.
    pub fn new(unfreed: &[Unfreed]) -> Report {
        let mut sums = BTreeMap::<(Resource, &str), Sum>::new();
        let mut kinds = BTreeMap::<Resource, usize>::new();
        let (mut all, mut released) = (Sum::default(), Sum::default());
        for one in unfreed {
            if one.released {
                released.add(one);
                continue;
            }
            // A heap is kept to outlive finalize.
            if one.resource != Resource::Mapping {
                all.add(one);
                *kinds.entry(one.resource).or_default() += 1;
            }
            let key = (one.resource, one.place.as_str());
            sums.entry(key).or_default().add(one);
        }
        let title = match all.count {
            0 => "everything is freed".to_string(),
            _ => {
                let kinds = kinds.iter().map(|(kind, &count)| kind.count(count));
                let kinds = kinds.collect::<Vec<_>>().join(", ");
                format!("not freed at finalize: {kinds}; {} bytes", all.bytes)
            }
        };
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|((resource, _), sum)| (std::cmp::Reverse(sum.bytes), *resource));
        let line = |((resource, place), sum): ((Resource, &str), Sum)| {
            let what = resource.count(sum.count)
                + &numbers(resource, &sum.numbers)
                + match resource {
                    Resource::Mapping => ", no leak: it outlives finalize",
                    _ => "",
                };
            format!("{:>20}  {what:<44}  {place}", resource.bytes(sum.bytes))
        };
        let mut lines: Vec<String> = sums.into_iter().map(line).collect();
        if released.count > 0 {
            let kind = Resource::Allocation;
            let (bytes, what) = (kind.bytes(released.bytes), kind.count(released.count));
            lines.push(format!(
                "{bytes:>20}  {what}, no leak: released by a finalizer here, not collected yet"
            ));
        }
        Report { title, lines }
    }

    /// All of it.
    pub fn whole(&self) -> String {
        self.without(&[])
    }

    /// All but the lines whose digests are in `written`, which PE 0 has written.
    pub fn without(&self, written: &[u64]) -> String {
        let is_new = |line: &&String| !written.contains(&digest(line));
        let new: Vec<&str> = self
            .lines
            .iter()
            .filter(is_new)
            .map(String::as_str)
            .collect();
        let old = match self.lines.len() - new.len() {
            0 => String::new(),
            1 => "; 1 line as on PE 0".to_string(),
            old => format!("; {old} lines as on PE 0"),
        };
        let more = if old.is_empty() || new.is_empty() {
            ""
        } else {
            ", and"
        };
        [&[&*format!("{}{old}{more}", self.title)], &new[..]]
            .concat()
            .join("\n")
            + "\n"
    }
}

/// ", offsets 0x40, 0x80 and 5 more".
fn numbers(resource: Resource, numbers: &[u64]) -> String {
    let Some(name) = resource.numbered() else {
        return String::new();
    };
    let shown = numbers.iter().take(SHOWN).map(|&number| match resource {
        // As errors call it, without the handle's generation.
        Resource::Team => (number & 0xffff_ffff).to_string(),
        _ => format!("{number:#x}"),
    });
    let shown = shown.collect::<Vec<_>>().join(", ");
    let plural = if numbers.len() == 1 { "" } else { "s" };
    match numbers.len().saturating_sub(SHOWN) {
        0 => format!(", {name}{plural} {shown}"),
        more => format!(", {name}{plural} {shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(resource: Resource, number: u64, bytes: u64, place: &str, released: bool) -> Unfreed {
        Unfreed {
            resource,
            number,
            bytes,
            place: place.to_string(),
            released,
        }
    }

    #[test]
    fn the_text_sums_up_places_and_sorts_by_size() {
        let list = [
            one(Resource::Allocation, 0, 100, "malloc at a.c:1 (f)", false),
            one(
                Resource::Allocation,
                0x80,
                4096,
                "calloc at a.c:2 (f)",
                false,
            ),
            one(
                Resource::Allocation,
                0x2000,
                100,
                "malloc at a.c:1 (f)",
                false,
            ),
            one(
                Resource::Allocation,
                0x3000,
                64,
                "array at b.py:7 (g)",
                true,
            ),
            one(Resource::Team, 9, 0, "team_split_2d at a.c:9 (f)", false),
        ];
        let text = Report::new(&list).whole();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "not freed at finalize: 3 allocations, 1 team; 4296 bytes"
        );
        let expected = [
            (
                "4096 bytes  1 allocation, offset 0x80 ",
                "calloc at a.c:2 (f)",
            ),
            (
                "200 bytes  2 allocations, offsets 0x0, 0x2000 ",
                "malloc at a.c:1 (f)",
            ),
            ("1 team, number 9 ", "team_split_2d at a.c:9 (f)"),
            (
                "64 bytes  1 allocation, no leak: released",
                "not collected yet",
            ),
        ];
        assert_eq!(lines.len(), 1 + expected.len());
        for (line, (start, end)) in lines[1..].iter().zip(expected) {
            let words = line.trim_start();
            assert!(words.starts_with(start) && words.ends_with(end), "{line}");
        }
    }

    #[test]
    fn what_is_all_freed_is_said_in_a_line() {
        assert_eq!(Report::new(&[]).whole(), "everything is freed\n");
        let many: Vec<Unfreed> = (0..9)
            .map(|number| one(Resource::Allocation, number * 64, 1, "malloc at x", false))
            .collect();
        assert!(
            Report::new(&many)
                .whole()
                .contains("offsets 0x0, 0x40, 0x80 and 6 more")
        );
    }

    #[test]
    fn lines_that_pe_0_has_written_are_left_out() {
        let list = |count: u64| {
            let team = |number| {
                one(
                    Resource::Team,
                    number,
                    0,
                    "team_split_2d at a.c:9 (f)",
                    false,
                )
            };
            let stream = one(Resource::Stream, 1, 0, "stream at a.c:8 (f)", false);
            Report::new(&[&[stream][..], &(0..count).map(team).collect::<Vec<_>>()].concat())
        };
        let (first, second) = (list(1), list(2));
        let written: Vec<u64> = first.lines.iter().map(|line| digest(line)).collect();
        let text = second.without(&written);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "not freed at finalize: 2 teams, 1 stream; 0 bytes; 1 line as on PE 0, and"
        );
        assert_eq!(lines.len(), 2);
        assert!(lines[1].contains("2 teams, numbers 0, 1 "), "{text}");
        assert!(first.without(&written).ends_with("; 2 lines as on PE 0\n"));
    }

    #[test]
    fn digests_tell_texts_apart() {
        assert_ne!(digest("a"), digest("b"));
        assert_ne!(digest(""), 0);
    }
}
