//! Findings as people read them.

use super::*;
use crate::report::{AccessInfo, Finding, FindingPlace};

/// The text with the lines of this file named by number from `first` on.
fn lines(text: &str, first: u32) -> String {
    let here = format!("{}:", file!());
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(&here) {
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let line: u32 = after[..digits].parse().unwrap();
        out += before;
        out += &format!("heat.c:{}", line - first);
        rest = &after[digits..];
    }
    out + rest
}

#[test]
fn a_missing_fence_reads_well() {
    job!(job: a, b);
    let first = line!();
    a.allocated(0, 4096);
    b.allocated(0, 4096);
    a.allocated(FLAG, 64);
    b.allocated(FLAG, 64);
    a.put(1, 0x400, 64);
    a.p(1, FLAG, 1);
    b.wait_begins(FLAG, Cmp::Eq, 1);
    b.wait_over(FLAG, Cmp::Eq, 1);
    b.get(1, 0x400, 64);
    let text = job.one(1, Problem::ReadEarly);
    assert_eq!(
        lines(&text, first),
        "\
nvshmemrs check: PE 1: data is read that may not have arrived: nothing orders the put of PE 0 before the get of PE 1
  PE 1 reads 64 bytes: get at heat.c:9
  PE 0 writes 64 bytes: put at heat.c:5
  where: on PE 1, from byte 0x400 on of the block of 4096 bytes of malloc at heat.c:2
  why: PE 1 saw the flag of p at heat.c:6, in wait_until at heat.c:8, but the put comes after the p, or there is no fence between them
  remedy: put, fence, p, in this order; or put_signal
  (finding 1 of PE 1; seed 1234)
"
    );
}

#[test]
fn the_words_do_not_depend_on_who_came_second() {
    let words = |read_first: bool| {
        job!(job: a, b);
        if read_first {
            b.load(DATA, 64);
        }
        a.put(1, DATA, 64);
        if !read_first {
            b.load(DATA, 64);
        }
        let finder = if read_first { a } else { b };
        let text = finder.tracker().reports().remove(0);
        let (_, title) = text.split_once("PE ").unwrap();
        let (_, title) = title.split_once(": ").unwrap();
        let title = title.lines().next().unwrap();
        let remedy = text.lines().find(|line| line.contains("remedy: "));
        (title.to_string(), remedy.map(str::to_string))
    };
    assert_eq!(words(true), words(false));
    assert_eq!(
        words(true).0,
        "one place is read and written: nothing orders the load of PE 1 and the put of PE 0"
    );
}

#[test]
fn a_missed_value_reads_well() {
    job!(job: a, b);
    let first = line!();
    b.wait_begins(FLAG, Cmp::Eq, 1);
    a.signal(1, FLAG, Effect::Add(1));
    a.signal(1, FLAG, Effect::Add(1));
    let text = job.one(0, Problem::Missed);
    assert_eq!(
        lines(&text, first),
        "\
nvshmemrs check: PE 0: a wait can miss its value: another value can replace it before the wait sees it
  PE 0 replaces 8 bytes: signal_op at heat.c:3
  PE 1 waits for 8 bytes: wait_until at heat.c:1
  where: on PE 1, from byte 0x2000 of the symmetric heap on
  why: PE 1 waits until it is == 1; 1 is, but PE 0 makes it 2, and nothing orders that after the wait
  remedy: a comparison that later values satisfy, too (>=), or a signal from the waiting PE, for which the writer waits before it writes again
  (finding 1 of PE 0; seed 1234)
"
    );
}

#[test]
fn a_pair_of_sites_is_reported_once_and_counted() {
    job!(job: a, b, c);
    for round in 0..10 {
        // Two PEs read data that PE 0 writes; on PE 1 it is one pair of sites, for any receiver.
        for at in [b, c] {
            a.put(at.me, DATA + 64 * round, 64);
        }
        for at in [b, c] {
            at.load(DATA + 64 * round, 64);
        }
    }
    assert_eq!(
        job.found(),
        [(1, Problem::ReadEarly), (2, Problem::ReadEarly)]
    );
    assert_eq!(
        b.tracker().summary().unwrap(),
        "nvshmemrs check: PE 1: finding 1 was made 10 times\n"
    );
    assert_eq!(a.tracker().summary(), None);
    assert_eq!((a.tracker().findings(), b.tracker().findings()), (0, 1));
    // The other PE's is the same problem.
    assert_eq!(a.tracker().job_findings(), 1);
    assert_eq!(b.tracker().reports().len(), 1);
}

#[test]
fn other_pes_at_the_same_place_are_the_same_finding() {
    let job = Job::new(4);
    let pes: [At<'_>; 4] = job.pes();
    for at in &pes[1..] {
        at.put(0, DATA, 64 * at.me as u64);
    }
    pes[0].load(DATA, 64);
    pes[0].load(DATA + 64, 128);
    let loads = |problem: &&(Pe, Problem)| problem.0 == 0;
    assert_eq!(job.found().iter().filter(loads).count(), 2);
    let texts = pes[0].tracker().reports();
    assert!(
        texts[1].contains("(finding 2 of PE 0; seed 1234)"),
        "{texts:?}"
    );
}

#[test]
fn findings_of_others_are_told_in_the_same_way() {
    job!(job: a);
    let party = |does, bytes, operation| AccessInfo {
        pe: 0,
        does,
        bytes,
        site: a.here(operation),
    };
    let finding = Finding {
        problem: Problem::SourceReused,
        place: FindingPlace::Private { address: 0x1000 },
        now: party("notices", 0, "quiet"),
        other: party("reads", 64, "put_nbi"),
        why: String::new(),
        remedy: String::new(),
        unordered: false,
    };
    assert!(a.tracker().found(finding.clone()));
    assert!(!a.tracker().found(finding));
    let text = &a.tracker().reports()[0];
    let wanted = [
        "PE 0: the source of a put_nbi was changed before quiet\n",
        "  PE 0 notices: quiet at ",
        "  PE 0 reads 64 bytes: put_nbi at ",
        "  where: private memory of PE 0, at address 0x1000\n",
        "  remedy: quiet before the source is changed, or put\n",
    ];
    for part in wanted {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn texts_are_kept_and_the_oldest_go() {
    job!(job: a, b);
    for index in 0..300_u16 {
        a.tracker()
            .access(Kind::Put, 1, 64 * u64::from(index), 8, 1 + index);
        b.tracker()
            .area
            .set_name(0, 1 + index, &format!("put at line {index}"));
        b.tracker()
            .access(Kind::Load, 1, 64 * u64::from(index), 8, 1 + index);
    }
    let texts = b.tracker().reports();
    assert_eq!((texts.len(), b.tracker().findings()), (100, 300));
    assert!(texts[0].contains("put at line 200") && texts[99].contains("put at line 299"));
}

#[test]
fn names_of_sites_travel() {
    job!(job: a, b);
    let area = &b.tracker().area;
    let long = "put at ".to_string() + &"a/".repeat(300);
    a.tracker().area.set_name(0, 4095, &long);
    assert_eq!(area.name(0, 4095).unwrap(), long[..248]);
    assert_eq!(area.name(0, 4094), None);
    area.set_frees(0, 4095);
    assert_eq!(area.name(0, 4095).unwrap(), long[..248]);
    assert!(area.frees(0, 4095) && !area.frees(0, 4094));
}
