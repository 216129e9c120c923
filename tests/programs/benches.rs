//! The programs that measure a layer's cost, which no other test runs: they compile; and the comparison of GPUs' figures with targets.

use nvshmemrs_tests::compile::compile_as;
use nvshmemrs_tests::fakes::fakes;
use nvshmemrs_tests::{HANG, bin_dir, interpreter, run, workspace};
use std::fs;
use std::process::Command;

#[test]
fn the_bench_of_cxx_compiles() {
    let source = workspace().join("bindings/cpp/bench/layer.cpp");
    compile_as(&source, "bench-cxx", &["-O0", "-g0"]);
}

#[test]
fn the_bench_of_julia_in_c_compiles() {
    let source = workspace().join("perf/julia/cost.c");
    compile_as(&source, "bench-julia", &[]);
}

#[test]
fn the_bench_of_fortran_compiles() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let bench = workspace().join("bindings/fortran/bench");
    let object = folder.path().join("c_put.o");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-I"]);
    compiler.arg(workspace().join("include")).arg("-c");
    compiler.arg(bench.join("c_put.c")).arg("-o").arg(&object);
    run(&mut compiler, HANG).assert_success();
    let object = object.to_str().expect("a path in UTF-8");
    compile_as(&bench.join("put.f90"), "bench-fortran", &[object]);
}

/// `run-gpu-bench --python-kernels` in a bundle whose programs only print the output of real programs, with the stand-in for libcuda.
#[test]
fn kernels_in_python_are_judged_beside_their_peers() {
    let bundle = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| bundle.path().join(name);
    let write = |name: &str, text: &str| {
        fs::create_dir_all(at(name).parent().expect("a folder")).expect("a folder");
        fs::write(at(name), text).expect("a file");
    };
    fs::create_dir_all(at("share/nvshmemrs/bench")).expect("a folder");
    for (from, to) in [
        ("perf/gpu/run_gpu_bench.py", "run-gpu-bench"),
        (
            "perf/gpu/python_kernels.py",
            "share/nvshmemrs/bench/python_kernels.py",
        ),
        ("perf/gpu/rows.py", "share/nvshmemrs/bench/rows.py"),
    ] {
        fs::copy(workspace().join(from), at(to)).expect("a copy");
    }
    std::os::unix::fs::symlink(bin_dir(), at("bin")).expect("a link");
    write(
        "share/nvshmemrs/bench/import_time.py",
        "LANGUAGES = {'numba': ''}\nMOST = 0.2\ndef seconds(name, python, env): return 1.0, 0.3\n",
    );
    // Modules that the programs would need; CuPy is missing.
    for module in ["torch", "triton"] {
        write(&format!("python/{module}.py"), "");
    }
    let programs = "share/nvshmemrs/bench";
    write(
        &format!("{programs}/torch_peer.py"),
        "import json\n\
         for op, size, us in (('ping', 8, 20.0), ('send', 64 << 20, 300.0)):\n    \
         print(json.dumps({'op': op, 'bytes': size, 'how': 'stream', 'us': [us, us]}))\n",
    );
    write(
        &format!("{programs}/triton_bench.py"),
        "import os\nfrom rows import row\n\
         if os.environ['NVSHMEMRS_PE'] == '0':\n    \
         row('Triton: ping', 3.0, 'us', most=3.9, against='ping 8')\n    \
         row('Triton: put', 300.0, 'GB/s', least=350, against=f'send {64 << 20}')\n    \
         row('Triton: reduce_fast', 3.0, 'us', share=0.6, peer=('torch one-shot', 6.0))\n",
    );
    write(
        "examples/python/triton_gemm_all_reduce.py",
        "import os\nif os.environ['NVSHMEMRS_PE'] == '0':\n    \
         print('4096^3: nvshmemrs 95.0 us, torch.matmul, NCCL 100.0 us (0.95x)')\n",
    );
    write("examples/python/triton_moe.py", "raise SystemExit(3)\n");
    write("examples/python/triton_attention.py", "");
    let measure = |kind: &str, sides: &str| {
        let mut script = Command::new(interpreter(
            "NVSHMEMRS_PYTHON",
            ".venv/bin/python",
            "Python",
        ));
        script.arg(at("run-gpu-bench")).arg(kind);
        script
            .arg("--out")
            .arg(at("out"))
            .env("PYTHONPATH", at("python"));
        script.args(["--python", "python3", "--limit", "60", "--sides", sides]);
        script.env("LD_LIBRARY_PATH", fakes());
        script
    };
    let bench = |sides: &str| measure("--python-kernels", sides);
    let frameworks = |sides: &str| measure("--frameworks", sides);
    let output = run(&mut bench(""), 4 * HANG);
    output.assert_code(1); // one of ours failed
    for words in [
        "ours-numba: not measured: python3: ",
        "ours-moe: ",
        "FAILED: status 3",
        "| import of core.device.numba over its language's, s | 0.30 |  |  |  | at most 0.2 | MISSED |",
        "| Triton: ping, us | 3.00 | 20.00 | NCCL's send and recv | 0.15 | at most 3.9 | met |",
        "| Triton: put, GB/s | 300.00 | 223.70 | NCCL's send and recv | 1.34 | at least 350 | MISSED |",
        "| Triton: reduce_fast, us | 3.00 | 6.00 | torch one-shot | 0.50 | at most 0.6 of the peer's | met |",
        "| 4096^3, us | 95.00 | 100.00 | torch.matmul, NCCL | 0.95 | at most 0.9 of the peer's | MISSED |",
    ] {
        output.assert_stdout(words);
    }
    let figures = fs::read_to_string(at("out/gpu-bench-python.json")).expect("figures");
    assert!(figures.contains("\"ours-moe\""), "{figures}");
    let said = fs::read_to_string(at("out/gpu-bench-python-ours-moe.txt")).expect("what it said");
    assert!(said.contains("status 3"), "{said}");
    // Some sides only.
    let mut some = bench("ours-gemm,nccl-pairs");
    let output = run(&mut some, 4 * HANG).succeeded();
    output.assert_stdout("| 4096^3, us | 95.00 |");
    for other in ["import of", "Triton: ", "ours-moe", "not measured"] {
        assert!(!output.stdout.contains(other), "{}", output.stdout);
    }
    // torch, JAX and fused operations only.
    write(
        &format!("{programs}/torch_ops_bench.py"),
        "from rows import row\nrow('torch: op', 6.0, 'us', peer=('NCCL', 12.0))\n",
    );
    let output = run(&mut frameworks("ours-torch"), 4 * HANG).succeeded();
    output.assert_stdout("| torch: op, us | 6.00 | 12.00 | NCCL | 0.50 |");
    assert!(at("out/gpu-bench-frameworks.json").exists());
    let output = run(bench("").arg("--frameworks"), HANG);
    output.assert_code(2);
    output.assert_stderr("argument --frameworks: not allowed with argument --python-kernels");
    let output = run(&mut frameworks("ours-numba"), HANG);
    output.assert_code(2);
    output.assert_stderr("no side is called ours-numba; there are ours-torch, ours-fused, ");
    let output = run(&mut bench("ours-graph"), HANG);
    output.assert_code(2);
    output.assert_stderr("no side is called ours-graph; there are imports, nccl-pairs, ");
}

/// `compare_perftests` with a stand-in for nvcc, whose programs print what NVIDIA's print: every figure beside the other library's, and which
/// programs could not be built or failed.
#[test]
fn nvidias_perftests_are_compared() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let executable = |name: &str, text: &str| {
        fs::create_dir_all(at(name).parent().expect("a folder")).expect("a folder");
        fs::write(at(name), text).expect("a file");
        run(Command::new("chmod").arg("+x").arg(at(name)), HANG).assert_success();
    };
    // A program of nvshmemrs takes 2.5 us and one of NVSHMEM 5, which also prints a time that no exchange can have. The library is known by
    // an option of its compiler.
    executable(
        "nvcc",
        r#"#!/bin/bash
        while [ "$1" ]; do [ "$1" = -o ] && out=$2; [ "$1" = -rdc=true ] && us=5.0; shift; done
        case $out in */sync_latency) echo "error: no" >&2; exit 1;; esac
        if [ -z "$us" ] && [ "${out##*/}" = bw ]; then echo "echo stopped >&2; exit 3" > "$out"
        else echo "echo '&&&& PERF test___int32-sum-b___size__8___latency ${us:-2.5} -us'
        echo '&&&& PERF test___all___size__64___BW ${us:-2.5} +GB/sec'
        [ -z '$us' ] || echo '&&&& PERF test___quick___size__8___latency 0.2 -us'" > "$out"; fi
        chmod +x "$out""#,
    );
    for launcher in ["bin/nvshmemrs-run", "mpirun"] {
        executable(
            launcher,
            "#!/bin/bash\nwhile [ \"$1\" != 2 ]; do shift; done; shift\n[ \"$1\" = -- ] && shift\nexec bash \"$@\"\n",
        );
    }
    let script = r#"
import sys
from pathlib import Path
folder, bench = Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, bench)
import device_bench, perftests
device_bench.nvshmem_options = lambda package: ["-rdc=true"] if package else None
(folder / "work").mkdir()
found = device_bench.compare_perftests(folder, str(folder / "nvcc"), sys.argv[3], folder / "source", folder / "work", 2, 60)
perftests.tables(found, "nvshmemrs", "NVSHMEM", lambda title, heads, rows: print(title, *rows, sep="\n"))
"#;
    let compare = |package: &str, work: &str| {
        let mut python = Command::new("python3");
        python.args(["-c", &script.replace("work", work)]);
        python.arg(folder.path()).arg(workspace().join("perf/gpu"));
        let path = std::env::var("PATH").expect("PATH");
        python.env("PATH", format!("{}:{path}", folder.path().display()));
        run(python.arg(package), 4 * HANG).succeeded()
    };
    let output = compare("package", "work");
    for words in [
        "['coll/barrier_latency -n 500 -w 50', 'test int32-b', '1', '0.50', '0.50', '0.50']",
        "['coll/barrier_latency -n 500 -w 50', 'test all', '1', '2.00', '2.00', '2.00']",
        "'test all', '64', '2.50 GB/sec', '5.00 GB/sec', '2.00']",
        "nvshmemrs: device/coll/sync_latency: status 1",
        "NVSHMEM: device/coll/sync_latency: status 1",
        "nvshmemrs: host/pt-to-pt/bw -n 50 -w 5 -b 8 -e 64M -f 64 --dir read --issue on_stream: status 3\n    stopped",
    ] {
        output.assert_stdout(words);
    }
    for absent in ["quick", "'coll/sync_latency"] {
        assert!(!output.stdout.contains(absent), "{}", output.stdout);
    }
    let alone = compare("", "alone");
    alone.assert_stdout("NVSHMEM: not measured: Python has no nvidia.nvshmem");
}
