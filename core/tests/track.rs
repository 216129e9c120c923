//! Objects that are not freed, in Rust: the list itself, and the output of finalize. The setting is read from the environment, so the program runs
//! itself again with it.

use nvshmemrs::{Request, Resource, Result, Team, TeamConfig, Unfreed, local};
use std::process::Command;

/// Runs the ignored test `name` of this program, and gives its standard error.
fn again(name: &str, track: &str) -> String {
    let program = std::env::current_exe().expect("this program has a place");
    let output = Command::new(program)
        .args(["--ignored", "--exact", "--nocapture", name])
        .env("NVSHMEMRS_TRACK", track)
        .output()
        .expect("this program can be run");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{out}\n{text}");
    assert!(out.contains("1 passed"), "{out}");
    text
}

/// Where the lines of `leaves_things` are, from its first line on.
const FIRST: u32 = line!() + 7;

#[test]
#[ignore = "run by the others"]
fn leaves_things() {
    local::run(3, |rt| {
        let me = rt.my_pe();
        let array = rt.array::<u64>(10)?;
        let bytes = rt.malloc(Ok(Request::bytes(1000)))?;
        let team = rt.team_split_strided(Team::WORLD, 2, -1, 3, Ok(TeamConfig::default()))?;
        let (stream, event) = (rt.stream()?, rt.event()?);
        let kept = (me == 2).then(|| rt.mapping());
        for number in 0..100 {
            let (gone, one) = (rt.event()?, rt.array::<u8>(number + 1)?);
            gone.record(&stream)?;
            rt.free_array(one)?;
        }
        let released = rt.array::<u8>(5)?;
        drop(released);
        // A recorded event lives until the stream has passed it.
        stream.synchronize()?;

        let list = rt.unfreed()?;
        let of = |resource| -> Vec<&Unfreed> {
            let all = list.iter();
            all.filter(|one| one.resource == resource).collect()
        };
        let at = |line: u32| format!("{}:{}", file!(), FIRST + line);
        let memory = of(Resource::Allocation);
        assert_eq!(memory.len(), 3, "{list:?}");
        for (one, bytes, start, line, is_released) in [
            (memory[0], 80, "array at ", 0, false),
            (memory[1], 1000, "malloc at ", 1, false),
            (memory[2], 5, "array at ", 10, true),
        ] {
            assert_eq!((one.bytes, one.released), (bytes, is_released), "{one:?}");
            let place = one.place.strip_prefix(start).expect(start);
            assert!(place.starts_with(&at(line)), "{place} is not {}", at(line));
        }
        assert_eq!(memory[0].number, array.all().range().offset());
        assert_eq!(of(Resource::Team)[0].number, team.map_or(0, Team::number));
        assert_eq!(of(Resource::Team).len(), 1);
        assert_eq!(of(Resource::Stream).len(), 1);
        assert_eq!(of(Resource::Event).len(), 1);
        assert_eq!(of(Resource::Mapping).len(), usize::from(me == 2));
        assert_eq!(of(Resource::Buffer), Vec::<&Unfreed>::new());

        // Resizing moves the entry along; freeing takes it away.
        let moved = rt.realloc(Ok(bytes.unwrap_or(0)), 100_000)?;
        let list = rt.unfreed()?;
        assert!(list.iter().any(|one| one.bytes == 100_000));
        assert!(!list.iter().any(|one| one.bytes == 1000), "{list:?}");
        rt.free(moved.unwrap_or(0))?;
        assert!(!rt.unfreed()?.iter().any(|one| one.bytes == 100_000));
        drop((event, kept));
        if me == 1 {
            std::mem::forget(array);
        }
        rt.finalize()
    })
    .unwrap();
}

#[test]
#[ignore = "run by the others"]
fn refuses_the_list() -> Result<()> {
    local::run(1, |rt| {
        assert_eq!(rt.unfreed().unwrap_err().status(), 3);
        rt.finalize()
    })
}

#[test]
fn the_list_says_what_where_and_whether_it_is_released() {
    let text = again("leaves_things", "1");
    let blocks: Vec<&str> = text.split("nvshmemrs track: ").skip(1).collect();
    assert_eq!(blocks.len(), 1, "{text}");
    // The team and the array are left, by all PEs alike; the array's own `Drop` runs after finalize.
    let start = "PEs 0 to 2: not freed at finalize: 1 allocation, 1 team, 1 stream; 80 bytes\n";
    assert!(blocks[0].starts_with(start), "{text}");
    assert!(text.contains(&format!("{}:{FIRST}", file!())), "{text}");
}

#[test]
fn without_the_setting_there_is_no_list() {
    for track in ["", "0"] {
        assert!(!again("refuses_the_list", track).contains("nvshmemrs"));
    }
}
