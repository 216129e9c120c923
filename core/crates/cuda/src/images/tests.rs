//! Which image is taken, without a GPU.

use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// A folder that goes when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let unique = format!("nvshmemrs-images-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(unique);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        Folder(path)
    }

    fn put(&self, sources: &str, target: Target, compiler: &str, code: &[u8]) -> PathBuf {
        store::write(&self.0, sources, target, compiler, code).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const SM_80: Target = Target::Real(Arch::new(8, 0));
const SM_90: Target = Target::Real(Arch::new(9, 0));
const PTX_80: Target = Target::Virtual(Arch::new(8, 0));

/// The codes of the images that are tried on a GPU, in order.
fn tried(gpu: Arch, shipped: &[&Folder], cache: Option<&Folder>) -> (Vec<String>, String) {
    let paths = SearchPaths {
        shipped: shipped.iter().map(|folder| folder.0.clone()).collect(),
        cache: cache.map(|folder| folder.0.clone()),
        compilers: Vec::new(),
    };
    let mut search = Search::within(gpu, paths);
    let mut codes = Vec::new();
    loop {
        match search.next_image() {
            Ok(image) => {
                let (nul, code) = image.bytes().split_last().unwrap();
                assert_eq!(*nul, 0);
                codes.push(String::from_utf8(code.to_vec()).unwrap());
                search.refused(&image, "no");
            }
            Err(error) => return (codes, error.to_string()),
        }
    }
}

#[test]
fn the_best_code_comes_first_and_ptx_last() {
    let (shipped, cache) = (Folder::new("best"), Folder::new("best-cache"));
    let hash = sources_hash();
    shipped.put(hash, SM_80, "12.8", b"80");
    shipped.put(hash, SM_90, "12.8", b"90");
    shipped.put(hash, PTX_80, "12.8", b"ptx");
    cache.put(hash, SM_90, "12.9", b"cache 90");
    cache.put(hash, Target::Real(Arch::new(8, 6)), "12.9", b"cache 86");
    shipped.put("0123456789abcdef", SM_90, "12.8", b"other sources");
    fs::write(shipped.0.join("README"), "no image").unwrap();
    let codes = |major, minor| tried(Arch::new(major, minor), &[&shipped], Some(&cache)).0;
    assert_eq!(codes(9, 0), ["90", "cache 90", "ptx"]);
    assert_eq!(codes(8, 0), ["80", "ptx"]);
    assert_eq!(codes(8, 6), ["cache 86", "80", "ptx"]);
    assert_eq!(codes(8, 9), ["cache 86", "80", "ptx"]);
    assert_eq!(codes(12, 0), ["ptx"]);
    assert_eq!(codes(7, 5), [""; 0]);
}

#[test]
fn the_error_names_the_gpu_the_places_and_the_remedy() {
    let shipped = Folder::new("error");
    shipped.put(sources_hash(), PTX_80, "12.8", b"ptx");
    let missing = Folder(PathBuf::from("/nonexistent/images"));
    let (codes, why) = tried(Arch::new(12, 1), &[&missing, &shipped], None);
    assert_eq!(codes, ["ptx"]);
    let folder = shipped.0.display().to_string();
    for word in [
        "12.1",
        "/nonexistent/images",
        &folder,
        "the driver refuses it: no",
        "nvidia-cuda-nvrtc-cu12",
        "NVSHMEMRS_IMAGES",
    ] {
        assert!(why.contains(word), "{why}");
    }
}

#[test]
fn damaged_files_are_passed_over() {
    let shipped = Folder::new("damaged");
    let path = shipped.put(sources_hash(), SM_90, "12.9", b"a long enough code");
    shipped.put(sources_hash(), SM_90, "12.8", b"good");
    let whole = fs::read(&path).unwrap();
    let mut changed = whole.clone();
    *changed.last_mut().unwrap() ^= 1;
    for damaged in [&whole[..whole.len() - 1], &whole[..20], b"", &changed] {
        fs::write(&path, damaged).unwrap();
        let (codes, why) = tried(Arch::new(9, 0), &[&shipped], None);
        assert_eq!(codes, ["good"]);
        assert!(why.contains("damaged"), "{why}");
    }
    fs::write(&path, whole).unwrap();
    assert_eq!(
        tried(Arch::new(9, 0), &[&shipped], None).0,
        ["a long enough code", "good"]
    );
}

#[test]
fn a_cache_that_others_can_write_to_is_not_read() {
    let cache = Folder::new("others");
    let path = cache.put(sources_hash(), SM_90, "12.8", b"code");
    let gpu = Arch::new(9, 0);
    let mode =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(tried(gpu, &[], Some(&cache)).0, ["code"]);
    mode(&cache.0, 0o777);
    let (codes, why) = tried(gpu, &[], Some(&cache));
    assert!(codes.is_empty() && why.contains("only this user"), "{why}");
    store::own_folder(&cache.0).unwrap_err();
    mode(&cache.0, 0o700);
    mode(&path, 0o666);
    let (codes, why) = tried(gpu, &[], Some(&cache));
    assert!(codes.is_empty() && why.contains("others"), "{why}");
    mode(&path, 0o600);
    // A link may lead anywhere.
    let real = cache.0.join("real");
    fs::rename(&path, &real).unwrap();
    std::os::unix::fs::symlink(&real, &path).unwrap();
    assert!(tried(gpu, &[], Some(&cache)).0.is_empty());
    // A shipped image may be a link, and owned by any user.
    assert_eq!(tried(gpu, &[&cache], None).0, ["code"]);
    let made = cache.0.join("deeper/folder");
    store::own_folder(&made).unwrap();
    assert_eq!(
        fs::metadata(&made).unwrap().permissions().mode() & 0o777,
        0o700
    );
    store::own_folder(&made).unwrap();
}

#[test]
fn old_images_go_and_other_files_stay() {
    let folder = Folder::new("clear");
    let kept = folder.put(sources_hash(), SM_90, "12.8", b"code");
    let old = folder.put("0123456789abcdef", PTX_80, "12.8", b"old");
    let other = folder.0.join("README");
    fs::write(&other, "text").unwrap();
    store::clear(&folder.0, sources_hash()).unwrap();
    assert!(kept.exists() && other.exists() && !old.exists());
}

#[test]
fn nvrtc_compiles_code_for_the_gpu_or_ptx_for_a_later_one() {
    let archs = [75, 80, 86, 90, 100].map(Arch::from_number);
    let target = |major, minor| {
        nvrtc::target_for(&archs, Arch::new(major, minor)).map(|target| target.to_string())
    };
    assert_eq!(target(9, 0).as_deref(), Some("sm_90"));
    assert_eq!(target(8, 9).as_deref(), Some("sm_86"));
    assert_eq!(target(10, 3).as_deref(), Some("sm_100"));
    assert_eq!(target(12, 0).as_deref(), Some("compute_100"));
    assert_eq!(target(7, 0), None);
    let why = Nvrtc::find(&[PathBuf::from("/nonexistent/libnvrtc.so")])
        .err()
        .unwrap();
    assert!(why.contains("/nonexistent/libnvrtc.so"), "{why}");
}

/// A declaration of `State` in which two fields have changed places.
#[test]
fn a_state_that_differs_does_not_compile() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.venv/lib");
    let wheels = fs::read_dir(root).into_iter().flatten().flatten();
    let library = "site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12";
    let places: Vec<_> = wheels.map(|one| one.path().join(library)).collect();
    let Some(library) = places.iter().find(|library| library.exists()) else {
        eprintln!("no NVRTC in .venv, where `cargo xtask images` installs it: not tried with it");
        return;
    };
    let nvrtc = Nvrtc::open(library).unwrap();
    let compile = |state: &str| {
        let before = ["nvshmemrs_device.cuh", "ptx.cuh", "access.cuh"];
        let before: String = before.map(|name| format!("#include \"{name}\"\n")).concat();
        let program = format!("{before}{state}");
        nvrtc.compile_text(&program, SM_80)
    };
    compile("#include \"state.cuh\"\n#include \"common.cuh\"\n").unwrap();
    let state = include_str!("../kernels/state.cuh").replace("u64 base;", "u64 other;");
    let state = state.replace("u64 stride;", "u64 base;");
    let why = compile(&state.replace("u64 other;", "u64 stride;"));
    let why = why.err().unwrap().to_string();
    assert!(why.contains("base") && why.contains("stride"), "{why}");
}

/// The smallest cubin with attributes of two functions, made by hand: `second` has a frame of so many bytes.
fn cubin(second: u32) -> Vec<u8> {
    let names = b"\0.nv.info\0.symtab\0.strtab\0";
    let strings = b"\0first\0second\0";
    let mut info = Vec::new();
    for (symbol, bytes) in [(1u32, 0), (2, second)] {
        info.extend([4, 0x11, 8, 0]);
        info.extend(symbol.to_le_bytes());
        info.extend(bytes.to_le_bytes());
        // One without a length.
        info.extend([3, 0x1b, 0xff, 0]);
    }
    let mut symbols = vec![0; 3 * 24];
    symbols[24] = 1;
    symbols[48] = 7;
    let parts: [(u32, &[u8]); 4] = [(0, names), (1, &info), (10, &symbols), (18, strings)];
    let mut file = b"\x7fELF\x02\x01".to_vec();
    file.resize(64, 0);
    let mut heads = Vec::new();
    for (name, part) in parts {
        let mut head = vec![0; 64];
        head[..4].copy_from_slice(&name.to_le_bytes());
        head[24..32].copy_from_slice(&(file.len() as u64).to_le_bytes());
        head[32..40].copy_from_slice(&(part.len() as u64).to_le_bytes());
        heads.extend(head);
        file.extend(part);
    }
    let place = file.len() as u64;
    file[40..48].copy_from_slice(&place.to_le_bytes());
    file[58..60].copy_from_slice(&64u16.to_le_bytes());
    file[60..62].copy_from_slice(&4u16.to_le_bytes());
    file.extend(heads);
    file
}

#[test]
fn stack_frames_are_found() {
    check_frames(SM_90, &cubin(0)).unwrap();
    let why = check_frames(SM_90, &cubin(16)).unwrap_err().to_string();
    assert!(
        why.contains("second has a stack frame of 16 bytes"),
        "{why}"
    );
    assert!(!why.contains("first"), "{why}");
    let whole = cubin(16);
    for length in 0..whole.len() {
        let why = check_frames(SM_90, &whole[..length]).unwrap_err();
        assert!(why.to_string().contains("sm_90"), "{why}");
    }
    check_frames(SM_90, b"fake image").unwrap_err();
}
