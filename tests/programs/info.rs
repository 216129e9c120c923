//! `nvshmemrs-info` shows settings and GPUs: with the stand-ins for the driver, NVRTC and NVML, and on a machine that has none of them.

use nvshmemrs::config::SETTINGS;
use nvshmemrs::config::nvshmem::{Effect, NVSHMEM};
use nvshmemrs::config::unknown::ELSEWHERE;
use nvshmemrs_tests::fakes::{driver_is_here, fakes, with_fakes};
use nvshmemrs_tests::{HANG, Output, bin, left_out, run};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// `nvshmemrs-info` with the stand-ins, images in `images` only, and these settings.
fn faked(images: &Path, args: &[&str], settings: &[(&str, &str)]) -> Output {
    let mut info = Command::new(bin("nvshmemrs-info"));
    with_fakes(&mut info)
        .args(args)
        .env("NVSHMEMRS_IMAGES", images)
        .env("XDG_CACHE_HOME", images.join("no cache"))
        .envs(settings.iter().copied());
    run(&mut info, HANG).succeeded()
}

fn empty() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn gpus(settings: &[(&str, &str)]) -> (Value, Value) {
    let folder = empty();
    let output = faked(folder.path(), &["--json"], settings);
    let mut report: Value = serde_json::from_str(&output.stdout).expect("JSON");
    (report["gpus"].take(), report["memory_kinds"][1].take())
}

fn missing(gpus: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a text").to_string();
    let all = gpus["missing"].as_array().expect("a list");
    all.iter()
        .map(|one| (text(&one["what"]), text(&one["why"])))
        .collect()
}

#[test]
fn gpus_links_and_kernels_are_told() {
    let (gpus, device) = gpus(&[
        ("FAKE_CUDA_UNREACHABLE", "3"),
        ("FAKE_CUDA_NO_ATOMICS", "1"),
    ]);
    assert_eq!(gpus["cuda"], "12.8");
    assert_eq!(gpus["driver"], "570.1.2");
    assert_eq!(device["offered"], true, "{device}");
    let devices = gpus["devices"].as_array().expect("a list");
    assert_eq!(devices.len(), 4);
    for (number, device) in devices.iter().enumerate() {
        let facts = &device["facts"];
        assert_eq!(device["ordinal"], number);
        assert_eq!(facts["name"], "Fake GPU");
        assert_eq!(
            facts["uuid"],
            format!("GPU-fa000000-0000-0000-0000-{number:012x}")
        );
        assert_eq!(facts["memory_bytes"], 384 << 20);
        assert_eq!(facts["capability"], "9.0");
        let kernels = facts["kernels"].as_str().expect("a text");
        assert!(
            kernels.contains("sm_90") && kernels.contains("NVRTC 12.8"),
            "{kernels}"
        );
    }
    let links = gpus["links"].as_array().expect("a list");
    assert_eq!(links.len(), 12);
    for link in links {
        let pair = [&link["from"], &link["to"]].map(|end| end.as_i64().expect("a number"));
        assert_ne!(pair[0], pair[1]);
        let together = pair[0] / 2 == pair[1] / 2;
        let way = if together {
            "NVLink"
        } else {
            "PCIe, host bridge"
        };
        assert_eq!(link["way"], way, "{link}");
        assert_eq!(link["access"], !pair.contains(&3), "{link}");
        let atomics = !pair.contains(&3) && !pair.contains(&1);
        assert_eq!(link["atomics"], atomics, "{link}");
    }
    let missing = missing(&gpus);
    let of = |what: &str| missing.iter().filter(|(of, _)| of == what).count();
    for pair in ["0 and 3", "1 and 3", "2 and 3", "0 and 1", "1 and 2"] {
        assert_eq!(of(&format!("a job on GPUs {pair}")), 1, "{missing:?}");
    }
    assert_eq!(missing.len(), 5, "{missing:?}");
}

#[test]
fn the_text_has_a_matrix() {
    let folder = empty();
    let output = faked(folder.path(), &[], &[("FAKE_CUDA_DEVICES", "3")]);
    let lines: Vec<&str> = output.stdout.lines().map(str::trim_end).collect();
    let words = |line: &str| {
        line.split("  ")
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    let head = lines.iter().position(|line| line.starts_with("  from"));
    let head = head.unwrap_or_else(|| panic!("no matrix\n{}", output.describe()));
    assert_eq!(
        words(lines[head + 1]),
        ["GPU 0", "itself", "NVLink", "PCIe, host bridge"]
    );
    assert_eq!(
        words(lines[head + 3]),
        ["GPU 2", "PCIe, host bridge", "PCIe, host bridge", "itself"]
    );
    output
        .assert_stdout("driver          570.1.2, for CUDA 12.8")
        .assert_stdout("device memory   yes");
    output.assert_no_stdout("missing for");
}

#[test]
fn what_no_job_can_use_is_told_with_the_remedy() {
    let (gpus, device) = gpus(&[("FAKE_CUDA_NO_VMM", "1"), ("FAKE_CUDA_DEVICES", "1")]);
    assert_eq!(gpus["devices"][0]["usable"], false);
    assert_eq!(device["offered"], false);
    let why = device["why"].as_str().expect("a text");
    assert!(
        why.contains("virtual memory management") && why.contains("NVSHMEMRS_MEMORY=host"),
        "{why}"
    );

    let (gpus, device) = self::gpus(&[("FAKE_CUDA_VERSION", "11040")]);
    assert!(gpus["cuda"].is_null() && device["offered"] == false);
    let why = &missing(&gpus)[0].1;
    assert!(
        why.contains("11.4") && why.contains("Install a newer driver"),
        "{why}"
    );

    let (gpus, device) = self::gpus(&[("FAKE_CUDA_DEVICES", "0")]);
    assert!(device["offered"] == false, "{device}");
    assert!(
        missing(&gpus)[0].1.contains("CUDA_VISIBLE_DEVICES"),
        "{gpus}"
    );
}

#[test]
fn links_without_nvml_are_told_as_far_as_the_driver_goes() {
    let (gpus, device) = gpus(&[("FAKE_NVML_BROKEN", "1"), ("FAKE_CUDA_DEVICES", "2")]);
    assert!(gpus["driver"].is_null() && device["offered"] == true);
    let links = gpus["links"].as_array().expect("a list");
    assert_eq!(links.len(), 2);
    assert!(
        links
            .iter()
            .all(|link| link["way"].is_null() && link["access"] == true)
    );
    let missing = missing(&gpus);
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(missing[0].1.contains("libnvidia-ml.so.1"), "{missing:?}");
}

#[test]
fn a_damaged_image_is_named() {
    let folder = empty();
    // Its name is that of an image of the kernels as they are: one that a job has left in its cache.
    let mut job = Command::new(env!("CARGO_BIN_EXE_device"));
    job.env("LD_LIBRARY_PATH", fakes())
        .env("NVSHMEMRS_IMAGES", folder.path().join("none"))
        .env("XDG_CACHE_HOME", folder.path())
        .env("NVSHMEMRS_MEMORY", "device")
        .env("DEVICE_MOST", "4096");
    run(&mut job, HANG).assert_success();
    let cache = folder.path().join("nvshmemrs");
    let gpus = |args: &[&str]| faked(&cache, args, &[("FAKE_CUDA_DEVICES", "1")]);
    gpus(&[]).assert_stdout(&format!("{}: sm_90", cache.display()));

    let mut images = std::fs::read_dir(&cache).expect("a folder");
    let image = images.next().expect("an image").expect("a file").path();
    std::fs::write(&image, "not an image").expect("cannot write");
    gpus(&[])
        .assert_stdout(&format!("{}: none", cache.display()))
        .assert_stdout(&format!("missing for the images in {}", cache.display()))
        .assert_stdout("damaged");
}

#[test]
fn without_a_driver_there_is_one_line() {
    if driver_is_here() {
        return left_out("this machine has a driver, so it cannot be missing");
    }
    let mut info = Command::new(bin("nvshmemrs-info"));
    let output = run(info.env_remove("LD_LIBRARY_PATH"), HANG).succeeded();
    let told = output.stdout.lines();
    let told: Vec<&str> = told.filter(|line| line.contains("libcuda")).collect();
    assert_eq!(told.len(), 1, "{}", output.describe());
    assert!(
        told[0].contains("device memory   no: ") && told[0].contains("install the driver"),
        "{}",
        told[0]
    );
    output.assert_no_stdout("\nGPUs");
}

/// `nvshmemrs-info` with these variables.
fn settings(args: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut info = Command::new(bin("nvshmemrs-info"));
    run(info.args(args).envs(variables.iter().copied()), HANG).succeeded()
}

const SET: [(&str, &str); 3] = [
    ("NVSHMEMRS_TIMOUT", "5"),
    ("NVSHMEM_REMOTE_TRANSPORT", "none"),
    ("NVSHMEM_PURPLE_ELEPHANT", "1"),
];

#[test]
fn names_that_nothing_reads_are_told_once() {
    let output = settings(&[], &SET);
    assert_eq!(output.stderr, "");
    output
        .assert_stdout("Set here, but read by nothing")
        .assert_stdout("NVSHMEMRS_TIMOUT: did you mean NVSHMEMRS_TIMEOUT?")
        .assert_stdout("NVSHMEM_PURPLE_ELEPHANT: no setting has a name like it");
    assert_eq!(output.stdout.matches("NVSHMEMRS_TIMOUT").count(), 1);
    let report: Value = serde_json::from_str(&settings(&["--json"], &SET).stdout).expect("JSON");
    assert_eq!(report["unknown"][0]["name"], "NVSHMEMRS_TIMOUT");
    assert_eq!(report["unknown"][0]["nearest"], "NVSHMEMRS_TIMEOUT");
    assert!(report["unknown"][1]["nearest"].is_null());
    let clean = nvshmemrs_tests::info(&[]);
    clean.assert_no_stdout("read by nothing");
}

#[test]
fn what_nvshmems_settings_do_here_is_told() {
    let output = settings(&[], &SET);
    output.assert_stdout(
        "NVSHMEM_REMOTE_TRANSPORT  nothing: PEs of several hosts use MPI, whose own settings hold",
    );
    output.assert_no_stdout("NVSHMEM_NVTX");
    let all = settings(&["--settings"], &SET);
    for name in [
        "NVSHMEMRS_TIMEOUT",
        "NVSHMEM_NVTX",
        "NVSHMEM_IBGDA_NUM_DCI",
        "NVSHMEM_GPUNETIO_*",
    ] {
        all.assert_stdout(name);
    }
    let report = settings(&["--settings", "--json"], &SET).stdout;
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let theirs = report["nvshmem"].as_array().expect("a list");
    let of = |name: &str| {
        theirs
            .iter()
            .find(|one| one["name"] == name)
            .expect("the setting")
    };
    assert_eq!(of("NVSHMEM_SYMMETRIC_SIZE")["here"], "the same");
    assert_eq!(of("NVSHMEM_DEBUG")["here"], "something else");
    assert_eq!(
        of("NVSHMEM_REMOTE_TRANSPORT")["set"][0],
        "NVSHMEM_REMOTE_TRANSPORT"
    );
}

/// The page has the same tables as the program.
#[test]
fn the_page_of_settings_says_what_the_program_says() {
    let page = nvshmemrs_tests::workspace().join("docs/settings.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let own = SETTINGS.iter().map(|one| {
        let default = if one.default.is_empty() {
            ""
        } else {
            one.default
        };
        format!("| `{}` | {default} | {} |", one.name, one.help)
    });
    let theirs = NVSHMEM.iter().map(|row| {
        let names: Vec<String> = row.names().map(|name| format!("`{name}`")).collect();
        let here = match row.here {
            Effect::Same => "the same",
            Effect::Otherwise => "something else",
            Effect::Nothing => "nothing",
        };
        format!(
            "| {} | {} | {here}: {} |",
            names.join(", "),
            row.meaning,
            row.why
        )
    });
    let elsewhere = ELSEWHERE
        .iter()
        .map(|(name, what)| format!("| `{name}` | {what} |"));
    let rows: Vec<String> = own.chain(theirs).chain(elsewhere).collect();
    let missing: Vec<&String> = rows.iter().filter(|row| !page.contains(*row)).collect();
    assert!(missing.is_empty(), "docs/settings.md lacks {missing:#?}");
    let names = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(
        names,
        rows.len(),
        "docs/settings.md has rows that the program does not have"
    );
}
