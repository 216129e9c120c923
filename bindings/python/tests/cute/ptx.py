"""Runs the PTX of kernels in Python, one instruction of a thread after the other, where there is no
GPU: what kernels of CuTe, Numba and numba-cuda-mlir consist of, and no more. Memory is that of this
process. Threads take turns by chance, so what orders nothing shows.
"""

from __future__ import annotations

import contextlib
import ctypes
import random
import re
import struct
import time
from typing import Any, Callable, ContextManager, Dict, List, Optional, Tuple

_WORDS = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}
_FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}
# Held by atomic operations: who shares memory with another process sets it.
atomic: ContextManager[Any] = contextlib.nullcontext()


# Where the memory of a block begins in its own space.
SHARED = 1024


class Trap(Exception):
    """A kernel has ended itself."""


class Frame:
    """A call of a function: where it is, its registers, the arguments by their names, what it passes to
    functions that it calls or to its caller, and where its result goes.
    """

    def __init__(
        self, function: "Function", thread: "Thread", arguments: Dict[str, bytes], result: List[str]
    ) -> None:
        self.function, self.at = function, 0
        self.registers: Dict[str, int] = {"%tid.x": thread.number, "%ntid.x": thread.block.size}
        self.local = ctypes.create_string_buffer(function.local + 16)
        self.arguments, self.result = arguments, result
        self.passed: Dict[str, bytes] = {}


class Thread:
    """A thread: the calls that it is in, and the meeting in which it waits."""

    def __init__(self, block: "Block", number: int) -> None:
        self.block, self.number = block, number
        self.frame = Frame(block.kernel, self, block.arguments, [])
        self.callers: List[Frame] = []
        self.waits: Optional[Tuple[int, str, int]] = None
        self.ended = False
        # Groups of bulk stores, each (to, shared, bytes), that have not read what they store.
        self.group: List[Tuple[int, int, int]] = []
        self.groups: List[List[Tuple[int, int, int]]] = []


class Block:
    """The threads of a block, which is a launch of its own, the arguments by their names, the
    addresses of memory that other modules have, `shared` bytes of memory of the block's, and the
    number of the block in the grid.
    """

    def __init__(
        self,
        kernel: "Kernel",
        size: int,
        *arguments: bytes,
        memory: Optional[Dict[str, int]] = None,
        shared: int = 0,
        place: Tuple[int, int] = (0, 1),
    ) -> None:
        self.kernel, self.size, self.memory = kernel, size, memory or {}
        self.number, self.grid = place
        self.arguments = dict(zip(kernel.parameters, arguments))
        self.threads = [Thread(self, number) for number in range(size)]
        self.stores = self.bulks = 0
        self.shared = ctypes.create_string_buffer(shared)
        self.barriers: Dict[int, Barrier] = {}

    def inside(self, place: int, nbytes: int) -> int:
        """The address of bytes at a place in shared memory."""
        start = place - SHARED
        assert 0 <= start <= len(self.shared) - nbytes, (place, nbytes)
        return ctypes.addressof(self.shared) + start


class Barrier:
    """Of bulk loads: the phase, and the loads of it as (shared, source, bytes)."""

    def __init__(self) -> None:
        self.phase = self.expected = 0
        self.loads: List[Tuple[int, int, int]] = []


def bits_of(kind: str) -> int:
    """The bits of a type such as u32."""
    return 1 if kind == "pred" else int(kind[1:])


def signed(value: int, bits: int) -> int:
    """The number that bits are in two's complement."""
    return value - (1 << bits) if value >> (bits - 1) else value


def number(kind: str, bits: int) -> Any:
    """Bits as a number of a type."""
    size = bits_of(kind)
    if kind in _FLOATS:
        return struct.unpack(_FLOATS[kind], bits.to_bytes(size // 8, "little"))[0]
    return signed(bits, size) if kind[0] == "s" else bits


def to_bits(kind: str, value: Any) -> int:
    """A number's bits."""
    if kind in _FLOATS:
        return int.from_bytes(struct.pack(_FLOATS[kind], value), "little")
    return int(value) & ((1 << bits_of(kind)) - 1)


_TWO: Dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "div": lambda a, b: a / b if isinstance(a, float) else int(a / b) if a < 0 else a // b,
    "rem": lambda a, b: a % b,
    "exch": lambda a, b: b,
}
_COMPARE: Dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "ltu": lambda a, b: not a >= b,
    "gtu": lambda a, b: not a <= b,
    "leu": lambda a, b: not a > b,
    "geu": lambda a, b: not a < b,
    "neu": lambda a, b: not a == b,
    "num": lambda a, b: a == a and b == b,
    "nan": lambda a, b: a != a or b != b,
}


class Function:
    """A function's instructions."""

    def __init__(self, head: str, body: str) -> None:
        self.parameters = re.findall(r"([\w$]+_param_\d+)", head)
        depot = re.search(r"__local_depot\d+\[(\d+)\]", body)
        self.local = int(depot[1]) if depot else 0
        body = re.sub(r"//[^\n]*", "", body)
        self.labels: Dict[str, int] = {}
        self.steps: List[Tuple[str, str, List[str]]] = []
        # A label in braces is known there only; this is the number of the pair of braces.
        scope, pairs = "", 0
        for line in re.findall(r"\s*\$?\w+:|[^;{}]*(?:\{[^;{}]*\}[^;{}]*)*;|\{|\}", body):
            line = line.strip().rstrip(";").strip()
            if line == "{":
                scope, pairs = f" in {pairs}", pairs + 1
            elif line == "}":
                scope = ""
            elif line.endswith(":"):
                self.labels[line[:-1] + ("" if line[0] == "$" else scope)] = len(self.steps)
            elif line and line[0] != ".":
                self._add(line, scope)

    def _add(self, line: str, scope: str) -> None:
        found = re.match(r"(?:@(!?%?\w+)\s+)?([\w.:]+)\s*(.*)", line, re.S)
        assert found, line
        parts = re.findall(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,\s]+", found[3])
        if found[2].startswith("bra") and parts[0][0] != "$":
            parts[0] += scope
        self.steps.append((found[1] or "", found[2], parts))


class Kernel(Function):
    """A kernel, the functions that it calls, and its module's memory, by the text that the compiler
    wrote.
    """

    def __init__(self, text: str) -> None:
        found = re.search(r"\.entry\s+[\w$]+\((.*?)\)\s*[^{]*\{(.*?)\n\}", text, re.S)
        assert found, text
        super().__init__(*found.groups())
        functions = r"\.func\s*(?:\([^)]*\)\s*)?([\w$]+)\s*\(([^)]*)\)\s*\{(.*?)\n\}"
        self.functions = {
            name: Function(head, body) for name, head, body in re.findall(functions, text, re.S)
        }
        # Variables in shared memory, one behind the other, by their names.
        self.places: Dict[str, int] = {}
        self.shared = 0
        for alignment, name, nbytes in re.findall(
            r"\.shared \.align (\d+) \.b8 (\w+)\[(\d+)\];", text
        ):
            self.shared += -self.shared % int(alignment)
            self.places[name] = SHARED + self.shared
            self.shared += int(nbytes)
        self.memory: Dict[str, Any] = {}
        for name, nbytes, given in re.findall(
            r"\.global \.align \d+ \.b8 ([\w$]+)\[(\d+)\](?: = \{([^}]*)\})?;", text
        ):
            # Compilers align such memory to 64 bytes at most.
            buffer = ctypes.create_string_buffer(int(nbytes) + 64)
            at = -(-ctypes.addressof(buffer) // 64) * 64
            first = bytes(int(one) for one in given.split(",") if one.strip())
            ctypes.memmove(at, first, len(first))
            self.memory[name] = (at, buffer)


def value_of(thread: Thread, word: str) -> int:
    """An operand's bits."""
    if word in thread.frame.registers:
        return thread.frame.registers[word]
    if word[:2] in ("0f", "0d"):
        return int(word[2:], 16)
    if word.lstrip("-").isdigit() or word.startswith("0x"):
        return int(word.rstrip("U"), 0)
    if word == "%ctaid.x":
        return thread.block.number
    if word == "%nctaid.x":
        return thread.block.grid
    if word.startswith(("%ctaid", "%tid")):
        return 0
    if word.startswith(("%nctaid", "%ntid")):
        return 1
    if word == "%clock64":
        return time.monotonic_ns()
    if word in thread.block.kernel.places:
        return thread.block.kernel.places[word]
    if word.startswith("__dynamic_shmem"):
        return SHARED
    if word == "%dynamic_smem_size":
        return len(thread.block.shared)
    if word.startswith("__local"):
        return ctypes.addressof(thread.frame.local)
    if word.startswith(("%SP", "printf")):
        return 0
    if word in thread.block.memory:
        return thread.block.memory[word]
    if word in thread.block.kernel.memory:
        return int(thread.block.kernel.memory[word][0])
    raise KeyError(word)


def _set(thread: Thread, word: str, value: int) -> None:
    if word != "_":
        thread.frame.registers[word] = value


def _parts(word: str) -> List[str]:
    """The registers of a vector, or the one."""
    return re.findall(r"[^{},\s]+", word)


def _place(thread: Thread, word: str) -> int:
    base, _, offset = word.strip("[]").partition("+")
    return value_of(thread, base) + int(offset or 0)


def _load(thread: Thread, kinds: List[str], parts: List[str]) -> None:
    size = bits_of(kinds[-1]) // 8
    for k, word in enumerate(_parts(parts[0])):
        if "param" in kinds:
            name, _, offset = parts[1].strip("[]").partition("+")
            start = int(offset or 0) + k * size
            frame = thread.frame
            whole = frame.arguments[name] if name in frame.arguments else frame.passed[name]
            found = whole[start : start + size]
            _set(thread, word, int.from_bytes(found, "little"))
        else:
            at = _place(thread, parts[1]) + k * size
            assert at % size == 0 and _place(thread, parts[1]) % (size * len(_parts(parts[0]))) == 0
            _set(thread, word, _WORDS[size].from_address(at).value)


def _pass(thread: Thread, kinds: List[str], parts: List[str]) -> None:
    """Stores a part of an argument of the next call, or of this function's result."""
    size, words = bits_of(kinds[-1]) // 8, _parts(parts[1])
    name, _, offset = parts[0].strip("[]").partition("+")
    before = thread.frame.passed.get(name, b"")[: int(offset or 0)].ljust(int(offset or 0), b"\0")
    values = (value_of(thread, word) & ((1 << 8 * size) - 1) for word in words)
    thread.frame.passed[name] = before + b"".join(
        value.to_bytes(size, "little") for value in values
    )


def _call(thread: Thread, parts: List[str]) -> None:
    """Begins a call. A function that is not in the module, such as printf, does nothing."""
    names = [re.findall(r"[^(),\s]+", part) for part in parts]
    at = next(k for k, part in enumerate(parts) if part[0] != "(")
    function = thread.block.kernel.functions.get(parts[at])
    if function is None:
        return
    given = names[at + 1] if len(names) > at + 1 else []
    # An argument that has no value is not passed.
    passed = [thread.frame.passed.get(name, bytes(16)) for name in given]
    arguments = dict(zip(function.parameters, passed))
    thread.callers.append(thread.frame)
    thread.frame = Frame(function, thread, arguments, names[0] if at else [])


def _return(thread: Thread) -> None:
    """Ends a call, or the thread."""
    if not thread.callers:
        thread.ended = True
        return
    ended, thread.frame = thread.frame, thread.callers.pop()
    for name in ended.result:
        thread.frame.passed[name] = ended.passed.get("func_retval0", bytes(8))


def _store(thread: Thread, kinds: List[str], parts: List[str]) -> None:
    thread.block.stores += "local" not in kinds
    size, words = bits_of(kinds[-1]) // 8, _parts(parts[1])
    at = _place(thread, parts[0])
    if "shared" in kinds:
        at = thread.block.inside(at, size * len(words))
    assert at % (size * len(words)) == 0, at
    for k, word in enumerate(words):
        held = value_of(thread, word) & ((1 << 8 * size) - 1)
        _WORDS[size].from_address(at + k * size).value = held


def _modify(thread: Thread, kinds: List[str], parts: List[str], gives: bool) -> None:
    kind, given = kinds[-1], parts[2:] if gives else parts[1:]
    at = _place(thread, parts[1] if gives else parts[0])
    if "shared" in kinds:
        at = thread.block.inside(at, bits_of(kind) // 8)
    word = _WORDS[bits_of(kind) // 8].from_address(at)
    values = [value_of(thread, part) & ((1 << bits_of(kind)) - 1) for part in given]
    with atomic:
        old = word.value
        if "cas" in kinds:
            word.value = values[1] if old == values[0] else old
        else:
            word.value = to_bits(kind, _TWO[kinds[-2]](number(kind, old), number(kind, values[0])))
    if gives:
        _set(thread, parts[0], old)


def _moved(thread: Thread, kind: str, parts: List[str]) -> None:
    """A move, which may take a word apart or put it together."""
    to, source = _parts(parts[0]), _parts(parts[1])
    each = bits_of(kind) // max(len(to), len(source))
    whole = sum(value_of(thread, word) << (each * k) for k, word in enumerate(source))
    for k, word in enumerate(to):
        part = whole if len(to) == 1 else whole >> (each * k) & ((1 << each) - 1)
        _set(thread, word, part)


def _permuted(a: int, b: int, how: int) -> int:
    data = (a | b << 32).to_bytes(8, "little")
    found = 0
    for k in range(4):
        pick = how >> 4 * k & 15
        byte = data[pick & 7]
        found |= ((0xFF if byte & 0x80 else 0) if pick & 8 else byte) << 8 * k
    return found


def _converted(kinds: List[str], value: int) -> int:
    to, source = kinds[-2:]
    taken = number(source, value & ((1 << bits_of(source)) - 1))
    return to_bits(to, taken)


def _computed(name: str, kinds: List[str], values: List[int]) -> int:
    """What an instruction without memory gives."""
    kind = kinds[-1] if kinds else ""
    if kind.endswith("x2"):
        # Two numbers in a word.
        low, high = ([value >> shift & 0xFFFF for value in values] for shift in (0, 16))
        each = [*kinds[:-1], kind[:-2]]
        return _computed(name, each, low) | _computed(name, each, high) << 16
    if name == "selp":
        return values[0] if values[2] else values[1]
    if name == "setp":
        size = bits_of(kind)
        a, b = (number(kind, value & ((1 << size) - 1)) for value in values[:2])
        found = int(_COMPARE[kinds[0]](a, b))
        return _TWO[kinds[1]](found, values[2]) if len(values) > 2 else found
    if name == "prmt":
        return _permuted(*values)
    if name == "cvt":
        return _converted(kinds, values[0])
    if name == "bfi":
        mask = (1 << values[3]) - 1 << values[2]
        return values[1] & ~mask | values[0] << values[2] & mask
    if name in ("shl", "shr"):
        size = bits_of(kind)
        whole = number(kind, values[0] & ((1 << size) - 1))
        return to_bits(kind, whole << values[1] if name == "shl" else whole >> min(values[1], 64))
    if name == "popc":
        return bin(values[0]).count("1")
    given = [number(kind, value & ((1 << bits_of(kind)) - 1)) for value in values]
    if name in ("not", "neg"):
        return to_bits(kind, ~given[0] if name == "not" else -given[0]) & ((1 << bits_of(kind)) - 1)
    if name == "mad":
        return to_bits(kind, given[0] * given[1] + given[2])
    if "wide" in kinds:
        return to_bits(kind[0] + str(2 * bits_of(kind)), given[0] * given[1])
    if "hi" in kinds:
        return to_bits(kind, given[0] * given[1] >> bits_of(kind))
    return to_bits(kind, _TWO[name](*given))


def _stored(thread: Thread, left: int) -> None:
    """All bulk stores but the last `left` groups read what they store, as late as they may."""
    while len(thread.groups) > left:
        for to, shared, nbytes in thread.groups.pop(0):
            ctypes.memmove(to, thread.block.inside(shared, nbytes), nbytes)


def _bulk(thread: Thread, operation: str, parts: List[str]) -> None:
    """A bulk copy: it is made when something waits for it."""
    block = thread.block
    if "wait_group" in operation:
        _stored(thread, int(parts[0]))
    elif "commit_group" in operation:
        thread.groups.append(thread.group)
        thread.group = []
    else:
        to, source = _place(thread, parts[0]), _place(thread, parts[1])
        nbytes = value_of(thread, parts[2])
        assert (to | source | nbytes) % 16 == 0 and nbytes, (to, source, nbytes)
        block.bulks += 1
        if len(parts) == 4:
            block.barriers[_place(thread, parts[3])].loads.append((to, source, nbytes))
        else:
            thread.group.append((to, source, nbytes))


def _barrier(thread: Thread, kinds: List[str], parts: List[str]) -> None:
    """A barrier of bulk loads, which come when a thread has looked for them once in vain."""
    block = thread.block
    at = _place(thread, parts[0] if kinds[0] in ("init", "inval") else parts[1])
    if kinds[0] == "init":
        block.inside(at, 8)
        assert at % 8 == 0 and at not in block.barriers, at
        block.barriers[at] = Barrier()
    elif kinds[0] == "inval":
        assert not block.barriers.pop(at).loads
    elif kinds[0] == "arrive":
        block.barriers[at].expected += value_of(thread, parts[2])
    else:
        barrier, parity = block.barriers[at], value_of(thread, parts[2])
        came = barrier.phase & 1 != parity
        _set(thread, parts[0], int(came))
        if not came and sum(nbytes for *_, nbytes in barrier.loads) == barrier.expected > 0:
            for to, source, nbytes in barrier.loads:
                ctypes.memmove(block.inside(to, nbytes), source, nbytes)
            barrier.phase, barrier.expected, barrier.loads = barrier.phase + 1, 0, []


_NOTHING = ("fence", "membar", "prefetch", "nop")


def step(thread: Thread) -> None:
    """The thread's next instruction."""
    frame = thread.frame
    if frame.at >= len(frame.function.steps):
        _return(thread)
        return
    guard, operation, parts = frame.function.steps[frame.at]
    frame.at += 1
    if guard and value_of(thread, guard.lstrip("!")) == int(guard[0] == "!"):
        return
    name, *kinds = operation.split(".")
    if operation.startswith(_NOTHING):
        return
    if name == "bra":
        frame.at = frame.function.labels[parts[0]]
    elif name == "ret":
        _return(thread)
    elif name == "exit":
        thread.ended = True
    elif name == "call":
        _call(thread, parts)
    elif operation.startswith("st.param"):
        _pass(thread, kinds, parts)
    elif name == "trap":
        raise Trap(f"thread {thread.number}")
    elif name in ("bar", "barrier", "vote"):
        votes = name == "vote" or "red" in kinds
        if "warp" in kinds or name == "vote":
            group = 32
        else:
            # The last operand of a vote is the vote; one before it is how many threads meet.
            counted = len(parts) - 2 * votes > 1
            group = value_of(thread, parts[1 + votes]) if counted else 1024
        vote = value_of(thread, parts[1 if name == "vote" else -1]) if votes else 0
        thread.waits = (group, parts[0] if votes else "_", vote)
    elif name == "ld":
        _load(thread, kinds, parts)
    elif name == "st":
        _store(thread, kinds, parts)
    elif name in ("atom", "red"):
        _modify(thread, kinds, parts, name == "atom")
    elif name == "mov":
        _moved(thread, kinds[-1], parts)
    elif name == "mbarrier":
        _barrier(thread, kinds, parts)
    elif name == "cp":
        _bulk(thread, operation, parts)
    elif name == "isspacep":
        start = ctypes.addressof(thread.block.shared)
        inside = 0 <= value_of(thread, parts[1]) - start < len(thread.block.shared)
        _set(thread, parts[0], int(inside))
    elif name == "cvta":
        # A generic address of shared memory is the process's.
        away = SHARED - ctypes.addressof(thread.block.shared) if "shared" in kinds else 0
        value = value_of(thread, parts[1]) + (away if "to" in kinds else -away)
        _set(thread, parts[0], value & (1 << 64) - 1)
    else:
        _set(thread, parts[0], _computed(name, kinds, [value_of(thread, p) for p in parts[1:]]))


def _met(thread: Thread) -> bool:
    """Ends the meeting in which a thread waits, if its group is complete."""
    assert thread.waits
    size = thread.waits[0]
    first = thread.number - thread.number % size
    group = thread.block.threads[first : first + size]
    inside = [other for other in group if not other.ended]
    if not all(other.waits and other.waits[0] == thread.waits[0] for other in inside):
        return False
    vote = int(any(other.waits[2] for other in inside if other.waits))
    for other in inside:
        assert other.waits
        _set(other, other.waits[1], vote)
        other.waits = None
    return True


def run(blocks: List[Block], seed: int = 0, limit: int = 4_000_000) -> None:
    """Runs blocks side by side to their end. Raises TimeoutError after so many instructions."""
    chance = random.Random(seed)
    left = [thread for block in blocks for thread in block.threads]
    done = 0
    while left:
        thread = chance.choice(left)
        if thread.waits and not _met(thread):
            done += 1
        turns = chance.randrange(1, 64)
        while turns and not thread.waits and not thread.ended:
            step(thread)
            turns, done = turns - 1, done + 1
        if thread.ended:
            left.remove(thread)
        if done > limit:
            raise TimeoutError(f"{len(left)} threads have not ended after {done} instructions")
