"""The functions that kernels in Python call, which a frontend compiles.

The package of a frontend, such as ``numba`` beside this one, has this folder in its search path. So
these files are submodules of it, and ``_backend`` is its own: the rows of ``primitives.TABLE`` as
functions of its language, and queries of types. The same files run as they are, in Python on the
host heap, if ``_backend`` offers that, as for Numba's simulator.

Numbers are signed 64-bit integers wherever a kernel is compiled: addresses, offsets, and the bits
of elements, which are 0 above the element's size. What is said of order and of protocols is that
of ``nvshmemrs_device.cuh``, function by function.
"""
