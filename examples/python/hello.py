import nvshmemrs.core as nvshmem

nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
mine, inbox, total = (nvshmem.array(1, dtype="int64") for _ in range(3))
arrived = nvshmem.array(1, dtype="uint64")
mine[0] = me + 1

nvshmem.put_signal(inbox, mine, arrived, 1, nvshmem.SignalOp.SIGNAL_SET, (me + 1) % n)
nvshmem.signal_wait(arrived, 1, nvshmem.ComparisonType.CMP_EQ)
nvshmem.reduce(nvshmem.Teams.TEAM_WORLD, total, mine, "sum")
print(f"PE {me} of {n}: my neighbour sent {inbox[0]}, the sum over all PEs is {total[0]}")

nvshmem.finalize()
