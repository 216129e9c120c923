"""The PEs that share a GPU, and the first PE of each: their teams, and a sum over the members of each."""

import os

import torch
from expect import raises

import nvshmemrs.core as nvshmem
from nvshmemrs.core import Teams

count = torch.cuda.device_count()
number = int(os.environ.get("NVSHMEMRS_PE", "0")) % count
torch.cuda.set_device(number)
nvshmem.init(device=torch.device("cuda", number), heap_bytes=1 << 25, timeout=60)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
word, total = nvshmem.tensor(1, dtype=torch.int64), nvshmem.tensor(1, dtype=torch.int64)
sharers = [pe for pe in range(n) if pe % count == number]
leaders = list(range(min(n, count)))
for team, pes in ((Teams.TEAM_SAME_GPU, sharers), (Teams.TEAM_GPU_LEADERS, leaders)):
    if me in pes:
        word.fill_(1 << me)
        nvshmem.reduce(team, total, word, "sum")
        assert total.tolist() == [sum(1 << pe for pe in pes)], (team, pes)
        assert nvshmem.team_my_pe(team) == pes.index(me) and nvshmem.team_n_pes(team) == len(pes)
    else:
        assert nvshmem.team_my_pe(team) == nvshmem.team_n_pes(team) == -1
        assert nvshmem.team_translate_pe("WORLD", me, team) == -1
        raises(nvshmem.NvshmemInvalid, "first PE of each GPU", nvshmem.barrier, team)
    nvshmem.barrier("WORLD")
nvshmem.free_tensor(word)
nvshmem.free_tensor(total)
nvshmem.finalize()
print("ok")
