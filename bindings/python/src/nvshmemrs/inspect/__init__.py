"""Inspects a running job: its waits, and the resources of every PE.

Attach to a job by the process of its launcher or of any of its PEs, or from one of its PEs, and
take snapshots::

    from nvshmemrs import inspect

    job = inspect.attach(4711)
    seen = job.snapshot()
    print("\\n".join(seen.summary))
    for pe in seen.pes:
        if pe.pe in seen.culprits:
            print(f"PE {pe.pe} holds the others up: it is {pe.doing}")

No PE waits for a snapshot, and nothing is written to the job. What is private to a PE is told by
its watchdog, so a PE answers, too, that hangs. ``docs/inspect.md`` describes the values.
"""

from ._generated import (
    Allocation,
    Checker,
    Details,
    Heap,
    InspectError,
    Job,
    Pe,
    Setting,
    Snapshot,
    Stage,
    State,
    Stream,
    Team,
    Traffic,
    Wait,
    attach,
    library_version,
    this_job,
)
from ._reprs import give_reprs

give_reprs(
    [
        Allocation,
        Checker,
        Details,
        Heap,
        Pe,
        Setting,
        Snapshot,
        Stream,
        Team,
        Traffic,
        Wait,
    ],
    Job,
)
del give_reprs

__all__ = [
    "Allocation",
    "Checker",
    "Details",
    "Heap",
    "InspectError",
    "Job",
    "Pe",
    "Setting",
    "Snapshot",
    "Stage",
    "State",
    "Stream",
    "Team",
    "Traffic",
    "Wait",
    "attach",
    "library_version",
    "this_job",
]
