"""Draws the memory and threads of a soak run's PEs over time. Argument: the folder with soak.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Callable

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def main() -> None:
    folder = Path(sys.argv[1])
    run = json.loads((folder / "soak.json").read_text())
    pes = run["pes"]
    figure, axes = plt.subplots(2, 3, figsize=(15, 8), layout="constrained", sharex=True)
    checks = sum(run["checks"].values())
    figure.suptitle(
        f"soak: {len(pes)} PEs, {run['seconds']:.0f} s, seed {run['seed']}: "
        f"{max(pe['rounds'] for pe in pes)} rounds, {checks} operations checked"
    )
    colours = plt.get_cmap("viridis")
    panels: list[tuple[str, Callable[[dict[str, Any]], float]]] = [
        ("own pages, MiB", lambda sample: sample["anonymous_kib"] / 1024),
        ("heap pages touched, MiB", lambda sample: sample["shared_kib"] / 1024),
        ("all heaps backed by memory, MiB", lambda sample: sample["committed_kib"] / 1024),
        ("descriptors", lambda sample: sample["descriptors"]),
        ("threads", lambda sample: sample["threads"]),
        ("rounds", lambda sample: sample["round"]),
    ]
    for axis, (title, value) in zip(axes.flat, panels):
        for pe in pes:
            colour = colours(pe["pe"] / max(1, len(pes) - 1))
            samples = pe["samples"]
            minutes = [sample["ms"] / 60000 for sample in samples]
            axis.plot(minutes, [value(sample) for sample in samples], color=colour, lw=0.5, alpha=0.35)
            empty = [sample for sample in samples if sample["empty"]]
            axis.plot(
                [sample["ms"] / 60000 for sample in empty],
                [value(sample) for sample in empty],
                color=colour,
                lw=1.2,
                label=f"PE {pe['pe']}",
            )
        axis.axvline(run["seconds"] / 180, color="grey", lw=0.8, ls=":")
        axis.set_title(title, fontsize=10)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    for axis in axes[1]:
        axis.set_xlabel("minutes")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=8)
    figure.text(
        0.01,
        -0.02,
        "thick: when everything was given back; thin: in between; dotted: end of the warm-up",
        fontsize=8,
        ha="left",
    )
    figure.savefig(folder / "soak.png", dpi=110, bbox_inches="tight")


main()
