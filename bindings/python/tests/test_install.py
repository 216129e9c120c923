"""What `cargo xtask install` installs, and what the wheel has of it, as a new user finds it: by
pkg-config, by CMake, by nothing, and by the compiler wrappers.

NVSHMEMRS_PREFIX names the installation and NVSHMEMRS_WHEEL the wheel; `cargo xtask test` sets them.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any, List

import pytest
from conftest import finished, prefix
from test_wheel import Installed, installed  # noqa: F401  (a fixture)

C = """
#include <nvshmemrs.h>
#include <stdio.h>
int main(void) {
    nvshmemrs_runtime_t rt; int32_t me;
    if (nvshmemrs_init(NULL, &rt) || nvshmemrs_my_pe(rt, &me)) return 1;
    printf("PE %d fine\\n", (int)me);
    return nvshmemrs_finalize(rt);
}
"""
SHMEM = """
#include <shmem.h>
#include <stdio.h>
int main(void) {
    shmem_init();
    printf("PE %d fine\\n", shmem_my_pe());
    shmem_finalize();
    return 0;
}
"""
CXX = """
#include <nvshmemrs/nvshmemrs.hpp>
#include <cstdio>
int main() {
    auto rt = nvshmemrs::runtime::init();
    std::printf("PE %d fine\\n", rt.my_pe());
    rt.finalize();
}
"""
FORTRAN = """
program fine
  use nvshmemrs
  call nvshmemrs_init()
  print '(a, i0, a)', 'PE ', nvshmemrs_my_pe(), ' fine'
  call nvshmemrs_finalize()
end program fine
"""
NVSHMEM = """
#include <nvshmem.h>
#include <stdio.h>
int main(void) {
    nvshmem_init();
    printf("PE %d fine\\n", nvshmem_my_pe());
    nvshmem_finalize();
    return 0;
}
"""
PROGRAMS = {"own.c": C, "shmem.c": SHMEM, "cxx.cpp": CXX, "fine.f90": FORTRAN, "nvshmem.c": NVSHMEM}


class Installation:
    """A folder with headers and libraries, and the folder of the programs."""

    def __init__(self, prefix: Path, programs: Path) -> None:
        self.prefix, self.programs = prefix, programs
        self.cmake = prefix / "lib/cmake/nvshmemrs"
        self.pkgconfig = prefix / "lib/pkgconfig"

    def has(self, name: str) -> bool:
        return (self.prefix / "lib" / name).exists()

    def runs(self, program: Path) -> None:
        done = run([str(self.programs / "nvshmemrs-run"), "-n", "2", "--", str(program)])
        assert sorted(done.splitlines()) == ["PE 0 fine", "PE 1 fine"], done


def run(command: List[str], fails: bool = False, **more: str) -> str:
    """The output of a command, without variables of ours. CMake may come from the virtual environment."""
    clean = {name: value for name, value in os.environ.items() if "NVSHMEM" not in name}
    for name in ("PYTHONPATH", "LD_LIBRARY_PATH"):  # the second is cargo's
        clean.pop(name, None)
    clean["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), clean["PATH"]])
    done = finished(*command, base=clean, cwd="/", limit=300, **more)
    assert (done.returncode != 0) == fails, done.stdout
    return done.stdout


@pytest.fixture(params=["prefix", "wheel"])
def there(request: Any) -> Installation:
    if request.param == "prefix":
        return Installation(prefix(), prefix() / "bin")
    made: Installed = request.getfixturevalue("installed")
    inside = made.run("python", "-m", "nvshmemrs", "--prefix").strip()
    assert made.run("python", "-m", "nvshmemrs", "--cmakedir").strip().startswith(inside)
    return Installation(Path(inside), made.bin)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_pkg_config(there: Installation, sources: Path) -> None:
    folder = {"PKG_CONFIG_PATH": str(there.pkgconfig)}
    for package, source in (("nvshmemrs", "own.c"), ("nvshmemrs-shmem", "shmem.c")):
        flags = run(["pkg-config", "--cflags", "--libs", package], **folder).split()
        program = sources / f"{package}-program"
        run(["cc", str(sources / source), *flags, "-o", str(program)])
        there.runs(program)
    assert run(["pkg-config", "--modversion", "nvshmemrs"], **folder) == run(
        ["pkg-config", "--modversion", "nvshmemrs-shmem"], **folder
    )


CMAKE = """
cmake_minimum_required(VERSION 3.18)
project(fine LANGUAGES C CXX)
find_package(nvshmemrs 0.1 REQUIRED COMPONENTS shmem)
find_package(PkgConfig REQUIRED)
pkg_check_modules(found REQUIRED IMPORTED_TARGET nvshmemrs)
pkg_check_modules(shmem REQUIRED IMPORTED_TARGET nvshmemrs-shmem)
add_executable(own own.c)
target_link_libraries(own nvshmemrs::nvshmemrs)
add_executable(shmem shmem.c)
target_link_libraries(shmem nvshmemrs::shmem)
add_executable(cxx cxx.cpp)
target_compile_features(cxx PRIVATE cxx_std_17)
target_link_libraries(cxx nvshmemrs::nvshmemrs)
add_executable(by_pkg own.c)
target_link_libraries(by_pkg PkgConfig::found)
add_executable(shmem_by_pkg shmem.c)
target_link_libraries(shmem_by_pkg PkgConfig::shmem)
if(TARGET nvshmemrs::fortran)
  enable_language(Fortran)
  add_executable(fine fine.f90)
  target_link_libraries(fine nvshmemrs::fortran)
endif()
if(TARGET nvshmemrs::nvshmem)
  add_executable(nvshmem nvshmem.c)
  target_link_libraries(nvshmem nvshmemrs::nvshmem)
endif()
"""


def configure(there: Installation, sources: Path, text: str, fails: bool = False) -> str:
    (sources / "CMakeLists.txt").write_text(text)
    place = [f"-Dnvshmemrs_DIR={there.cmake}", "-S", str(sources), "-B", str(sources / "build")]
    return run(["cmake", *place], fails, PKG_CONFIG_PATH=str(there.pkgconfig))


def test_cmake(there: Installation, sources: Path) -> None:
    configure(there, sources, CMAKE)
    run(["cmake", "--build", str(sources / "build")])
    programs = ["own", "shmem", "cxx", "by_pkg", "shmem_by_pkg"]
    if there.has("libnvshmemrs_fortran.a"):
        programs.append("fine")
    if there.has("libnvshmemrs_nvshmem.so"):
        programs.append("nvshmem")
    for name in programs:
        there.runs(sources / "build" / name)


def test_cmake_says_what_is_not_there(there: Installation, sources: Path) -> None:
    start = "cmake_minimum_required(VERSION 3.18)\nproject(fine LANGUAGES C)\n"
    wanted = "find_package(nvshmemrs REQUIRED COMPONENTS nothing)\n"
    assert "has no nothing" in configure(there, sources, start + wanted, fails=True)
    for version in ("9.0", "0.9"):
        later = f"find_package(nvshmemrs {version} REQUIRED)\n"
        assert "version" in configure(there, sources, start + later, fails=True)


def test_a_plain_compiler(there: Installation, sources: Path) -> None:
    include, library = there.prefix / "include", there.prefix / "lib"
    link = [f"-L{library}", f"-Wl,-rpath,{library}"]
    run(["cc", str(sources / "own.c"), f"-I{include}", *link, "-lnvshmemrs", "-o", str(sources / "a")])
    there.runs(sources / "a")
    compat = [f"-I{include}/nvshmemrs-compat", f"-I{include}"]
    libraries = ["-lnvshmemrs_shmem", "-lnvshmemrs"]
    run(["cc", str(sources / "shmem.c"), *compat, *link, *libraries, "-o", str(sources / "b")])
    there.runs(sources / "b")
    if shutil.which("nvcc"):
        shutil.copy(sources / "own.c", sources / "own.cu")
        link = [f"-L{library}", "-Xlinker", f"-rpath={library}", "-lnvshmemrs"]
        run(["nvcc", str(sources / "own.cu"), f"-I{include}", *link, "-o", str(sources / "c")])
        there.runs(sources / "c")


def test_compiler_wrappers(there: Installation, sources: Path) -> None:
    wrappers = [("nvshmemrs-cc", "own.c"), ("nvshmemrs-c++", "cxx.cpp")]
    if shutil.which("gfortran"):  # the wheel has sources, compiled at the first use
        wrappers.append(("nvshmemrs-fc", "fine.f90"))
    cache = str(sources / "cache")
    for name, source in wrappers:
        program = sources / name
        wrapper = str(there.programs / name)
        run([wrapper, str(sources / source), "-o", str(program)], XDG_CACHE_HOME=cache)
        there.runs(program)
        # In two steps, of which the first has nothing to link.
        run([wrapper, "-c", str(sources / source), "-o", f"{program}.o"], XDG_CACHE_HOME=cache)
        run([wrapper, f"{program}.o", "-o", str(program)], XDG_CACHE_HOME=cache)
        there.runs(program)
        shown = run([wrapper, "--show", "-c", "x"], XDG_CACHE_HOME=cache)
        assert "-lnvshmemrs" not in shown
        places = (f"-I{there.prefix}/include", f"-I{cache}/nvshmemrs/fortran-")
        assert any(place in shown for place in places)
        # Build systems are told to use the wrapper by these variables, which it gets, too.
        for own in (name, wrapper):
            again = run([wrapper, "--show", "-c", "x"], XDG_CACHE_HOME=cache, CC=own, CXX=own, FC=own)
            assert again == shown, again
    wrapper = str(there.programs / "nvshmemrs-cc")
    assert run([wrapper, "--show", "x"], CC="some cc").startswith("some cc -I")
    assert run([wrapper, "--show", "x"], CC="ccache nvshmemrs-cc -O2").startswith("ccache cc -O2 -I")


def test_openshmem_wrappers(sources: Path) -> None:
    folder = prefix() / "compat/bin"
    run([str(folder / "oshcc"), str(sources / "shmem.c"), "-o", str(sources / "a")], CC="oshcc")
    said = run([str(folder / "oshrun"), "-np", "2", str(sources / "a")])
    assert sorted(said.splitlines()) == ["PE 0 fine", "PE 1 fine"]
    shutil.copy(sources / "shmem.c", sources / "shmem.cpp")
    run([str(folder / "oshc++"), str(sources / "shmem.cpp"), "-o", str(sources / "b")])
    Installation(prefix(), prefix() / "bin").runs(sources / "b")


def test_a_folder_that_was_moved(sources: Path) -> None:
    moved = sources / "another place"
    shutil.copytree(prefix(), moved, symlinks=True)
    run([str(moved / "bin/nvshmemrs-cc"), str(sources / "own.c"), "-o", str(sources / "a")])
    there = Installation(moved, moved / "bin")
    there.runs(sources / "a")
    configure(there, sources, CMAKE)
    run(["cmake", "--build", str(sources / "build"), "--target", "shmem"])
    assert str(moved) in run(["ldd", str(sources / "build/shmem")])
    for file in moved.rglob("*"):
        if file.suffix in (".pc", ".cmake"):
            assert str(prefix()) not in file.read_text(), file


def test_what_is_installed() -> None:
    for name in ("nvshmemrs-run", "nvshmemrs-info", "nvshmemrs-top"):
        assert ".TH" in (prefix() / f"share/man/man1/{name}.1").read_text()
    julia = prefix() / "share/nvshmemrs/julia"
    assert 'name = "NVSHMEMRS"' in (julia / "Project.toml").read_text()
    assert (julia / "src/NVSHMEMRS.jl").is_file()
    assert (prefix() / "share/nvshmemrs/fortran/src/nvshmemrs.f90").is_file()
    # Other libraries have headers of these names.
    assert not list((prefix() / "include").glob("*shmem.h"))


def test_nvshmem_home(sources: Path) -> None:
    home = prefix() / "compat/nvshmem"
    if not (prefix() / "lib/libnvshmemrs_nvshmem.so.0").exists():
        assert not home.exists()
        return
    command = ["cc", str(sources / "nvshmem.c"), f"-I{home}/include", f"-L{home}/lib"]
    command += ["-lnvshmem_host", "-lnvshmem_device"]
    run([*command, f"-Wl,-rpath,{home}/lib", "-o", str(sources / "a")])
    Installation(prefix(), prefix() / "bin").runs(sources / "a")
    needed = run(["readelf", "-d", str(sources / "a")])
    assert "[libnvshmemrs_nvshmem.so.0]" in needed and "libnvshmem_host" not in needed
    text = CMAKE.split("find_package")[0] + (
        "find_package(NVSHMEM REQUIRED)\nadd_executable(a nvshmem.c)\n"
        "target_link_libraries(a nvshmem::nvshmem_host nvshmem::nvshmem_device)\n"
    )
    (sources / "CMakeLists.txt").write_text(text)
    run(["cmake", f"-DNVSHMEM_DIR={home}/lib/cmake/nvshmem", "-S", str(sources), "-B", str(sources / "b")])
    run(["cmake", "--build", str(sources / "b")])
    Installation(prefix(), prefix() / "bin").runs(sources / "b/a")


def test_a_prefix_that_cannot_be(tmp_path: Path) -> None:
    xtask = Path(os.environ.get("NVSHMEMRS_BIN_DIR", prefix())) / "xtask"
    if not xtask.is_file():
        pytest.skip("the installer is in the build folder only")
    file = tmp_path / "file"
    file.write_text("")
    said = run([str(xtask), "install", "--prefix", str(file)], fails=True)
    assert f"--prefix {file}: it is a file, and must be a folder" in said
    assert "--prefix <DIR>" in run([str(xtask), "install"], fails=True)
