//! The tuning file and the multiprocessors of collectives, against the stand-in for libcuda, which reports the launches.

use nvshmemrs_tests::fakes::with_fakes;
use nvshmemrs_tests::{HANG, Output, bin, compile_c, launcher, program, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use tempfile::TempDir;

static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| compile_c(&program("device_tuning.c")));

fn sums(n: u32, settings: &[(&str, &str)]) -> Output {
    let mut command = launcher(n, &[]);
    with_fakes(&mut command)
        .arg(&*PROGRAM)
        .stdin(Stdio::null())
        .env("NVSHMEMRS_TIMEOUT", "30")
        .env("FAKE_CUDA_LAUNCHES", "1")
        .envs(settings.iter().copied());
    run(&mut command, HANG)
}

/// The blocks of the largest launch of a kernel whose name begins so; `None` if there was none.
fn blocks(output: &Output, kernel: &str) -> Option<u32> {
    let launches = output.stderr.lines().filter_map(|line| {
        let (_, launch) = line.split_once("fake CUDA: launch ")?;
        let (name, shape) = launch.split_once(' ')?;
        let (blocks, _) = shape.split_once(" x ")?;
        (name == kernel).then(|| blocks.parse::<u32>().expect("a number of blocks"))
    });
    launches.max()
}

const FLAGS: &str = "nvshmemrs_reduce_float_flags";
const LAMPORT: &str = "nvshmemrs_reduce_float_lamport";
const DIRECT: &str = "nvshmemrs_reduce_float";

fn scratch() -> TempDir {
    TempDir::new().expect("cannot make a folder")
}

/// A file with these rows for the GPUs of the stand-in and teams of up to `n_pes`.
fn file(folder: &Path, name: &str, n_pes: u32, rows: &[&str]) -> String {
    let text = format!(
        "{{\n  \"version\": 1,\n  \"tables\": [\n    {{\"gpu\": \"Fake GPU\", \"link\": \"nvlink\", \"n_pes\": {n_pes}, \"rows\": [\n{}\n    ]}}\n  ]\n}}\n",
        rows.join(",\n")
    );
    text_file(folder, name, &text)
}

fn text_file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("cannot write a file");
    path.display().to_string()
}

const ALL_DIRECT: &str =
    r#"{"collective": "reduce", "algorithm": "direct", "blocks": 2, "threads": 64}"#;
const IN_CHUNKS: &str =
    r#"{"collective": "reduce", "algorithm": "direct", "blocks": 2, "threads": 64, "chunk": 1024}"#;

/// Sums up to the limit of the row travel through the staging, and the others do not.
const UP_TO_64_K: &str = r#"{"collective": "reduce", "up_to": 65536, "algorithm": "lamport", "blocks": 2, "threads": 64}"#;

/// The algorithm is the file's, for teams of its size, and no bit of a sum depends on it.
#[test]
fn a_file_chooses_the_algorithm_and_no_result_changes() {
    let folder = scratch();
    let plain = sums(2, &[]).succeeded();
    assert!(blocks(&plain, FLAGS).is_some() && blocks(&plain, DIRECT).is_none());
    let files: [(&str, &[&str]); 3] = [
        ("direct", &[ALL_DIRECT]),
        ("chunks", &[IN_CHUNKS]),
        ("lamport", &[UP_TO_64_K, ALL_DIRECT]),
    ];
    for (name, rows) in files {
        let path = file(folder.path(), name, 2, rows);
        let tuned = sums(2, &[("NVSHMEMRS_TUNING_FILE", &path)]).succeeded();
        assert!(blocks(&tuned, DIRECT).is_some(), "{}", tuned.describe());
        assert!(blocks(&tuned, FLAGS).is_none(), "{}", tuned.describe());
        let staged = blocks(&tuned, LAMPORT).is_some();
        assert_eq!(staged, rows.len() == 2, "{}", tuned.describe());
        assert_eq!(tuned.stdout, plain.stdout);
        // Teams of three are another table's.
        let three = sums(3, &[("NVSHMEMRS_TUNING_FILE", &path)]).succeeded();
        assert!(blocks(&three, FLAGS).is_some(), "{}", three.describe());
    }
}

/// The user's file holds without a setting, NVSHMEM_DEBUG says so, and `none` leaves it out.
#[test]
fn the_users_file_is_found_and_can_be_left_out() {
    let folder = scratch();
    let own = folder.path().join("nvshmemrs");
    fs::create_dir(&own).expect("cannot make a folder");
    file(&own, "tuning.json", 2, &[ALL_DIRECT]);
    let config = folder.path().display().to_string();
    let user = [
        ("XDG_CONFIG_HOME", config.as_str()),
        ("NVSHMEM_DEBUG", "INFO"),
    ];
    let found = sums(2, &user).succeeded();
    assert!(blocks(&found, DIRECT).is_some(), "{}", found.describe());
    let words = "their algorithms are those of";
    assert_eq!(found.stderr.matches(words).count(), 1, "PE 0 says it");
    let without = sums(2, &[user[0], ("NVSHMEMRS_TUNING_FILE", "none")]).succeeded();
    assert!(blocks(&without, DIRECT).is_none(), "{}", without.describe());
}

/// The PEs would wait for each other for ever.
#[test]
fn pes_with_different_files_do_not_form_a_job() {
    let folder = scratch();
    let direct = file(folder.path(), "direct", 2, &[ALL_DIRECT]);
    let chunks = file(folder.path(), "chunks", 2, &[IN_CHUNKS]);
    for other in [&chunks, "none"] {
        let output = sums(
            2,
            &[("NVSHMEMRS_TUNING_FILE", &direct), ("OTHER_TUNING", other)],
        )
        .failed();
        output.assert_stderr("have different tuning files");
    }
    // Two files with the same text are as good as one.
    let copy = file(folder.path(), "copy", 2, &[ALL_DIRECT]);
    let same = [
        ("NVSHMEMRS_TUNING_FILE", direct.as_str()),
        ("OTHER_TUNING", copy.as_str()),
    ];
    sums(2, &same).assert_success();
}

/// The error names the file, the line and the mistake; the job does not begin.
#[test]
fn a_file_that_is_wrong_is_named_with_its_line() {
    let folder = scratch();
    let row = |name: &str, text: &str| file(folder.path(), name, 2, &[ALL_DIRECT, text]);
    let plain = |name: &str, text: &str| text_file(folder.path(), name, text);
    let cases = [
        (
            row("missing", "{\"collective\": \"reduce\"}"),
            "line 6: missing field",
        ),
        (row("no-json", "not JSON"), "line 6: "),
        (
            row(
                "zero",
                r#"{"collective": "fcollect", "algorithm": "direct", "blocks": 0, "threads": 64}"#,
            ),
            "line 6: `blocks` is 0, not a multiple of 1 from 1 to 128",
        ),
        (
            plain("newer", "{\"version\": 2}"),
            "line 1: its format has version 2",
        ),
        (plain("empty", ""), "line 1: "),
        ("/no/such/file".into(), "it cannot be read"),
        (folder.path().display().to_string(), "it cannot be read"),
    ];
    for (path, words) in cases {
        let output = sums(2, &[("NVSHMEMRS_TUNING_FILE", &path)]).failed();
        output.assert_stderr(&format!("the tuning file {path}: {words}"));
        output.assert_no_stdout("sums");
    }
}

/// The GPUs of the stand-in have four multiprocessors, of which one is left to others.
#[test]
fn a_collective_takes_as_many_multiprocessors_as_the_setting_says() {
    let folder = scratch();
    let row = r#"{"collective": "reduce", "algorithm": "direct", "blocks": 128, "threads": 64}"#;
    let path = file(folder.path(), "wide", 2, &[row]);
    let with = |settings: &[(&str, &str)]| {
        let common = [
            ("NVSHMEMRS_TUNING_FILE", path.as_str()),
            ("NVSHMEMRS_COLLECTIVES_AT_ONCE", "1"),
        ];
        sums(2, &[&common, settings].concat())
    };
    for (sms, expected) in [(None, 3), (Some("1"), 1), (Some("2"), 2), (Some("1024"), 3)] {
        let setting = sms.map(|sms| ("NVSHMEMRS_COLLECTIVE_SMS", sms));
        let output = with(setting.as_slice()).succeeded();
        assert_eq!(blocks(&output, DIRECT), Some(expected), "{sms:?}");
    }
    for wrong in ["0", "-1", "1025", "many"] {
        let output = with(&[("NVSHMEMRS_COLLECTIVE_SMS", wrong)]).failed();
        output.assert_stderr("NVSHMEMRS_COLLECTIVE_SMS");
    }
}

fn tune(args: &[&str]) -> Output {
    let mut command = Command::new(bin("nvshmemrs-perf"));
    with_fakes(&mut command).args(["--tune", "--rounds", "2", "--sizes", "8,2K"]);
    // It runs hundreds of kernels, whose PEs wait for each other, and takes ten times longer when other tests have the processors.
    run(command.args(args), 3 * HANG)
}

/// Every variant is run and checked, and the library accepts the file; its entries for other GPUs and numbers of PEs stay.
#[test]
fn the_tuner_writes_a_file_that_the_library_takes() {
    let folder = scratch();
    let path = file(folder.path(), "tuned", 5, &[ALL_DIRECT]);
    let output = tune(&["-n", "2,3", "--tune-file", &path]).succeeded();
    for words in ["Fake GPU, 2 PEs", "Fake GPU, 3 PEs", "broadcast"] {
        output.assert_stdout(words);
    }
    let text = fs::read_to_string(&path).expect("the tuner writes it");
    for n_pes in [5, 2, 3] {
        assert!(text.contains(&format!("\"n_pes\": {n_pes},")), "{text}");
    }
    for n in [2, 3, 4] {
        sums(n, &[("NVSHMEMRS_TUNING_FILE", &path)]).assert_success();
    }
}

/// Before it measures.
#[test]
fn the_tuner_leaves_a_file_that_it_cannot_read_as_it_is() {
    let folder = scratch();
    let path = text_file(folder.path(), "old", "{\"version\": 7}\n");
    let output = tune(&["--tune-file", &path]).failed();
    output.assert_stderr("line 1: its format has version 7");
    let text = fs::read_to_string(&path).expect("it is there");
    assert_eq!(text, "{\"version\": 7}\n");
}
