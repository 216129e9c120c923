"""A stand-in for mpi4py, as far as programs of NVSHMEM4Py start with it: the processes are those of
nvshmemrs-run, and meet in the folder that FAKE_MPI names.
"""
