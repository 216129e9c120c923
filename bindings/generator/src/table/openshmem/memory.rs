//! Remote memory access: put, get, their strided and non-blocking forms, and puts with a signal.

use super::*;

const RMA: Over = Over::Types(List::Rma);
const BLOCKING: &str = "returns when `source` may be reused, or `dest` has the data";
const LATER: &str = "complete after quiet";

/// Put and get in all forms.
#[rustfmt::skip]
pub(in crate::table) fn names() -> Vec<Name> {
    let mut names = Vec::new();
    for (operation, nbi) in [("put", ""), ("get", ""), ("put", "_nbi"), ("get", "_nbi")] {
        let core = format!("nvshmemrs_{operation}{nbi}");
        let about = format!("{} contiguous elements; {}. Section 9.6.{}.",
            if operation == "put" { "Puts" } else { "Gets" },
            if nbi.is_empty() { BLOCKING } else { LATER }, if nbi.is_empty() { 1 } else { 2 });
        let call = |bytes: &str| format!("DO({core}(rt, dest, source, {bytes}, pe));");
        let any = "void *dest, const void *source, size_t nelems, int pe";
        names.push(name(&format!("TYPE_{operation}{nbi}"), RMA, "void",
            "T *dest, const T *source, size_t nelems, int pe", &call("BYTES(nelems, sizeof(T))"), &about)
            .ctx().hot().generic(Typed::Pointer));
        names.push(name(&format!("{operation}BITS{nbi}"), Over::Sizes, "void", any, &call("BYTES(nelems, N)"), &about).ctx().hot());
        names.push(name(&format!("{operation}mem{nbi}"), Over::Once, "void", any, &call("nelems"),
            &about.replace("contiguous elements", "bytes")).ctx().hot());
    }
    names.push(name("TYPE_p", RMA, "void", "T *dest, T value, int pe",
        "DO(PUT_ONE(rt, dest, &value, sizeof(T), pe));",
        "Writes one element. Section 9.6.1.").ctx().hot().generic(Typed::Pointer));
    names.push(name("TYPE_g", RMA, "T", "const T *source, int pe",
        "T value = {0}; DO(GET_ONE(rt, source, &value, sizeof(T), pe)); return value;",
        "Reads one element. Section 9.6.1.").ctx().hot().generic(Typed::Pointer));
    for operation in ["put", "get"] {
        let does = if operation == "put" { "Puts" } else { "Gets" };
        let strided = |size: &str| format!("DO(nvshmemrs_i{operation}(rt, dest, source, dst, sst, {size}, nelems, pe));");
        let blocks = |size: &str| format!("DO(nvshmemrs_ib{operation}(rt, dest, source, dst, sst, {size}, bsize, nblocks, pe));");
        let about = format!("{does} elements that lie `dst` and `sst` elements apart; {BLOCKING}. Section 9.6.1.");
        names.push(name(&format!("TYPE_i{operation}"), RMA, "void",
            "T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe", &strided("sizeof(T)"), &about)
            .ctx().generic(Typed::Pointer));
        names.push(name(&format!("i{operation}BITS"), Over::Sizes, "void",
            "void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe", &strided("N"), &about).ctx());
        let about = format!("{does} blocks of `bsize` elements that begin `dst` and `sst` elements apart. OpenSHMEM 1.6.");
        names.push(name(&format!("TYPE_ib{operation}"), RMA, "void",
            "T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe",
            &blocks("sizeof(T)"), &about).ctx().generic(Typed::Pointer));
        names.push(name(&format!("ib{operation}BITS"), Over::Sizes, "void",
            "void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe",
            &blocks("N"), &about).ctx());
    }
    names
}

/// Puts with a signal, and signals.
#[rustfmt::skip]
pub(in crate::table) fn signals() -> Vec<Name> {
    const SIGNAL: &str = "uint64_t *sig_addr, uint64_t signal, int sig_op, int pe";
    let mut names = Vec::new();
    for nbi in ["", "_nbi"] {
        let call = |bytes: &str| format!("DO(nvshmemrs_put_signal{nbi}(rt, dest, source, {bytes}, sig_addr, signal, sig_op, pe));");
        let about = format!("Puts, then updates the signal `sig_addr` by `sig_op`, which is seen after the data{}. Section 9.8.{}.",
            if nbi.is_empty() { "" } else { "; complete after quiet" }, if nbi.is_empty() { 3 } else { 4 });
        let any = format!("void *dest, const void *source, size_t nelems, {SIGNAL}");
        names.push(name(&format!("TYPE_put_signal{nbi}"), RMA, "void",
            &format!("T *dest, const T *source, size_t nelems, {SIGNAL}"), &call("BYTES(nelems, sizeof(T))"), &about)
            .ctx().generic(Typed::Pointer));
        names.push(name(&format!("putBITS_signal{nbi}"), Over::Sizes, "void", &any, &call("BYTES(nelems, N)"), &about).ctx());
        names.push(name(&format!("putmem_signal{nbi}"), Over::Once, "void", &any, &call("nelems"), &about).ctx());
    }
    for (operation, op) in [("set", "SET"), ("add", "ADD")] {
        names.push(name(&format!("signal_{operation}"), Over::Once, "void", "uint64_t *sig_addr, uint64_t signal, int pe",
            &format!("DO(nvshmemrs_signal_op(rt, sig_addr, signal, NVSHMEMRS_SIGNAL_{op}, pe));"),
            "Updates a signal, after all earlier puts to the PE. OpenSHMEM 1.6.").ctx());
    }
    names.push(name("signal_fetch", Over::Once, "uint64_t", "const uint64_t *sig_addr",
        "uint64_t value = 0; DO(nvshmemrs_signal_fetch(rt, sig_addr, &value)); return value;",
        "Reads a signal of the calling PE. Section 9.8.5.").hot());
    names
}
