# The extensions, against the stand-ins in fakes/: with CUDA.jl and MPI.jl themselves they have not been run. One rank of two.

include("check.jl")
pushfirst!(LOAD_PATH, joinpath(@__DIR__, "fakes"))
using CUDA
import MPI

# Julia before 1.9 loads no extensions.
for name in (:NVSHMEMRSCUDAExt, :NVSHMEMRSMPIExt)
    loaded = isdefined(Base, :get_extension) && Base.get_extension(NVSHMEMRS, name) !== nothing
    loaded || include(joinpath(@__DIR__, "..", "ext", "$name.jl"))
end

NVSHMEMRS.init(MPI.Comm(ARGS[1])) do job
    me, n = my_pe(), n_pes()
    @same (me, n) (parse(Int, ENV["FAKE_MPI_RANK"]), 2)
    x, source = NVSHMEMRS.zeros(Float64, 4), CuArray([1.0 + me, 2.0, 3.0])
    put!(view(x, 2:4), source, 1 - me)
    barrier()
    @same x [0.0, 2.0 - me, 2.0, 3.0]
    got = CuArray(zeros(3))
    get!(got, view(x, 2:4), 1 - me)
    @same Array(got) [1.0 + me, 2.0, 3.0]
    put_nbi!(view(x, 1:3), source, 1 - me)
    quiet()
    barrier()
    @same x [2.0 - me, 2.0, 3.0, 3.0]
    # This heap is in host memory.
    @refused ArgumentError ["host memory"] unsafe_wrap(CuArray, x)
    @refused NVSHMEMError ["NOT_SUPPORTED"] Stream(CuStream(C_NULL))
    device = SymmetricArray{Float64, 1}(x.address, size(x), false, x.allocation)
    @same Array(unsafe_wrap(CuArray, device)) collect(x)
    @refused ArgumentError ["device memory", "CuArray"] device[1]
    barrier()
end
print("extensions ok PE $(ENV["FAKE_MPI_RANK"])\n")
