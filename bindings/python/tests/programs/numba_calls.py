"""Lines that call the functions for kernels, for programs that compile them."""

from __future__ import annotations

from typing import Any, Callable, Dict

from nvshmemrs.core import ComparisonType, SignalOp


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


# Calls with members of enums, and with literals, at places where others belong.
WRONG = {
    "shmem.signal_wait(sig, 1, GE)": "signal_val is a ComparisonType, and it must be a number. Call "
    "signal_wait(signal_var, signal_op: ComparisonType, signal_val)",
    "shmem.signal_wait(sig, ADD, 1)": "signal_op is a SignalOp, and it must be a ComparisonType",
    "shmem.signal_wait(sig, 6, 1)": "signal_op is 6, and it must be a ComparisonType",
    "shmem.wait_until(d, 1, GE)": "value is a ComparisonType",
    "shmem.wait_until_all(d, cmp=9, value=1)": "cmp is 9",
    "shmem.signal_op(sig, ADD, 1, pe)": "signal_val is a SignalOp",
    "shmem.signal_op(sig, 1, GE, pe)": "signal_op is a ComparisonType, and it must be a SignalOp",
    "shmem.put_signal(d, s, sig, 1, 1, pe)": "signal_op is 1, and it must be a SignalOp",
    "shmem.put(d, s, ADD)": "pe is a SignalOp",
    "shmem.atomic_add(d, GE, pe)": "value is a ComparisonType",
    "shmem.reduce(GE, d, s, 'sum')": "team is a ComparisonType",
}
MEMBERS = {"ADD": SignalOp.SIGNAL_ADD, "GE": ComparisonType.CMP_GE}


def refuses_members_at_wrong_places(compile: Callable[[str], Any], wrong: Dict[str, str]) -> None:
    for line, words in wrong.items():
        try:
            compile(line)
        except Exception as error:  # the compiler's, or NvshmemInvalid
            assert words in str(error), f"{line}: {error}"
        else:
            raise AssertionError(f"{line} was not refused")
