# Parsed by bindings/python/tests/test_packaging.py; not built.
from spack.package import *


class Nvshmemrs(Package):
    """One-sided communication in the model of NVSHMEM and OpenSHMEM."""

    homepage = "https://example.invalid/nvshmemrs"
    git = "https://example.invalid/nvshmemrs.git"

    license("MIT OR Apache-2.0")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("mpi", default=False, description="Build the plugin for PEs on several hosts")
    variant("fortran", default=True, description="Install the Fortran modules")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("rust@1.88:", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("llvm+clang", type="build", when="+mpi")

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        if spec.satisfies("+mpi"):
            cargo("xtask", "plugins")
        cargo("xtask", "install", "--prefix", prefix)
