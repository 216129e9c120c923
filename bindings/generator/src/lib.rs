//! Generates every file that repeats the C ABI.
//!
//! ```text
//! table::families() --emit::family, templates/family.rs.jinja--> capi/src/generated/{atomics,rma,..}.rs
//! capi/src/**/*.rs --syn--> model::Api --emit::*, templates/*.jinja--> header, hash, four low layers
//! table::families(), FORTRAN_KINDS --emit::fortran_typed, templates/fortran/*.jinja--> Fortran's typed layer
//! table::openshmem --emit::names, templates/{shmem.h,pshmem.h,shmem_names.c}.jinja--> OpenSHMEM's headers and functions
//! table::nvshmem --emit::names, templates/{nvshmem.h,nvshmemx.h,nvshmem_names.c}.jinja--> NVSHMEM's headers and functions of the host
//! table::types --emit::device_lists--> the types of the tests of kernels
//! table::types --emit::device_names--> the names at the end of the headers for kernels
//! table::nvshmem --emit::nvshmem_device--> NVSHMEM's names in kernels
//! table::nvshmem --emit::bitcode--> NVSHMEM's names in the bitcode, and their types for CuTe
//! model::Api --emit::reference--> JSON for the documentation site, which is not written to a file
//! ```
//!
//! [`model`] reads the sources once, and rejects declarations that a binding could not express. Each file in [`emit`] turns the
//! model into one output; it maps types and leaves the text to the template of the same name. The output depends on the sources
//! only, so a test can regenerate it and compare bytes. Fortran's modules are not committed, because only builds of Fortran
//! programs need them.

use anyhow::Context;
use std::path::{Path, PathBuf};

pub mod emit;
pub mod model;
pub mod table;

/// The sources of the C ABI that come from the table, in the repository at `root`: path (below `root`) and contents. They must be in place
/// before [`outputs`] reads them.
pub fn families(root: &Path) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let file = |family: table::Family| {
        let path = format!("capi/src/generated/{}.rs", family.file);
        let text =
            emit::family::emit(&family).with_context(|| format!("cannot generate {path}"))?;
        Ok((root.join(path), text))
    };
    table::families().into_iter().map(file).collect()
}

/// Every generated file of the repository at `root` that is committed: its path (below `root`) and its contents.
pub fn outputs(root: &Path) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let api = model::Api::read(&root.join("capi/src"))?;
    #[rustfmt::skip]
    let emitted: [(&str, anyhow::Result<String>); 22] = [
        ("include/nvshmemrs.h", emit::header::emit(&api, root)),
        ("capi/src/generated/mod.rs", emit::hash::emit(&api)),
        ("capi/src/generated/exports.rs", emit::exports::emit(root)),
        ("bindings/python/src/nvshmemrs/_ffi.py", emit::python::emit(&api)),
        ("bindings/python/src/nvshmemrs/core/amo.py", emit::python::atomics()),
        ("bindings/python/extension/operations.h", emit::python::extension(&api)),
        ("bindings/cpp/include/nvshmemrs/ffi.hpp", emit::cpp::emit(&api)),
        ("bindings/cpp/include/nvshmemrs/atomic_ref.hpp", emit::cpp::atomics()),
        ("bindings/cpp/include/nvshmemrs/typed.hpp", emit::typed::emit(&api)),
        ("bindings/julia/src/ffi.jl", emit::julia::emit(&api)),
        ("tests/programs/device/lists.hpp", emit::device_lists::emit()),
        ("include/nvshmemrs_device/names.cuh", Ok(emit::device_names::emit())),
        ("include/shmem.h", emit::names::header(&api)),
        ("include/pshmem.h", emit::names::profiling()),
        ("bindings/openshmem/src/names.c", emit::names::functions()),
        ("include/nvshmem.h", emit::names::nvshmem_header(&api, false)),
        ("include/nvshmemx.h", emit::names::nvshmem_header(&api, true)),
        ("bindings/nvshmem/src/names.c", emit::names::nvshmem_functions()),
        ("include/nvshmemrs_qp.cuh", emit::device_names::emit_for_queue_pairs(root)),
        ("include/nvshmem_device.cuh", emit::nvshmem_device::emit(root)),
        ("bindings/bitcode/device.cu", emit::bitcode::emit()),
        ("bindings/python/src/nvshmemrs/core/device/cute/_names.py", emit::bitcode::python()),
    ];
    let mut outputs = families(root)?;
    for (path, text) in emitted {
        let text = text.with_context(|| format!("cannot generate {path}"))?;
        outputs.push((root.join(path), text));
    }
    let core = root.join("bindings/python/src/nvshmemrs/core");
    for (path, text) in emit::python::repetitive() {
        let text = text.with_context(|| format!("cannot generate {path}"))?;
        outputs.push((core.join(path), text));
    }
    Ok(outputs)
}

/// The Fortran modules that builds generate, in the form of [`outputs`].
pub fn fortran(root: &Path) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let api = model::Api::read(&root.join("capi/src"))?;
    let mut modules = emit::fortran_typed::emit(&api)?;
    modules.push(("nvshmemrs_ffi", emit::fortran::emit(&api)?));
    let place = |name| root.join(format!("bindings/fortran/src/{name}.f90"));
    let modules = modules.into_iter();
    Ok(modules.map(|(name, text)| (place(name), text)).collect())
}

/// The C ABI of the repository at `root` as JSON, for the reference pages of the documentation site.
pub fn reference(root: &Path) -> anyhow::Result<String> {
    emit::reference::emit(&model::Api::read(&root.join("capi/src"))?)
}

/// The root of the repository that this generator was built from.
pub fn repository_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}
