"PEs that are the ranks of a communicator of MPI.jl. Julia loads it with both packages, from 1.9 on."
module NVSHMEMRSMPIExt

using NVSHMEMRS: NVSHMEMRS, FFI
import MPI

"""
    NVSHMEMRS.init(comm::MPI.Comm; keywords...) -> Job
    NVSHMEMRS.init(f, comm::MPI.Comm; keywords...)

Joins a job whose PEs are the ranks of `comm`, with the same numbers. Rank 0 makes a unique id and
broadcasts it. Keywords as for the other forms.

Collective over `comm`. NVSHMEM `nvshmemx_init_attr` with `NVSHMEMX_INIT_WITH_MPI_COMM`.
Errors: as the other forms.
"""
function NVSHMEMRS.init(comm::MPI.Comm; keywords...)
    pe, n_pes = MPI.Comm_rank(comm), MPI.Comm_size(comm)
    bytes = zeros(UInt8, sizeof(FFI.UniqueId))
    if pe == 0
        id = Ref(NVSHMEMRS.unique_id())
        GC.@preserve id unsafe_copyto!(pointer(bytes), Ptr{UInt8}(Base.unsafe_convert(Ptr{FFI.UniqueId}, id)), length(bytes))
    end
    MPI.Bcast!(bytes, comm; root = 0)
    id = GC.@preserve bytes unsafe_load(Ptr{FFI.UniqueId}(pointer(bytes)))
    return NVSHMEMRS.init(id, pe, n_pes; keywords...)
end

end
