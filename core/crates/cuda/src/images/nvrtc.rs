//! NVRTC, NVIDIA's run-time compiler for device code, if it is installed.
//!
//! # Rules of this module
//!
//! 1. The function types are those of NVIDIA's documentation since CUDA 11.1; functions are called only while the
//!    library is open.
//! 2. Output goes to local variables or to buffers of the length that NVRTC reported; input texts are NUL-terminated
//!    and outlive the call.

use super::{Arch, OPTIONS, SOURCES, Target, program};
use crate::{Error, Result};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW, Symbol};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

type Program = *mut c_void;
type Code = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;

/// The functions that this module calls.
struct Functions {
    error: Symbol<unsafe extern "C" fn(c_int) -> *const c_char>,
    version: Symbol<unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int>,
    archs_len: Symbol<unsafe extern "C" fn(*mut c_int) -> c_int>,
    archs: Symbol<unsafe extern "C" fn(*mut c_int) -> c_int>,
    create: Symbol<
        unsafe extern "C" fn(
            *mut Program,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> c_int,
    >,
    compile: Symbol<unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int>,
    destroy: Symbol<unsafe extern "C" fn(*mut Program) -> c_int>,
    log_size: Symbol<Size>,
    log: Symbol<Code>,
    cubin_size: Symbol<Size>,
    cubin: Symbol<Code>,
    ptx_size: Symbol<Size>,
    ptx: Symbol<Code>,
}

/// The compiler.
pub(super) struct Nvrtc {
    functions: Functions,
    origin: String,
    version: String,
    /// The architectures that it supports.
    archs: Vec<Arch>,
    /// Dropped last: the symbols refer to it.
    _library: Library,
}

/// The output of a compilation.
pub(super) struct Compiled {
    pub(super) cubin: Vec<u8>,
    pub(super) ptx: Vec<u8>,
}

impl Nvrtc {
    /// The first NVRTC among `places`, or the names that were tried.
    pub(super) fn find(places: &[PathBuf]) -> std::result::Result<Nvrtc, String> {
        let mut why = Vec::new();
        for place in places {
            match Nvrtc::open(place) {
                Ok(nvrtc) => return Ok(nvrtc),
                Err(error) => why.push(error.to_string()),
            }
        }
        Err(format!("NVRTC: {}", why.join(", ")))
    }

    /// Opens a file, or a library known to the dynamic linker by this name.
    pub(super) fn open(place: &Path) -> Result<Nvrtc> {
        let origin = place.display().to_string();
        // SAFETY: the library's initialisers are NVIDIA's.
        let library =
            unsafe { Library::open(Some(place), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| {
                Error::NotSupported(format!("NVRTC cannot be loaded from {origin}: {error}"))
            })?;
        let missing = |error: libloading::Error| {
            Error::NotSupported(format!("NVRTC cannot be loaded from {origin}: {error}"))
        };
        // SAFETY: rule 1; `library` lives as long as the symbols.
        let functions = unsafe {
            Functions {
                error: library.get(b"nvrtcGetErrorString\0").map_err(missing)?,
                version: library.get(b"nvrtcVersion\0").map_err(missing)?,
                archs_len: library
                    .get(b"nvrtcGetNumSupportedArchs\0")
                    .map_err(missing)?,
                archs: library.get(b"nvrtcGetSupportedArchs\0").map_err(missing)?,
                create: library.get(b"nvrtcCreateProgram\0").map_err(missing)?,
                compile: library.get(b"nvrtcCompileProgram\0").map_err(missing)?,
                destroy: library.get(b"nvrtcDestroyProgram\0").map_err(missing)?,
                log_size: library.get(b"nvrtcGetProgramLogSize\0").map_err(missing)?,
                log: library.get(b"nvrtcGetProgramLog\0").map_err(missing)?,
                cubin_size: library.get(b"nvrtcGetCUBINSize\0").map_err(missing)?,
                cubin: library.get(b"nvrtcGetCUBIN\0").map_err(missing)?,
                ptx_size: library.get(b"nvrtcGetPTXSize\0").map_err(missing)?,
                ptx: library.get(b"nvrtcGetPTX\0").map_err(missing)?,
            }
        };
        let mut nvrtc = Nvrtc {
            functions,
            origin,
            version: String::new(),
            archs: Vec::new(),
            _library: library,
        };
        let (mut major, mut minor, mut count) = (0, 0, 0);
        // SAFETY: rules 1 and 2.
        nvrtc.check("nvrtcVersion", unsafe {
            (nvrtc.functions.version)(&mut major, &mut minor)
        })?;
        nvrtc.version = format!("{major}.{minor}");
        // SAFETY: rules 1 and 2.
        let code = unsafe { (nvrtc.functions.archs_len)(&mut count) };
        nvrtc.check("nvrtcGetNumSupportedArchs", code)?;
        let mut archs = vec![0; count.max(0) as usize];
        // SAFETY: rules 1 and 2.
        let code = unsafe { (nvrtc.functions.archs)(archs.as_mut_ptr()) };
        nvrtc.check("nvrtcGetSupportedArchs", code)?;
        nvrtc.archs = archs.into_iter().map(Arch::from_number).collect();
        Ok(nvrtc)
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// The version, such as "12.8".
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// The target for a GPU: its own architecture, else PTX of the latest earlier architecture.
    pub(super) fn target_for(&self, gpu: Arch) -> Option<Target> {
        target_for(&self.archs, gpu)
    }

    /// The reason why a call failed; `None` if it succeeded.
    fn failure(&self, call: &str, code: c_int) -> Option<String> {
        if code == 0 {
            return None;
        }
        // SAFETY: rule 1; the function returns a constant text for every number.
        let text = unsafe { CStr::from_ptr((self.functions.error)(code)) };
        let (origin, text) = (&self.origin, text.to_string_lossy());
        Some(format!("{origin}'s {call} failed: {text}"))
    }

    fn check(&self, call: &str, code: c_int) -> Result<()> {
        match self.failure(call, code) {
            None => Ok(()),
            Some(why) => Err(Error::Internal(why)),
        }
    }

    /// Compiles all kernels.
    pub(super) fn compile(&self, target: Target) -> Result<Compiled> {
        self.compile_text(&program(), target)
    }

    /// Compiles a program, which may include the [`SOURCES`].
    pub(super) fn compile_text(&self, program: &str, target: Target) -> Result<Compiled> {
        let text = |text: &str| CString::new(text).expect("sources and options have no NUL");
        let main = text(program);
        let name = text("nvshmemrs.cu");
        let names: Vec<_> = SOURCES.iter().map(|(name, _)| text(name)).collect();
        let headers: Vec<_> = SOURCES.iter().map(|(_, source)| text(source)).collect();
        let pointers = |texts: &[CString]| texts.iter().map(|s| s.as_ptr()).collect::<Vec<_>>();
        let (name_pointers, header_pointers) = (pointers(&names), pointers(&headers));
        let mut created = std::ptr::null_mut();
        // SAFETY: rules 1 and 2; as many names as headers.
        let code = unsafe {
            (self.functions.create)(
                &mut created,
                main.as_ptr(),
                name.as_ptr(),
                SOURCES.len() as c_int,
                header_pointers.as_ptr(),
                name_pointers.as_ptr(),
            )
        };
        self.check("nvrtcCreateProgram", code)?;
        let program = Created {
            nvrtc: self,
            program: created,
        };
        let arch = text(&format!("--gpu-architecture={target}"));
        let options = OPTIONS.map(text);
        let mut all = vec![arch.as_ptr()];
        all.extend(options.iter().map(|option| option.as_ptr()));
        // SAFETY: rules 1 and 2.
        let code = unsafe { (self.functions.compile)(created, all.len() as c_int, all.as_ptr()) };
        if let Some(why) = self.failure("nvrtcCompileProgram", code) {
            let log = program.output(
                "nvrtcGetProgramLog",
                &self.functions.log_size,
                &self.functions.log,
            )?;
            let log = String::from_utf8_lossy(&log);
            return Err(Error::Internal(format!(
                "{why} for {target}, and NVRTC reports:\n{}",
                log.trim_end_matches(['\0', '\n'])
            )));
        }
        let ptx = program.output("nvrtcGetPTX", &self.functions.ptx_size, &self.functions.ptx)?;
        let cubin = match target {
            Target::Real(_) => program.output(
                "nvrtcGetCUBIN",
                &self.functions.cubin_size,
                &self.functions.cubin,
            )?,
            Target::Virtual(_) => Vec::new(),
        };
        Ok(Compiled { cubin, ptx })
    }
}

/// An NVRTC program, destroyed on drop.
struct Created<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

impl Created<'_> {
    /// The output of a pair of functions that return its size and its bytes.
    fn output(&self, call: &str, size: &Symbol<Size>, get: &Symbol<Code>) -> Result<Vec<u8>> {
        let mut len = 0;
        // SAFETY: rules 1 and 2; the program was created.
        let code = unsafe { size(self.program, &mut len) };
        self.nvrtc.check(call, code)?;
        let mut bytes = vec![0u8; len];
        // SAFETY: as above.
        self.nvrtc.check(call, unsafe {
            get(self.program, bytes.as_mut_ptr().cast())
        })?;
        Ok(bytes)
    }
}

impl Drop for Created<'_> {
    fn drop(&mut self) {
        // SAFETY: rule 1; the program was created and is not used afterwards. The call cannot fail for a valid program.
        let _ = unsafe { (self.nvrtc.functions.destroy)(&mut self.program) };
    }
}

/// The target for a GPU, with a compiler that supports `archs`.
pub(super) fn target_for(archs: &[Arch], gpu: Arch) -> Option<Target> {
    let before = archs.iter().copied().filter(|arch| *arch <= gpu).max()?;
    let real = Target::Real(before);
    Some(if real.runs_on(gpu) {
        real
    } else {
        Target::Virtual(before)
    })
}
