//! Operations inside of JAX programs. The build script compiles the C files of this folder to `libnvshmemrs_jax.so`, in cargo's output folder:
//! handlers of XLA's foreign function interface, which `nvshmemrs.core.interop.jax` registers.
