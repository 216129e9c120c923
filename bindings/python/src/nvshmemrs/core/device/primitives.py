"""The accesses that communication in kernels is made of: one table, which each frontend turns into
functions of its language.

`TABLE` has a row for each primitive: its name, its arguments and result, and its PTX. Addresses are
u64. All accesses but those of lent shared memory are to global memory, and all that have an order
are at system scope, so they order between GPUs and with the host. They are those of ``nvshmemrs_device.cuh``, so that kernels of
all frontends can be in one job.

=================  ===============================================================================
row                effect
=================  ===============================================================================
ld_weak, st_weak   plain accesses, which order nothing
ld, st             accesses to words that other PEs access, too: relaxed, acquire, release
red                read-modify-writes without a result: releases, but for ``red_relaxed_add_u64``
atom               operations that give the old value: acquire and release
cas                compare and swap, which gives the old value: acquire and release
fence              ``fence_acq_rel``: a release towards every PE; ``fence_sc``: a full barrier
copy               one element from one address to another, plain; ``_x4``: four at once
prefetch           asks for a line of memory, and changes nothing
shared, bulk       bulk copies through shared memory: see `_bulks`
cvt, bits          conversions of half precision; the same bits as another type
meet_128, any_128  the hardware's barrier of a number, for 128 threads; whether one of them votes yes
clock              cycles of the multiprocessor
trap               ends the kernel with an error
=================  ===============================================================================

Nothing here imports a frontend.
"""

from __future__ import annotations

from typing import Dict, Iterator, NamedTuple, Optional, Tuple

__all__ = ["CONSTRAINTS", "TABLE", "Primitive"]

CONSTRAINTS = {"u8": "r", "u16": "h", "u32": "r", "u64": "l", "f32": "f", "f64": "d"}
"""The register that inline PTX keeps a value of a type in. A u8 is in a register of 32 bits, whose
upper bits are 0 in results and ignored in arguments."""


class Primitive(NamedTuple):
    """A row of the table."""

    name: str
    """Such as ``ld_acquire_u64``."""
    result: Optional[str]
    """The type of the result, a key of `CONSTRAINTS`; None if there is none."""
    arguments: Tuple[str, ...]
    """The types of the arguments, keys of `CONSTRAINTS`."""
    ptx: str
    """The instructions, without operands put in: ``$0`` is the result, if there is one, and the
    arguments follow. A ``%`` is PTX's own."""
    memory: bool = True
    """Whether it accesses or orders memory, so that compilers must keep its place."""
    least: Tuple[int, int] = (8, 0)
    """The lowest compute capability that has the instructions."""

    @property
    def constraints(self) -> str:
        """The operands as LLVM's inline assembly has them, such as ``=l,l,~{memory}``."""
        parts = [] if self.result is None else ["=" + CONSTRAINTS[self.result]]
        parts += [CONSTRAINTS[argument] for argument in self.arguments]
        return ",".join(parts + ["~{memory}"] * self.memory)


def _accesses() -> Iterator[Primitive]:
    for size in (8, 16, 32, 64):
        kind = f"u{size}"
        for order in ("relaxed", "acquire"):
            ptx = f"ld.{order}.sys.global.{kind} $0, [$1];"
            yield Primitive(f"ld_{order}_{kind}", kind, ("u64",), ptx)
        for order in ("relaxed", "release"):
            ptx = f"st.{order}.sys.global.{kind} [$0], $1;"
            yield Primitive(f"st_{order}_{kind}", None, ("u64", kind), ptx)
        yield Primitive(f"ld_weak_{kind}", kind, ("u64",), f"ld.global.{kind} $0, [$1];")
        yield Primitive(f"st_weak_{kind}", None, ("u64", kind), f"st.global.{kind} [$0], $1;")


def _atomics() -> Iterator[Primitive]:
    for size in (32, 64):
        kind = f"u{size}"
        for name, ptx in (("exch", "b"), ("add", "u"), ("and", "b"), ("or", "b"), ("xor", "b")):
            operation = f"sys.global.{name}.{ptx}{size}"
            yield Primitive(
                f"atom_{name}_{kind}",
                kind,
                ("u64", kind),
                f"atom.acq_rel.{operation} $0, [$1], $2;",
            )
            if name != "exch":
                ptx = f"red.release.{operation} [$0], $1;"
                yield Primitive(f"red_{name}_{kind}", None, ("u64", kind), ptx)
    for size in (16, 32, 64):
        kind = f"u{size}"
        ptx = f"atom.acq_rel.sys.global.cas.b{size} $0, [$1], $2, $3;"
        yield Primitive(f"cas_{kind}", kind, ("u64", kind, kind), ptx)
    ptx = "atom.acq_rel.sys.global.add.f64 $0, [$1], $2;"
    yield Primitive("atom_add_f64", "f64", ("u64", "f64"), ptx)
    ptx = "red.release.sys.global.add.f64 [$0], $1;"
    yield Primitive("red_add_f64", None, ("u64", "f64"), ptx)
    ptx = "red.relaxed.sys.global.add.u64 [$0], $1;"
    yield Primitive("red_relaxed_add_u64", None, ("u64", "u64"), ptx)


def _copies() -> Iterator[Primitive]:
    """copy(dest, source); copy_u128_x4(dest, source, step), where step is the bytes between two of
    the four elements of sixteen bytes. Both addresses are aligned to the element.
    """
    for size in (8, 16, 32, 64):
        register = f".reg .b{max(size, 16)} value; "
        ptx = f"ld.global.u{size} value, [$1]; st.global.u{size} [$0], value; "
        yield Primitive(f"copy_u{size}", None, ("u64", "u64"), "{ " + register + ptx + "}")
    ptx = "ld.global.v2.u64 {a, b}, [$1]; st.global.v2.u64 [$0], {a, b}; "
    yield Primitive("copy_u128", None, ("u64", "u64"), "{ .reg .b64 a, b; " + ptx + "}")
    for count in (4, 8):
        loads = "".join(
            f"ld.global.v2.u64 {{a{k}, b{k}}}, [from]; add.u64 from, from, $2; "
            for k in range(count)
        )
        stores = "".join(
            f"st.global.v2.u64 [to], {{a{k}, b{k}}}; add.u64 to, to, $2; " for k in range(count)
        )
        registers = f".reg .b64 a<{count}>, b<{count}>, from, to; "
        moves = "mov.b64 from, $1; mov.b64 to, $0; "
        ptx = "{ " + registers + moves + loads + stores + "}"
        yield Primitive(f"copy_u128_x{count}", None, ("u64", "u64", "u64"), ptx)


BULK_STAGES = 8
"""Buffers of a bulk copy, and barriers of eight bytes."""


def _bulks() -> Iterator[Primitive]:
    """The primitives of a bulk copy through lent shared memory, as in ``nvshmemrs_device.cuh``.
    Addresses in shared memory are in its own address space, u32.

    ``shared_place`` is the address there of a generic address, and all bits 1 of one elsewhere.
    ``shared_take`` gives 0 to the thread of the block that gets a word, until ``shared_free``.
    """
    begin = "".join(
        f"add.u32 at, $0, {8 * k}; mbarrier.init.shared.b64 [at], 1; " for k in range(BULK_STAGES)
    )
    end = "".join(
        f"add.u32 at, $0, {8 * k}; mbarrier.inval.shared.b64 [at]; " for k in range(BULK_STAGES)
    )
    engines = (9, 0)
    ptx = "isspacep.shared p, $1; cvta.to.shared.u64 at, $1; selp.b64 $0, at, -1, p; "
    ptx = "{ .reg .pred p; .reg .b64 at; " + ptx + "}"
    yield Primitive("shared_place", "u64", ("u64",), ptx, memory=False)
    ptx = "atom.acquire.cta.shared.cas.b32 $0, [$1], 0, 1;"
    yield Primitive("shared_take", "u32", ("u32",), ptx)
    ptx = "{ .reg .b32 none; mov.b32 none, 0; st.release.cta.shared.u32 [$0], none; }"
    yield Primitive("shared_free", None, ("u32",), ptx)
    # The engines see the barriers, this thread's writes, and the writes that it has observed.
    fences = "fence.mbarrier_init.release.cluster; fence.proxy.async; "
    yield Primitive(
        "bulk_begin", None, ("u32",), "{ .reg .b32 at; " + begin + fences + "}", least=engines
    )
    # (shared, source, bytes, barrier)
    ptx = "mbarrier.arrive.expect_tx.shared.b64 _, [$3], $2; "
    ptx += "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1], $2, [$3];"
    yield Primitive("bulk_load", None, ("u32", "u64", "u32", "u32"), ptx, least=engines)
    # (barrier, parity): whether the load has come; it may take a while to say no.
    ptx = "mbarrier.try_wait.parity.shared.b64 p, [$1], $2; selp.u32 $0, 1, 0, p; "
    ptx = "{ .reg .pred p; " + ptx + "}"
    yield Primitive("bulk_came", "u32", ("u32", "u32"), ptx, least=engines)
    # (dest, shared, bytes)
    ptx = "cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2; cp.async.bulk.commit_group;"
    yield Primitive("bulk_store", None, ("u64", "u32", "u32"), ptx, least=engines)
    # All stores except the latest have read their sources.
    yield Primitive("bulk_await_reads", None, (), "cp.async.bulk.wait_group.read 1;", least=engines)
    ptx = "{ .reg .b32 at; cp.async.bulk.wait_group 0; " + end + "}"
    yield Primitive("bulk_end", None, ("u32",), ptx, least=engines)


def _others() -> Iterator[Primitive]:
    yield Primitive("fence_acq_rel", None, (), "fence.acq_rel.sys;")
    yield Primitive("fence_sc", None, (), "fence.sc.sys;")
    yield Primitive("prefetch", None, ("u64",), "prefetch.global.L2 [$0];")
    yield Primitive("cvt_f32_f16", "f32", ("u16",), "cvt.f32.f16 $0, $1;", memory=False)
    yield Primitive("cvt_f16_f32", "u16", ("f32",), "cvt.rn.f16.f32 $0, $1;", memory=False)
    for result, argument, size in (
        ("u32", "f32", 32),
        ("f32", "u32", 32),
        ("u64", "f64", 64),
        ("f64", "u64", 64),
    ):
        name = f"bits_{result}_{argument}"
        yield Primitive(name, result, (argument,), f"mov.b{size} $0, $1;", memory=False)
    yield Primitive("meet_128", None, ("u32",), "bar.sync $0, 128;")
    ptx = "setp.ne.u32 p, $2, 0; bar.red.or.pred q, $1, 128, p; selp.u32 $0, 1, 0, q; "
    yield Primitive("any_128", "u32", ("u32", "u32"), "{ .reg .pred p, q; " + ptx + "}")
    yield Primitive("clock", "u64", (), "mov.u64 $0, %clock64;")
    yield Primitive("trap", None, (), "trap;")


TABLE: Dict[str, Primitive] = {
    row.name: row for make in (_accesses, _atomics, _copies, _bulks, _others) for row in make()
}
"""The rows by their names."""
