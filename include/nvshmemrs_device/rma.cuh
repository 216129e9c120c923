// Part of nvshmemrs_device.cuh: copies and remote memory access.
#pragma once

namespace nvshmemrs::device {

// ---- Copies. ----

// The largest power of two, at most 16, that divides all bits of `mixed`.
NVSHMEMRS_I_DEVICE u32 common_power(u64 mixed) {
    u32 low = (u32)mixed | 16;
    return low & (~low + 1);
}
// The logarithm of such a power: a shift by it replaces a division, which takes some hundred cycles.
NVSHMEMRS_I_DEVICE u32 log_of(u32 power) { return (power > 1) + (power > 2) + (power > 4) + (power > 8); }

// Copies `count` elements, K loads before the first store; thread `i` of `step`.
template <class T, int K, bool AHEAD> NVSHMEMRS_I_DEVICE void copy_elements(u64 dest, u64 source, u64 count, u64 i, u64 step) {
    for (; i + (K - 1) * step < count; i += K * step) {
        T values[K];
        if (AHEAD && i + K + 2048 / sizeof(T) < count) prefetch(source + i * sizeof(T) + 2048);
        NVSHMEMRS_I_UNROLL
        for (int k = 0; k < K; k++) values[k] = read<T>(source + (i + k * step) * sizeof(T));
        NVSHMEMRS_I_UNROLL
        for (int k = 0; k < K; k++) write<T>(dest + (i + k * step) * sizeof(T), values[k]);
    }
    for (; i < count; i += step) write<T>(dest + i * sizeof(T), read<T>(source + i * sizeof(T)));
}
// By a group. A single thread has few loads in flight, so it prefetches the data.
template <class G, class T> NVSHMEMRS_I_DEVICE void copy_as(u64 dest, u64 source, u64 count) {
    copy_elements<T, G::UNROLL, Is<G, Thread>::yes>(dest, source, count, G::rank(), G::size());
}

// By one thread: elements of the largest size that the alignment allows, one after the other.
template <int = 0> NVSHMEMRS_I_LOOP void copy_edge(u64 dest, u64 source, u64 bytes) {
    while (bytes > 0) {
        u32 power = common_power(dest | source);
        while (power > bytes) power /= 2;
        if (power == 16) write<Bytes16>(dest, read<Bytes16>(source));
        else if (power == 8) write<u64>(dest, read<u64>(source));
        else if (power == 4) write<u32>(dest, read<u32>(source));
        else if (power == 2) write<u16>(dest, read<u16>(source));
        else write<u8>(dest, read<u8>(source));
        dest += power;
        source += power;
        bytes -= power;
    }
}

// Shared memory for copies by the engines: barriers, and STAGES buffers, whose sizes are multiples of BULK_UNIT.
enum : u32 { STAGES = 8, AHEAD = 6, BARRIERS = 128, BULK_UNIT = 128, LEAST_SMEM = BARRIERS + STAGES * 1024, LEAST_BULK = 2048 };
// The number of sixteen-byte pieces from which on a group's copy begins at a whole line.
enum : u32 { LEAST_LINES = 2048 };

// Lent shared memory, as in State::lent: start and size in units of sixteen bytes. 0: none.
NVSHMEMRS_I_DEVICE u32 lend([[maybe_unused]] void *smem, [[maybe_unused]] u64 bytes) {
#ifdef NVSHMEMRS_I_NO_BULK
    return 0;
#else
    u32 at = (u32)__cvta_generic_to_shared(smem), skipped = -at % 16;
    if (bytes < skipped + LEAST_SMEM) return 0;
    return (at + skipped) / 16 << 16 | (u32)least((bytes - skipped) / 16, 0xffff);
#endif
}

#ifndef NVSHMEMRS_I_NO_BULK
// By one thread: the copy engines copy multiples of sixteen bytes through lent shared memory. Loads run AHEAD of the stores, and a buffer is
// loaded again once all stores but the latest have read their data.
template <int = 0> __device__ __noinline__ void copy_bulk(u32 lent, u64 dest, u64 source, u64 bytes) {
    u32 barriers = (lent >> 16) * 16, buffers = barriers + BARRIERS;
    u32 stage = ((lent & 0xffff) * 16 - BARRIERS) / STAGES / BULK_UNIT * BULK_UNIT;
    u64 count = (bytes + stage - 1) / stage;
    bulk_begin(barriers, STAGES);
    for (u64 i = 0; i < count + AHEAD; i++) {
        if (i < count) {
            u32 at = i % STAGES;
            if (i >= STAGES) bulk_await_reads();
            bulk_load(buffers + at * stage, source + i * stage, (u32)least(stage, bytes - i * stage), barriers + at * 8);
        }
        if (i >= AHEAD) {
            u64 k = i - AHEAD;
            u32 at = k % STAGES;
            bulk_await(barriers + at * 8, k / STAGES & 1);
            bulk_store(dest + k * stage, buffers + at * stage, (u32)least(stage, bytes - k * stage));
        }
    }
    bulk_end(barriers, STAGES);
}
#endif

// Copies sixteen bytes at a time.
template <class G> NVSHMEMRS_I_DEVICE void copy_sixteens(u64 dest, u64 source, u64 count, [[maybe_unused]] u32 lent) {
#ifndef NVSHMEMRS_I_NO_BULK
    if (!Is<G, Block>::yes && lent && count >= LEAST_BULK / 16 && is_global(dest) && is_global(source)) {
        if (G::rank() == 0) copy_bulk(lent, dest, source, count * 16);
        return;
    }
#endif
    // Whole lines of 128 bytes leave the GPU fastest.
    u64 lead = least((u64)(-dest) % 128 / 16, count);
    if (Is<G, Thread>::yes || count < LEAST_LINES) lead = 0;
    for (u64 i = G::rank(); i < lead; i += G::size()) write<Bytes16>(dest + i * 16, read<Bytes16>(source + i * 16));
    copy_as<G, Bytes16>(dest + lead * 16, source + lead * 16, count - lead);
}

// Copies a word by each thread, if that is enough and all is aligned to words. It needs neither loops nor edges, whose instructions take longer
// than a small message.
template <class G, class W> NVSHMEMRS_I_DEVICE bool copy_word_each(u64 dest, u64 source, u64 bytes) {
    if (bytes > G::size() * sizeof(W) || (dest | source | bytes) % sizeof(W) != 0) return false;
    u64 at = G::rank() * sizeof(W);
    if (at < bytes) write<W>(dest + at, read<W>(source + at));
    return true;
}

// Copies `bytes` bytes of elements aligned to ALIGN; source and destination do not overlap. The group's threads share the work. `lent`: see
// State.
template <class G, u32 ALIGN> NVSHMEMRS_I_LOOP void copy(u64 dest, u64 source, u64 bytes, u32 lent = 0) {
    if (copy_word_each<G, u64>(dest, source, bytes)) return;
    if constexpr (ALIGN < 8) {
        if (copy_word_each<G, typename WordOf<ALIGN>::type>(dest, source, bytes)) return;
    }
    // Where both sides can be aligned at once.
    u32 power = common_power(dest ^ source);
    u64 head = least((u64)(-dest) & (power - 1), bytes), count = (bytes - head) >> log_of(power);
    // If a side is not aligned to its type, one thread copies all, as edges.
    u64 body = power < ALIGN ? 0 : count * power;
    if (power == 16) copy_sixteens<G>(dest + head, source + head, count, lent);
    else if (ALIGN <= 8 && power == 8) copy_as<G, u64>(dest + head, source + head, count);
    else if (ALIGN <= 4 && power == 4) copy_as<G, u32>(dest + head, source + head, count);
    else if (ALIGN <= 2 && power == 2) copy_as<G, u16>(dest + head, source + head, count);
    else if (ALIGN == 1) copy_as<G, u8>(dest + head, source + head, count);
    if (G::rank() == G::size() - 1) {
        copy_edge(dest, source, head);
        copy_edge(dest + head + body, source + head + body, bytes - head - body);
    }
}

template <class G, class T> NVSHMEMRS_I_LOOP void copy_strided(u64 dest, u64 source, i64 dest_step, i64 source_step, u64 count) {
    for (u64 i = G::rank(); i < count; i += G::size())
        write<T>(dest + i * dest_step * sizeof(T), read<T>(source + i * source_step * sizeof(T)));
}

// ---- Remote memory access. T: the type of the elements, or a word of their size. ----

template <class T> NVSHMEMRS_I_DEVICE void p(Given s, T *dest, const T &value, i32 pe) {
    Word<T> *word = s.word(PUT, pe, dest);
    s.record(RECORD_PUT, PUT, pe, (u64)dest, sizeof(T));
    store_relaxed(word, bits<Word<T>>(value));
}
template <class T> NVSHMEMRS_I_DEVICE T g(Given s, const T *source, i32 pe) {
    Word<T> *word = s.word(GET, pe, source);
    s.record(RECORD_GET, GET, pe, (u64)source, sizeof(T));
    return bits<T>(load_relaxed(word));
}

template <class G, u32 ALIGN, u32 OPERATION> NVSHMEMRS_I_LOOP void put(Given s, void *dest, const void *source, u64 bytes, i32 pe) {
    u64 to = s.on(OPERATION, pe, dest, bytes, ALIGN);
    G::sync();
    s.record_as<G>(RECORD_PUT, OPERATION, pe, dest, bytes, source, 0, OPERATION == PUT ? NO_FLAGS : UNTIL_QUIET);
    copy<G, ALIGN>(to, (u64)source, bytes, s.get().lent);
    if (OPERATION == PUT) G::sync();
}
template <class G, u32 ALIGN, u32 OPERATION> NVSHMEMRS_I_LOOP void get(Given s, void *dest, const void *source, u64 bytes, i32 pe) {
    u64 from = s.on(OPERATION, pe, source, bytes, ALIGN);
    G::sync();
    s.record_as<G>(RECORD_GET, OPERATION, pe, source, bytes, dest, 0, OPERATION == GET ? NO_FLAGS : UNTIL_QUIET);
    copy<G, ALIGN>((u64)dest, from, bytes, s.get().lent);
    if (OPERATION == GET) G::sync();
}

// Bytes from the first to the end of the last of `count` elements; strides are at least 1.
NVSHMEMRS_I_DEVICE u64 span(i64 step, u64 count, u32 size) { return count ? ((count - 1) * step + 1) * size : 0; }

// Records each element of a put or a get with strides.
template <class G, class T>
NVSHMEMRS_I_DEVICE void record_strided(Given s, u32 kind, u32 operation, i32 pe, const void *own, i64 own_step, const void *local, i64 local_step, u64 count) {
    if (!s.is_watched()) return;
    for (u64 i = 0; i < count && G::rank() == 0; i++)
        s.record(kind, operation, pe, (u64)own + i * own_step * sizeof(T), sizeof(T), (u64)local + i * local_step * sizeof(T));
    G::sync();
}

template <class G, class T> NVSHMEMRS_I_LOOP void iput(Given s, void *dest, const void *source, i64 dest_step, i64 source_step, u64 count, i32 pe) {
    u64 to = s.on(IPUT, pe, dest, span(dest_step, count, sizeof(T)), sizeof(T));
    G::sync();
    record_strided<G, T>(s, RECORD_PUT, IPUT, pe, dest, dest_step, source, source_step, count);
    copy_strided<G, T>(to, (u64)source, dest_step, source_step, count);
    G::sync();
}
template <class G, class T> NVSHMEMRS_I_LOOP void iget(Given s, void *dest, const void *source, i64 dest_step, i64 source_step, u64 count, i32 pe) {
    u64 from = s.on(IGET, pe, source, span(source_step, count, sizeof(T)), sizeof(T));
    G::sync();
    record_strided<G, T>(s, RECORD_GET, IGET, pe, source, source_step, dest, dest_step, count);
    copy_strided<G, T>((u64)dest, from, dest_step, source_step, count);
    G::sync();
}

// Sources may be used again. The checker has this rule for quiet, so a flush is recorded as a quiet.
template <class G> NVSHMEMRS_I_DEVICE void record_flush([[maybe_unused]] Given s) {
#ifdef NVSHMEMRS_DEVICE_RECORD
    s.record_as<G>(RECORD_QUIET, QUIET, s.get().my_pe, nullptr, 0, nullptr, 0, 0);
#endif
}

} // namespace nvshmemrs::device
