//! The contents of a bundle.

use super::{executable, files, is_own_elf};
use crate::install::layout::Layout;
use crate::plugins;
use crate::tree::Tree;
use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// Programs of the release profile, and their folders.
const PROGRAMS: [(&str, &[&str]); 1] = [("tests", &["device", "suite", "conformance"])];

/// C programs, with their sources.
#[rustfmt::skip]
pub(super) const C_PROGRAMS: [(&str, &[&str]); 15] = [
    ("tests/ring-c", &["tests/conformance/ring.c"]),
    ("tests/model-c", &["tests/conformance/model.c"]),
    ("tests/misuse-c", &["tests/conformance/misuse.c"]),
    ("tests/landscape-c", &["examples/c/landscape.c"]),
    ("tests/device_errors-c", &["tests/programs/device_errors.c"]),
    ("tests/device_streams-c", &["tests/programs/device_streams.c"]),
    ("tests/device_engines-c", &["tests/programs/device_engines.c"]),
    ("tests/device_private-c", &["tests/programs/device_private.c"]),
    ("tests/device_beside-c", &["tests/programs/device_beside.c"]),
    ("tests/device_let_go-c", &["tests/programs/device_let_go.c"]),
    ("tests/device_held-c", &["tests/programs/device_held.c"]),
    ("tests/device_hosts-c", &["tests/programs/device_hosts.c"]),
    ("tests/device_register-c", &["tests/programs/device_register.c"]),
    ("bin/gpu-bench", &["perf/gpu/bench.c", "perf/gpu/ours.c", "perf/gpu/nvshmem.c"]),
    ("bin/gpu-tune", &["perf/gpu/tune.c"]),
];

/// Files and folders that are copied unchanged.
#[rustfmt::skip]
const TEXTS: [(&str, &str); 27] = [
    ("examples", "examples"),
    ("tests/conformance/ring.py", "tests/ring.py"),
    ("tests/conformance/model.py", "tests/model.py"),
    ("tests/programs/device", "tests/kernels"),
    ("tests/checker/planted", "tests/checker/planted"),
    ("tests/checker/correct/kernels.cpp", "tests/checker/correct/kernels.cpp"),
    ("tests/programs/nvshmem/units.cpp", "tests/nvshmem/units.cpp"),
    ("tests/gpu/run_gpu_tests.py", "run-gpu-tests"),
    ("tests/gpu/gpu_checks", "share/nvshmemrs/gpu-tests/gpu_checks"),
    ("perf/gpu/run_gpu_bench.py", "run-gpu-bench"),
    ("perf/gpu/device_bench.py", "share/nvshmemrs/bench/device_bench.py"),
    ("perf/gpu/perftests.py", "share/nvshmemrs/bench/perftests.py"),
    ("perf/gpu/device_bench.cu", "share/nvshmemrs/bench/device_bench.cu"),
    ("perf/gpu/device_exchange.cu", "share/nvshmemrs/bench/device_exchange.cu"),
    ("perf/gpu/torch_peer.py", "share/nvshmemrs/bench/torch_peer.py"),
    ("perf/gpu/nvshmem4py_job.py", "share/nvshmemrs/bench/nvshmem4py_job.py"),
    ("perf/gpu/python_cost.py", "share/nvshmemrs/bench/python_cost.py"),
    ("perf/gpu/triton_bench.py", "share/nvshmemrs/bench/triton_bench.py"),
    ("perf/gpu/fused_bench.py", "share/nvshmemrs/bench/fused_bench.py"),
    ("perf/gpu/torch_ops_bench.py", "share/nvshmemrs/bench/torch_ops_bench.py"),
    ("perf/gpu/numba_kernels.py", "share/nvshmemrs/bench/numba_kernels.py"),
    ("perf/gpu/python_kernels.py", "share/nvshmemrs/bench/python_kernels.py"),
    ("perf/gpu/jax_bench.py", "share/nvshmemrs/bench/jax_bench.py"),
    ("perf/gpu/rows.py", "share/nvshmemrs/bench/rows.py"),
    ("perf/import_time.py", "share/nvshmemrs/bench/import_time.py"),
    ("bindings/python/tests", "share/nvshmemrs/python-tests"),
    ("LICENSE", "LICENSE"),
];

/// The libraries and the programs.
pub(super) fn natives(tree: &Tree, dist: &Path) -> Result<()> {
    for (folder, programs) in PROGRAMS {
        for program in programs {
            copy(
                &tree.release().join(program),
                &dist.join(folder).join(program),
            )?;
        }
    }
    let example = tree.release().join("examples/landscape");
    copy(&example, &dist.join("tests/landscape-rs"))?;
    Layout::read(tree)?.place(tree, &tree.release(), dist)?;
    let plugin = tree.release().join(plugins::FILE);
    if plugin.is_file() {
        copy(&plugin, &dist.join("lib").join(plugins::FILE))?;
    } else {
        println!(
            "the bundle is for jobs on one host: `cargo xtask plugins` makes the plugin for jobs on several hosts"
        );
    }
    Ok(())
}

/// The kernels, in `../share` relative to the library and to all programs, where they look.
pub(super) fn images(tree: &Tree, dist: &Path) -> Result<()> {
    copy_folder(&tree.images(), &dist.join("share/nvshmemrs/images"))
}

/// Copies the text files.
pub(super) fn texts(tree: &Tree, dist: &Path) -> Result<()> {
    for (from, to) in TEXTS {
        let from = tree.root.join(from);
        if from.is_dir() {
            copy_folder(&from, &dist.join(to))?;
        } else {
            copy(&from, &dist.join(to))?;
        }
    }
    for script in ["run-gpu-tests", "run-gpu-bench"] {
        executable(&dist.join(script))?;
    }
    Ok(())
}

/// Copies all files below a folder, except files that compilers have left there for this machine: they refer to the checkout.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for file in files(from)? {
        let path = file.strip_prefix(from)?;
        let cached = path
            .components()
            .any(|part| part.as_os_str() == "__pycache__");
        let module = path.extension().is_some_and(|end| end == "mod");
        if !cached && !module && !is_own_elf(&file)? {
            copy(&file, &to.join(path))?;
        }
    }
    Ok(())
}

/// Copies a file, and creates its folder if needed.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::copy(from, to)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_compilers_left_is_not_copied() -> Result<()> {
        let folder = std::env::temp_dir().join(format!("xtask-copied-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::create_dir_all(from.join("__pycache__"))?;
        fs::copy(std::env::current_exe()?, from.join("hello"))?;
        for name in ["hello.c", "diffusion.mod", "__pycache__/hello.pyc"] {
            fs::write(from.join(name), "text")?;
        }
        // The start of a kernel for GPUs: an ELF file of another machine.
        let mut kernel = b"\x7fELF".to_vec();
        kernel.resize(18, 0);
        kernel.extend(190_u16.to_le_bytes());
        fs::write(from.join("ring.cubin"), kernel)?;
        copy_folder(&from, &to)?;
        let mut names = Vec::new();
        for file in files(&to)? {
            names.push(file.strip_prefix(&to)?.display().to_string());
        }
        names.sort();
        fs::remove_dir_all(folder)?;
        assert_eq!(names, ["hello.c", "ring.cubin"]);
        Ok(())
    }
}
