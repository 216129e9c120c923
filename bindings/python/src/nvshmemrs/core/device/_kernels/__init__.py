"""The functions that kernels in Python call: one source for all frontends that compile Python.

The packages ``numba`` and ``numba_cuda_mlir`` beside this one have this folder in their search path,
so each runs these files as its own submodules, with its own ``_backend``. The ``_backend`` here runs
them as they are, in Python on the host heap, for Numba's simulator.

Numbers are signed 64-bit integers wherever a kernel is compiled: addresses, offsets, and the bits of
elements, which are 0 above the element's size. What is said of order and of protocols is that of
``nvshmemrs_device.cuh``, function by function.
"""
