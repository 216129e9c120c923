"""Prints a snapshot of the job of a process, as the programs in other languages do."""

import sys

from nvshmemrs import inspect


def numbers(values):
    return ",".join(map(str, values))


seen = inspect.attach(int(sys.argv[1])).snapshot(20.0)
print(f"{seen.stage.name.lower()} of {seen.n_pes}, culprits {numbers(seen.culprits)}")
for pe in seen.pes:
    details = pe.details
    assert isinstance(details, inspect.Details) and details.fresh and pe.silence == "", pe.silence
    heap = details.heap
    print(f"PE {pe.pe} is {pe.state.name.lower()} and waits for {numbers(pe.waits_for)}")
    print(f"library {details.library}, heap {heap.memory} {heap.bytes} {heap.used_bytes} {heap.allocations}")
    for one in details.allocations:
        print(f"allocation {one.offset} {one.bytes} {one.place}")
    for one in details.streams:
        print(f"stream {one.submitted} {one.done} {one.place}")
    for one in details.settings:
        if one.source != "default":
            print(f"setting {one.name} {one.source}")
    if details.checker:
        print(f"findings {details.checker.found}")
        for report in details.checker.reports:
            print(report)
    for one in details.traffic or []:
        print(f"traffic {one.pe} {one.puts} {one.put_bytes} {one.gets} {one.get_bytes} {one.atomics} {one.signals}")
for team in seen.teams:
    place = team.place or ""
    print(f"team {team.number} {team.name} {numbers(team.members)} {numbers(team.collectives)} {place}")
for wait in seen.waits:
    limit = "never" if wait.gives_up_in is None else wait.limit
    print(f"wait of {wait.pe} in {wait.operation} on {wait.team} {wait.epoch} for {numbers(wait.waits_for)}, {limit}")
try:
    inspect.attach(int(sys.argv[2]))
except inspect.InspectError.NoJob as error:
    print(error)
