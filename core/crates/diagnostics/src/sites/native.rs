//! The name of an instruction of the program: file, line and function from the debug information, else its symbol or module.

use super::walk;
use addr2line::Loader;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

/// The debug information of a module's file, by the file; `None` if it cannot be read.
type Files = HashMap<PathBuf, Option<Loader>>;

/// Kept, because reading one takes milliseconds.
static FILES: OnceLock<Mutex<Files>> = OnceLock::new();

/// A function at an address, and its line there.
struct Frame {
    /// As the linker calls it.
    symbol: String,
    /// As people call it.
    function: String,
    file: String,
    line: u32,
}

/// The information about an address.
struct Known {
    /// The functions it lies in, those inlined into another one first; empty without debug information.
    frames: Vec<Frame>,
    /// The linker's and people's name of the function, and where it starts in the file.
    symbol: Option<(String, String, u64)>,
    /// The module, and the address in its file.
    module: PathBuf,
    address: u64,
}

/// The place in the program to which a call returns: "heat.c:71 (send_halo)", "send_halo+0x12 in ./heat" or "./heat+0x1234".
pub(super) fn describe(place: u64) -> String {
    if place == 0 {
        return "a place that is not known".into();
    }
    // The call itself comes before.
    let Some(known) = look_up(place - 1) else {
        return format!("{place:#x} (no debug information)");
    };
    if let Some(frame) = known.frames.iter().find(|frame| !frame.is_wrapper()) {
        return line(&frame.file, frame.line, &frame.function);
    }
    let module = match shown(&known.module) {
        file if file.contains('/') => file,
        file => format!("./{file}"),
    };
    // As a debugger shows it: the address to which the call returns.
    match &known.symbol {
        Some((_, name, start)) => format!("{name}+{:#x} in {module}", known.address + 1 - start),
        None => format!("{module}+{:#x}", known.address + 1),
    }
}

/// The name of a standard by which the program has called this library: of the function at `entry`, in the library of these names, or
/// of the function that is inlined at `place`.
pub(super) fn standard_name(place: u64, entry: u64) -> Option<String> {
    let of_library = |known: Known| {
        let symbol = known.in_names_library().then_some(known.symbol)??;
        Some(symbol.1)
    };
    let of_header = |known: Known| {
        let mut wrappers = known.frames.into_iter().take_while(Frame::is_wrapper);
        wrappers.by_ref().last().map(|frame| frame.function)
    };
    let at = |address: u64| address.checked_sub(1).and_then(look_up);
    let name = at(entry)
        .and_then(of_library)
        // An overload of C++ that is not inlined is a function of the program.
        .or_else(|| at(entry).and_then(of_header))
        .or_else(|| at(place).and_then(of_header))?;
    // The library has its functions under the names of tools that measure, too.
    let name = name
        .strip_prefix('p')
        .filter(|rest| rest.starts_with("shmem_"))
        .unwrap_or(&name);
    let prefixes = ["shmem_", "nvshmem_", "nvshmemx_"];
    (prefixes.iter().any(|prefix| name.starts_with(prefix))).then(|| name.to_string())
}

/// The name of the global or static variable that an address lies in, and the bytes from its start to the address.
pub(super) fn variable(address: u64) -> Option<(String, u64)> {
    let (module, bias) = walk::data_of(address)?;
    let at = address.wrapping_sub(bias);
    in_file(&module, |file| {
        let found = file.find_symbol_info(at)?;
        Some((short(&demangled(found.name())), at - found.address()))
    })
}

/// A place in words.
pub(super) fn line(file: &str, line: u32, function: &str) -> String {
    let file = shown(Path::new(file));
    match function {
        "" => format!("{file}:{line}"),
        function => format!("{file}:{line} ({function})"),
    }
}

/// The libraries of the standards' names, which call this one for the program.
const NAMES_LIBRARIES: [&str; 2] = ["libnvshmemrs_shmem.so", "libnvshmemrs_nvshmem.so"];
/// The headers of the standards' names, whose functions are inlined into the program.
const NAMES_HEADERS: [&str; 2] = ["/shmem.h", "/nvshmem_device.cuh"];

/// Whether an instruction belongs to the C++ or the Fortran layer, whose functions are compiled into the program, or to the library of the
/// standards' names.
pub(super) fn is_wrapper(address: u64) -> bool {
    look_up(address).is_some_and(|known| match known.frames.is_empty() {
        _ if known.in_names_library() => true,
        false => known.frames.iter().all(Frame::is_wrapper),
        true => known
            .symbol
            .is_some_and(|(symbol, ..)| in_our_namespace(&symbol)),
    })
}

impl Known {
    fn in_names_library(&self) -> bool {
        let name = self.module.file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        NAMES_LIBRARIES.iter().any(|one| name.starts_with(one))
    }
}

impl Frame {
    fn is_wrapper(&self) -> bool {
        in_our_namespace(&self.symbol) || NAMES_HEADERS.iter().any(|end| self.file.ends_with(end))
    }
}

/// Whether it is a mangled name of C++ in the namespace `nvshmemrs`, or of Fortran in a module of the layer. Rust's names, of the
/// crate, have a hash at their end.
fn in_our_namespace(symbol: &str) -> bool {
    if let Some((module, _)) = in_module(symbol) {
        return module.starts_with("nvshmemrs_");
    }
    // The name of an item within a function, such as a lambda, has a second Z.
    let name = symbol
        .strip_prefix("_ZN")
        .or_else(|| symbol.strip_prefix("_ZZN"))
        .unwrap_or_default();
    let name = name.strip_prefix('K').unwrap_or(name);
    name.starts_with("9nvshmemrs") && !name.contains("17h")
}

fn look_up(address: u64) -> Option<Known> {
    let module = walk::module_of(address)?;
    let address = address.wrapping_sub(module.bias);
    let mut known = Known {
        frames: Vec::new(),
        symbol: None,
        module: module.file,
        address,
    };
    let module = known.module.clone();
    in_file(&module, |file| {
        known.frames = frames(file, address).unwrap_or_default();
        known.symbol = file.find_symbol_info(address).map(|found| {
            let name = short(&demangled(found.name()));
            (found.name().to_string(), name, found.address())
        });
        if let Some((symbol, ..)) = &known.symbol {
            name_private_procedures(&mut known.frames, symbol);
        }
        Some(())
    });
    Some(known)
}

/// The name of a symbol in its source. A symbol of C is its name: a demangler takes `t` for the type `unsigned short` of C++.
fn demangled(symbol: &str) -> Cow<'_, str> {
    match symbol.starts_with("_Z") || symbol.starts_with("_R") {
        true => addr2line::demangle_auto(symbol.into(), None),
        false => symbol.into(),
    }
}

/// Gives private procedures of Fortran modules the symbols of their modules. gfortran gives them no linkage name, so the module is that
/// of the procedure they are inlined into, or of the linker's `symbol`. `frames` begin with the innermost function.
fn name_private_procedures(frames: &mut [Frame], symbol: &str) {
    let mut outer: Option<(&str, &str)> = None;
    for frame in frames.iter_mut().rev() {
        let (within, file) = outer.unwrap_or((symbol, &frame.file));
        if in_module(within).is_some() && in_module(&frame.symbol).is_none() && file == frame.file {
            frame.symbol = within.to_string();
        }
        outer = Some((&frame.symbol, &frame.file));
    }
}

/// Looks for something in the debug information of a module; `None` if that cannot be read.
fn in_file<T>(module: &Path, find: impl FnOnce(&Loader) -> Option<T>) -> Option<T> {
    let mut files = crate::lock::lock(FILES.get_or_init(Mutex::default));
    let file = files
        .entry(module.to_path_buf())
        .or_insert_with(|| Loader::new(module).ok());
    file.as_ref().and_then(find)
}

/// The functions at an address that have a line; an error if the debug information is damaged.
fn frames(file: &Loader, address: u64) -> Result<Vec<Frame>, Box<dyn std::error::Error>> {
    let mut found = Vec::new();
    let mut frames = file.find_frames(address)?;
    while let Some(frame) = frames.next()? {
        let Some((name, line)) = frame.location.and_then(|at| at.file.zip(at.line)) else {
            continue;
        };
        let (symbol, function) = match &frame.function {
            Some(function) => (
                function.raw_name()?.into_owned(),
                short(&function.demangle()?),
            ),
            None => Default::default(),
        };
        found.push(Frame {
            symbol,
            function,
            file: name.to_string(),
            line,
        });
    }
    Ok(found)
}

/// A function's name without its arguments and its result, and without Fortran's prefix.
fn short(name: &str) -> String {
    let name = name.replace("(anonymous namespace)::", "");
    if let Some((_, procedure)) = in_module(&name) {
        return procedure.to_string();
    }
    let (mut depth, mut start) = (0, 0);
    for (index, character) in name.char_indices() {
        match character {
            '{' | '<' => depth += 1,
            '}' | '>' => depth -= 1,
            // The result type of a template comes before the name.
            ' ' if depth == 0 && !name[start..index].ends_with("operator") => start = index + 1,
            '(' if depth == 0 && !name[..index].ends_with("operator") => {
                return name[start..index].to_string();
            }
            _ => {}
        }
    }
    name[start..].to_string()
}

/// The module and the procedure in a name that gfortran made.
fn in_module(symbol: &str) -> Option<(&str, &str)> {
    symbol.strip_prefix("__")?.split_once("_MOD_")
}

/// A file's path relative to the current folder.
fn shown(file: &Path) -> String {
    let inside = std::env::current_dir()
        .ok()
        .and_then(|folder| file.strip_prefix(folder).ok().map(Path::to_path_buf));
    inside.as_deref().unwrap_or(file).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short() {
        for (name, expected) in [
            ("send_halo", "send_halo"),
            ("halo::exchange(double*, int)", "halo::exchange"),
            ("(anonymous namespace)::step(int)", "step"),
            (
                "Field<int (*)(int)>::send(int)",
                "Field<int (*)(int)>::send",
            ),
            ("Task::operator()(int) const", "Task::operator()"),
            (
                "main::{lambda(int)#1}::operator()(int) const",
                "main::{lambda(int)#1}::operator()",
            ),
            ("__halo_MOD_exchange", "exchange"),
            ("MAIN__", "MAIN__"),
            (
                "void field::fill<long>(unsigned long, long)",
                "field::fill<long>",
            ),
        ] {
            assert_eq!(short(name), expected);
        }
    }

    #[test]
    fn names_of_c_are_not_demangled() {
        for name in ["t", "s", "i", "St", "Sa", "main", "__halo_MOD_exchange"] {
            assert_eq!(demangled(name), name);
        }
        assert_eq!(demangled("_ZN4halo8exchangeEv"), "halo::exchange()");
    }

    #[test]
    fn a_private_procedure_of_fortran_belongs_to_its_module() {
        let frame = |symbol: &str, file: &str| Frame {
            symbol: symbol.into(),
            function: symbol.into(),
            file: file.into(),
            line: 1,
        };
        let symbols = |mut frames: Vec<Frame>, symbol: &str| -> Vec<String> {
            name_private_procedures(&mut frames, symbol);
            frames.into_iter().map(|frame| frame.symbol).collect()
        };
        let (ours, own) = ("nvshmemrs_base.f90", "heat.f90");
        let module = "__nvshmemrs_base_MOD_move";
        assert_eq!(
            symbols(vec![frame("move_run", ours), frame(module, ours)], module),
            [module; 2]
        );
        assert_eq!(
            symbols(vec![frame("run", ours)], "__nvshmemrs_base_MOD_run.part.0"),
            ["__nvshmemrs_base_MOD_run.part.0"]
        );
        // The layer inlined into the program.
        let frames = vec![frame("run", ours), frame(module, ours), frame("step", own)];
        assert_eq!(
            symbols(frames, "__heat_MOD_step"),
            [module, module, "__heat_MOD_step"]
        );
        assert_eq!(symbols(vec![frame("main", own)], "main"), ["main"]);
    }

    #[test]
    fn only_the_layer_itself_is_a_wrapper() {
        assert!(in_our_namespace("_ZN9nvshmemrs3ffi3putEmPvPKvmi"));
        assert!(in_our_namespace("_ZNK9nvshmemrs5Array3getEv"));
        assert!(in_our_namespace(
            "_ZZNK9nvshmemrs8throwing7runtime5my_peEvENKUlPiE_clES2_"
        ));
        assert!(in_our_namespace("__nvshmemrs_rma_MOD_put_real64_0"));
        for other in [
            "nvshmemrs_put",
            "main",
            "_ZN4halo8exchangeEv",
            "_ZZN4halo8exchangeEvENKUlvE_clEv",
            "__halo_MOD_exchange",
            "__nvshmem_MOD_put",
            "_ZN9nvshmemXX3putEv",
            "_ZN9nvshmemrs5sites4walk6caller17h93a9e9e6e0e4c455E",
        ] {
            assert!(!in_our_namespace(other), "{other}");
        }
    }
}
