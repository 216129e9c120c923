"""Lines that call the functions for kernels, for programs that compile them."""

from __future__ import annotations


def call(name: str) -> str:
    """A line that calls a function of `shmem` with arguments that it takes."""
    if name.startswith("atomic_"):
        if name == "atomic_compare_swap":
            return f"d[0] = shmem.{name}(d, 1, 2, pe)"
        result = "d[0] = " if "fetch" in name or name == "atomic_swap" else ""
        value = "" if name in ("atomic_fetch", "atomic_inc", "atomic_fetch_inc") else "1, "
        return f"{result}shmem.{name}(d, {value}pe)"
    if name.startswith(("reduce", "reducescatter")):
        return f"shmem.{name}(team, d, s, 'sum')"
    if name.startswith(("fcollect", "alltoall", "broadcast")):
        return f"shmem.{name}(team, d, s)"
    if name.startswith(("wait_until", "test")):
        indices = "idx, " if "some" in name else ""
        value = "d" if "vector" in name else "3"
        status = ", st" if "_a" in name or "some" in name else ""
        return f"shmem.{name}(d, {indices}5, {value}{status})"
    if name.startswith(("iput", "iget")):
        return f"shmem.{name}(d, s, 2, 3, 4, pe)"
    if name.startswith("put_signal"):
        return f"shmem.{name}(d, s, sig, 1, 9, pe)"
    if name.startswith(("put", "get_peer", "get")) and name != "get_multicast_array":
        if name == "get_peer_array":
            return f"shmem.{name}(d, pe)[0] = s[0]"
        return f"shmem.{name}(d, s, pe)"
    named = {
        "p": "shmem.p(d, s[1], pe)",
        "g": "d[0] = shmem.g(s, pe)",
        "signal_op": "shmem.signal_op(sig, 1, 10, pe)",
        "signal_fetch": "idx[0] = shmem.signal_fetch(sig)",
        "signal_wait": "shmem.signal_wait(sig, 5, 3)",
        "team_my_pe": "idx[0] = shmem.team_my_pe(team)",
        "team_n_pes": "idx[0] = shmem.team_n_pes(team)",
        "team_translate_pe": "idx[0] = shmem.team_translate_pe(team, 0, 0)",
        "my_pe": "idx[0] = shmem.my_pe()",
        "n_pes": "idx[0] = shmem.n_pes()",
        "ask_smem": "idx[0] = shmem.ask_smem(0)",
        "give_smem": "shmem.give_smem(st)",
        "aborted": "st[0] = shmem.aborted()",
    }
    if name in named:
        return named[name]
    team = "team" if name.startswith(("sync", "barrier")) and "_all" not in name else ""
    return f"shmem.{name}({team})"
