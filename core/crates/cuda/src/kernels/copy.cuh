// Copies of any length and alignment. An aligned element of 1, 2, 4 or 8 bytes is one access.
#pragma once

template <class T>
DEVICE T &at(u64 address) {
    return *(T *)address;
}

// Copies `count` elements; thread `thread` of `threads`. Four loads are in flight before the first store.
template <class T>
DEVICE void copy_as(u64 dest, u64 source, u64 count, u64 thread, u64 threads) {
    nvshmemrs::device::copy_elements<T, 4, false>(dest, source, count, thread, threads);
}

// Copies `count` elements of `power` bytes, which divides both addresses.
DEVICE void copy_aligned(u32 power, u64 dest, u64 source, u64 count, u64 thread, u64 threads) {
    switch (power) {
    case 16: return copy_as<Bytes16>(dest, source, count, thread, threads);
    case 8: return copy_as<u64>(dest, source, count, thread, threads);
    case 4: return copy_as<u32>(dest, source, count, thread, threads);
    case 2: return copy_as<u16>(dest, source, count, thread, threads);
    default: return copy_as<u8>(dest, source, count, thread, threads);
    }
}

// Loads sixteen bytes that begin inside a word of eight bytes; only words that contain some of these bytes are read.
DEVICE Bytes16 load_askew(u64 source) {
    const u64 *words = (const u64 *)(source & ~7ull);
    u32 shift = (u32)(source & 7) * 8;
    u64 first = words[0], second = words[1], third = words[2];
    return {{first >> shift | second << (64 - shift), second >> shift | third << (64 - shift)}};
}

// Copies `count` times sixteen bytes to a multiple of sixteen, from an address that is no multiple of eight. Two loads are in flight before
// the first store.
DEVICE void copy_askew(u64 dest, u64 source, u64 count, u64 thread, u64 threads) {
    u64 i = thread;
    for (; i + threads < count; i += 2 * threads) {
        Bytes16 first = load_askew(source + i * 16), second = load_askew(source + (i + threads) * 16);
        at<Bytes16>(dest + i * 16) = first;
        at<Bytes16>(dest + (i + threads) * 16) = second;
    }
    if (i < count) at<Bytes16>(dest + i * 16) = load_askew(source + i * 16);
}

// The fewest bytes that are shifted into place if the two sides cannot be aligned together.
static constexpr u64 ASKEW = 128;

// Copies `bytes` bytes; source and destination do not overlap. All `threads` call.
DEVICE void copy(u64 dest, u64 source, u64 bytes, u64 thread, u64 threads) {
    // Both sides can be aligned together.
    u32 power = common_power(dest ^ source);
    bool askew = power < 8 && bytes >= ASKEW;
    if (askew) power = 16;
    u64 head = least((u64)(-dest) & (power - 1), bytes);
    u64 count = (bytes - head) / power;
    u64 body = count * power;
    if (askew) copy_askew(dest + head, source + head, count, thread, threads);
    else copy_aligned(power, dest + head, source + head, count, thread, threads);
    if (thread == threads - 1) {
        copy_edge(dest, source, head);
        copy_edge(dest + head + body, source + head + body, bytes - head - body);
    }
}

// Reads up to eight bytes at any address; the remaining bytes of the result are 0.
DEVICE u64 load_unit(u64 source, u32 bytes) {
    if (bytes == 8 && source % 8 == 0) return at<u64>(source);
    u64 unit = 0;
    for (u32 done = 0; done < bytes;) {
        u32 power = common_power(source + done);
        while (power > 4 || done + power > bytes) power /= 2;
        u64 value = power == 4 ? at<u32>(source + done) : power == 2 ? at<u16>(source + done) : at<u8>(source + done);
        unit |= value << (8 * done);
        done += power;
    }
    return unit;
}

// Writes up to eight bytes at any address.
DEVICE void store_unit(u64 dest, u64 unit, u32 bytes) {
    if (bytes == 8 && dest % 8 == 0) {
        at<u64>(dest) = unit;
        return;
    }
    for (u32 done = 0; done < bytes;) {
        u32 power = common_power(dest + done);
        while (power > 4 || done + power > bytes) power /= 2;
        u64 value = unit >> (8 * done);
        if (power == 4) at<u32>(dest + done) = (u32)value;
        else if (power == 2) at<u16>(dest + done) = (u16)value;
        else at<u8>(dest + done) = (u8)value;
        done += power;
    }
}
