"""Numbers of the operations of kernels, as core/crates/vocabulary/src/operation.rs has them. Kernels report
wrong calls by these.
"""

from __future__ import annotations

from typing import Dict

BARRIER, SYNC, BROADCAST, REDUCE, SIGNAL_WAIT, FCOLLECT, ALLTOALL = 5, 6, 7, 8, 9, 11, 13
REDUCESCATTER, WAIT_UNTIL, WAIT_UNTIL_ALL, WAIT_UNTIL_ANY, WAIT_UNTIL_SOME = 15, 40, 41, 42, 43
PUT, GET, PUT_SIGNAL, SIGNAL_OP, PUT_NBI, GET_NBI, IPUT, IGET = 50, 51, 52, 53, 57, 58, 61, 62
QUIET, FENCE = 55, 56
PUT_SIGNAL_NBI, SIGNAL_FETCH, ATOMIC_FETCH, ATOMIC_SET, ATOMIC_SWAP = 65, 66, 70, 71, 72
ATOMIC_COMPARE_SWAP, ATOMIC_INC, ATOMIC_FETCH_INC, ATOMIC_ADD, ATOMIC_FETCH_ADD = 73, 74, 75, 76, 77
ATOMIC_AND, ATOMIC_FETCH_AND, ATOMIC_OR, ATOMIC_FETCH_OR = 78, 79, 80, 81
ATOMIC_XOR, ATOMIC_FETCH_XOR, TEST, TEST_ALL, TEST_ANY, TEST_SOME = 82, 83, 92, 93, 94, 95

OPERATIONS: Dict[str, int] = {
    name.lower(): number for name, number in globals().items() if name.isupper()
}
"""The numbers by the names of the functions."""
NAMES = {number: name for name, number in OPERATIONS.items()}
"""The names by the numbers."""
