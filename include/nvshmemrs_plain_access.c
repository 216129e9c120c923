/* Shows a program's own loads and stores to the checker of nvshmemrs (NVSHMEMRS_CHECK=1).
 *
 * Compile the program with -fsanitize=thread and link it without, but with this file:
 *
 *     cc -g -fsanitize=thread -c heat.c
 *     cc heat.o nvshmemrs_plain_access.c -lnvshmemrs -o heat
 *
 * The compiler then calls a function before each access to memory; these are the functions. Accesses to symmetric memory, and to
 * buffers that non-blocking operations still use, go to the checker; others cost a few nanoseconds. Works with gcc, g++, gfortran
 * and clang; nothing of ThreadSanitizer itself is linked. gcc leaves calls of memcpy, memmove and memset as they are, unless it
 * inlines them; -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset at the link shows these, too. A program with atomic operations on
 * 16 bytes (undefined references to __tsan_atomic128_...) on x86-64: compile this file with -mcx16.
 */

#if defined(__SANITIZE_THREAD__)
#error "this file is for the link step: compile it without -fsanitize=thread"
#endif

/* Nobody is there who could look at a status. */
#define NVSHMEMRS_MUST_CHECK
#include <nvshmemrs.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* g++ and clang++ compile this file as C++, and the names are those of C. */
#if defined(__cplusplus)
extern "C" {
#endif

#define VISIBLE __attribute__((visibility("default")))
/* The place of an access is where the function that the compiler has called returns to. */
#define SHOW(address, bytes, kind) \
    ((void)nvshmemrs_check_access((const void *)(address), (bytes), (kind), __builtin_return_address(0)))
#define LOAD(address, bytes) SHOW(address, bytes, NVSHMEMRS_ACCESS_LOAD)
#define STORE(address, bytes) SHOW(address, bytes, NVSHMEMRS_ACCESS_STORE)

/* Loads and stores of a width, aligned or not. */
#define PLAIN(bytes)                                                                    \
    VISIBLE void __tsan_read##bytes(void *address) { LOAD(address, bytes); }            \
    VISIBLE void __tsan_write##bytes(void *address) { STORE(address, bytes); }          \
    VISIBLE void __tsan_unaligned_read##bytes(void *address) { LOAD(address, bytes); }  \
    VISIBLE void __tsan_unaligned_write##bytes(void *address) { STORE(address, bytes); } \
    VISIBLE void __tsan_volatile_read##bytes(void *address) { LOAD(address, bytes); }   \
    VISIBLE void __tsan_volatile_write##bytes(void *address) { STORE(address, bytes); } \
    VISIBLE void __tsan_unaligned_volatile_read##bytes(void *address) { LOAD(address, bytes); } \
    VISIBLE void __tsan_unaligned_volatile_write##bytes(void *address) { STORE(address, bytes); } \
    VISIBLE void __tsan_read_write##bytes(void *address) { LOAD(address, bytes); STORE(address, bytes); } \
    VISIBLE void __tsan_unaligned_read_write##bytes(void *address) { LOAD(address, bytes); STORE(address, bytes); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

VISIBLE void __tsan_read_range(void *address, size_t bytes) { LOAD(address, bytes); }
VISIBLE void __tsan_write_range(void *address, size_t bytes) { STORE(address, bytes); }
/* As above, with the place given. */
VISIBLE void __tsan_read1_pc(void *address, void *place) {
    (void)nvshmemrs_check_access(address, 1, NVSHMEMRS_ACCESS_LOAD, place);
}
VISIBLE void __tsan_write1_pc(void *address, void *place) {
    (void)nvshmemrs_check_access(address, 1, NVSHMEMRS_ACCESS_STORE, place);
}

/* Virtual tables are private memory of the process. */
VISIBLE void __tsan_vptr_read(void **vptr) { (void)vptr; }
VISIBLE void __tsan_vptr_update(void **vptr, void *value) { (void)vptr, (void)value; }

VISIBLE void __tsan_init(void) {}
VISIBLE void __tsan_func_entry(void *caller) { (void)caller; }
VISIBLE void __tsan_func_exit(void) {}
VISIBLE void __tsan_ignore_thread_begin(void) {}
VISIBLE void __tsan_ignore_thread_end(void) {}

/* The functions that clang calls in place of C's. */
VISIBLE void *__tsan_memcpy(void *dest, const void *source, size_t bytes) {
    LOAD(source, bytes);
    STORE(dest, bytes);
    return memmove(dest, source, bytes);
}
VISIBLE void *__tsan_memmove(void *dest, const void *source, size_t bytes) {
    LOAD(source, bytes);
    STORE(dest, bytes);
    return memmove(dest, source, bytes);
}
VISIBLE void *__tsan_memset(void *dest, int value, size_t bytes) {
    STORE(dest, bytes);
    return memset(dest, value, bytes);
}

/* What the linker calls in place of them, asked by --wrap; without it nobody does, and the real ones are NULL. */
extern void *__real_memcpy(void *dest, const void *source, size_t bytes) __attribute__((weak));
extern void *__real_memmove(void *dest, const void *source, size_t bytes) __attribute__((weak));
extern void *__real_memset(void *dest, int value, size_t bytes) __attribute__((weak));
VISIBLE void *__wrap_memcpy(void *dest, const void *source, size_t bytes) {
    LOAD(source, bytes);
    STORE(dest, bytes);
    return __real_memcpy(dest, source, bytes);
}
VISIBLE void *__wrap_memmove(void *dest, const void *source, size_t bytes) {
    LOAD(source, bytes);
    STORE(dest, bytes);
    return __real_memmove(dest, source, bytes);
}
VISIBLE void *__wrap_memset(void *dest, int value, size_t bytes) {
    STORE(dest, bytes);
    return __real_memset(dest, value, bytes);
}

/* Atomic operations. They are done here, with sequential consistency, which every memory order allows. A store is
 * reported before it is done, a load after it. */
#define ATOMIC_STORE(address, bytes) SHOW(address, bytes, NVSHMEMRS_ACCESS_ATOMIC_STORE)
#define ATOMIC_LOAD(address, bytes) SHOW(address, bytes, NVSHMEMRS_ACCESS_ATOMIC_LOAD)
#define UPDATE(bits, type, name)                                                                         \
    VISIBLE type __tsan_atomic##bits##_fetch_##name(volatile type *address, type value, int order) {     \
        (void)order;                                                                                     \
        ATOMIC_STORE(address, sizeof(type));                                                             \
        type old = __atomic_fetch_##name(address, value, __ATOMIC_SEQ_CST);                              \
        ATOMIC_LOAD(address, sizeof(type));                                                              \
        return old;                                                                                      \
    }
#define COMPARE_EXCHANGE(bits, type, strength, weak)                                                     \
    VISIBLE int __tsan_atomic##bits##_compare_exchange_##strength(volatile type *address, type *expected, type value, \
                                                                  int order, int failed) {               \
        (void)order, (void)failed;                                                                       \
        ATOMIC_STORE(address, sizeof(type));                                                             \
        int done = __atomic_compare_exchange_n(address, expected, value, weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        ATOMIC_LOAD(address, sizeof(type));                                                              \
        return done;                                                                                     \
    }
#define ATOMIC(bits, type)                                                                               \
    VISIBLE type __tsan_atomic##bits##_load(const volatile type *address, int order) {                   \
        (void)order;                                                                                     \
        type value = __atomic_load_n(address, __ATOMIC_SEQ_CST);                                         \
        ATOMIC_LOAD(address, sizeof(type));                                                              \
        return value;                                                                                    \
    }                                                                                                    \
    VISIBLE void __tsan_atomic##bits##_store(volatile type *address, type value, int order) {            \
        (void)order;                                                                                     \
        ATOMIC_STORE(address, sizeof(type));                                                             \
        __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                              \
    }                                                                                                    \
    VISIBLE type __tsan_atomic##bits##_exchange(volatile type *address, type value, int order) {         \
        (void)order;                                                                                     \
        ATOMIC_STORE(address, sizeof(type));                                                             \
        type old = __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                                \
        ATOMIC_LOAD(address, sizeof(type));                                                              \
        return old;                                                                                      \
    }                                                                                                    \
    UPDATE(bits, type, add)                                                                              \
    UPDATE(bits, type, sub)                                                                              \
    UPDATE(bits, type, and)                                                                              \
    UPDATE(bits, type, or)                                                                               \
    UPDATE(bits, type, xor)                                                                              \
    UPDATE(bits, type, nand)                                                                             \
    COMPARE_EXCHANGE(bits, type, strong, 0)                                                              \
    COMPARE_EXCHANGE(bits, type, weak, 1)                                                                \
    VISIBLE type __tsan_atomic##bits##_compare_exchange_val(volatile type *address, type expected, type value, int order, \
                                                            int failed) {                                \
        (void)order, (void)failed;                                                                       \
        ATOMIC_STORE(address, sizeof(type));                                                             \
        __atomic_compare_exchange_n(address, &expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);   \
        ATOMIC_LOAD(address, sizeof(type));                                                              \
        return expected;                                                                                 \
    }
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)
#if defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16)
ATOMIC(128, unsigned __int128)
#endif

VISIBLE void __tsan_atomic_thread_fence(int order) {
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
VISIBLE void __tsan_atomic_signal_fence(int order) {
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#if defined(__cplusplus)
}
#endif
