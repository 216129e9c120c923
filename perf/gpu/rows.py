"""The rows that the programs of `run-gpu-bench --python-kernels` print for its table."""

from __future__ import annotations

import json
import os


def row(
    work: str,
    value: float,
    unit: str,
    *,
    most: float | None = None,
    least: float | None = None,
    share: float | None = None,
    against: str = "",
    peer: tuple[str, float] | None = None,
    note: str = "",
) -> None:
    """Prints a figure, for the reader or, with BENCH_ROWS=1, as a line of JSON for run-gpu-bench; on one PE only.

    Wanted is `most`, or `least`, in the unit, or `share`, the most that it may be of the peer's. The peer is a name and a figure, or
    `against` names a figure of torch_peer.py, such as "ping 8".
    """
    if os.environ.get("BENCH_ROWS") == "1":
        wanted = {"most": most, "least": least, "share": share}
        line = {"row": work, "value": value, "unit": unit, **wanted, "against": against, "peer": peer, "note": note}
        # In one write, because all PEs share a pipe.
        os.write(1, (json.dumps(line) + "\n").encode())
        return
    beside = f"{peer[0]} {peer[1]:.2f}" if peer else ""
    told = [note, beside, wanted_words(most, least, share)]
    print(f"{work:<60} {value:>10.2f} {unit:<5} {'; '.join(filter(None, told))}", flush=True)


def wanted_words(most: float | None, least: float | None, share: float | None) -> str:
    """The target of a figure in words; empty without a target."""
    if share is not None:
        return f"wanted: at most {share:g} of the peer's"
    if most is not None:
        return f"wanted: at most {most:g}"
    return f"wanted: at least {least:g}" if least is not None else ""


def met(value: float, peer: float | None, most: float | None, least: float | None, share: float | None) -> str:
    """Whether a figure meets its target: "met" or "MISSED"; empty without a target or without the peer."""
    if share is not None:
        return "" if not peer else "met" if value <= share * peer else "MISSED"
    if most is not None:
        return "met" if value <= most else "MISSED"
    return "" if least is None else "met" if value >= least else "MISSED"
