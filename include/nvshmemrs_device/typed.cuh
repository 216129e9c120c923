// Part of nvshmemrs_device.cuh: functions of a type, as members of classes.
#pragma once

namespace nvshmemrs::device {

// These functions are members of a class for each type, which a program instantiates with the first function that it uses. NVSHMEM's names
// for them are macros in names.cuh: declaring thousands of functions would take every compiler a second.

// A body for every scope: X(suffix, group, ...).
#define NVSHMEMRS_I_SCOPES(X, ...) X(, Thread, __VA_ARGS__) X(_warp, Warp, __VA_ARGS__) X(_block, Block, __VA_ARGS__)
#define NVSHMEMRS_I_MEMBER static NVSHMEMRS_I_CALLED
#define NVSHMEMRS_I_MEMBER_OF_ANY template <class H> NVSHMEMRS_I_MEMBER

// API: NVSHMEMRS_I_MEMBER, or the same for a template. TYPE: the pointers' type. SIZE: the bytes of each of the `n` elements.
#define NVSHMEMRS_I_COPY(SUFFIX, GROUP, NAME, FUNCTION, NUMBER, API, TYPE, ALIGN, SIZE, CHECK) \
    API void NAME##SUFFIX(Given s, TYPE *dest, const TYPE *source, unsigned long n, i32 pe) {  \
        CHECK;                                                                                 \
        device::FUNCTION<GROUP, ALIGN, NUMBER>(s, dest, source, n * SIZE, pe);                 \
    }
#define NVSHMEMRS_I_SIGNALLED(SUFFIX, GROUP, NAME, NUMBER, API, TYPE, ALIGN, SIZE, CHECK)                                                 \
    API void NAME##SUFFIX(Given s, TYPE *dest, const TYPE *source, unsigned long n, Signal signal, unsigned long value, int op, i32 pe) { \
        CHECK;                                                                                                                            \
        device::put_signal<GROUP, ALIGN, NUMBER>(s, dest, source, n * SIZE, signal, value, op, pe);                                       \
    }
#define NVSHMEMRS_I_PUTS(SUFFIX, GROUP, ...)                                          \
    NVSHMEMRS_I_COPY(SUFFIX, GROUP, put, put, PUT, __VA_ARGS__)                       \
    NVSHMEMRS_I_COPY(SUFFIX, GROUP, get, get, GET, __VA_ARGS__)                       \
    NVSHMEMRS_I_COPY(SUFFIX, GROUP, put_nbi, put, PUT_NBI, __VA_ARGS__)               \
    NVSHMEMRS_I_COPY(SUFFIX, GROUP, get_nbi, get, GET_NBI, __VA_ARGS__)               \
    NVSHMEMRS_I_SIGNALLED(SUFFIX, GROUP, put_signal, PUT_SIGNAL, __VA_ARGS__)         \
    NVSHMEMRS_I_SIGNALLED(SUFFIX, GROUP, put_signal_nbi, PUT_SIGNAL_NBI, __VA_ARGS__)

#define NVSHMEMRS_I_STRIDED(SUFFIX, GROUP, API, TYPE, WORD, CHECK)                                                              \
    API void iput##SUFFIX(Given s, TYPE *dest, const TYPE *source, long dest_step, long source_step, unsigned long n, i32 pe) { \
        CHECK;                                                                                                                  \
        device::iput<GROUP, WORD>(s, dest, source, dest_step, source_step, n, pe);                                              \
    }                                                                                                                           \
    API void iget##SUFFIX(Given s, TYPE *dest, const TYPE *source, long dest_step, long source_step, unsigned long n, i32 pe) { \
        CHECK;                                                                                                                  \
        device::iget<GROUP, WORD>(s, dest, source, dest_step, source_step, n, pe);                                              \
    }

// `n` counts elements of SIZE bytes; per member where there are parts.
#define NVSHMEMRS_I_MOVES(SUFFIX, GROUP, API, TYPE, SIZE, CHECK)                                                                              \
    API int broadcast##SUFFIX(Given s, nvshmemrs_team_t team, TYPE *dest, const TYPE *source, unsigned long n, int root, unsigned slot = 0) { \
        CHECK;                                                                                                                                \
        return device::broadcast<GROUP, SIZE>(s, team, dest, source, n * SIZE, root, slot);                                                   \
    }                                                                                                                                         \
    API int fcollect##SUFFIX(Given s, nvshmemrs_team_t team, TYPE *dest, const TYPE *source, unsigned long n, unsigned slot = 0) {            \
        CHECK;                                                                                                                                \
        return device::gather<GROUP, SIZE, FCOLLECT>(s, team, dest, source, n * SIZE, slot);                                                  \
    }                                                                                                                                         \
    API int alltoall##SUFFIX(Given s, nvshmemrs_team_t team, TYPE *dest, const TYPE *source, unsigned long n, unsigned slot = 0) {            \
        CHECK;                                                                                                                                \
        return device::gather<GROUP, SIZE, ALLTOALL>(s, team, dest, source, n * SIZE, slot);                                                  \
    }

// The class has a template Element, the type of the elements.
#define NVSHMEMRS_I_REDUCE(SUFFIX, GROUP, API, TYPE, OP, NUMBER, CHECK)                                                                      \
    API int OP##_reduce##SUFFIX(Given s, nvshmemrs_team_t team, TYPE *dest, const TYPE *source, unsigned long n, unsigned slot = 0) {        \
        CHECK;                                                                                                                               \
        return reduce<GROUP, Element<NUMBER>, NUMBER, REDUCE>(s, team, dest, source, n, slot);                                               \
    }                                                                                                                                        \
    API int OP##_reducescatter##SUFFIX(Given s, nvshmemrs_team_t team, TYPE *dest, const TYPE *source, unsigned long n, unsigned slot = 0) { \
        CHECK;                                                                                                                               \
        return reduce<GROUP, Element<NUMBER>, NUMBER, REDUCESCATTER>(s, team, dest, source, n, slot);                                        \
    }
#define NVSHMEMRS_I_REDUCE_NUMBERS(API, TYPE, CHECK)                     \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, API, TYPE, sum, SUM, CHECK)   \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, API, TYPE, prod, PROD, CHECK) \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, API, TYPE, min, MIN, CHECK)   \
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, API, TYPE, max, MAX, CHECK)

// KIND: the kind of number for the addition.
#define NVSHMEMRS_I_AMO(API, T, KIND, CHECK)                                                                      \
    API T atomic_fetch(Given s, const T *source, i32 pe) {                                                        \
        CHECK;                                                                                                    \
        return device::atomic_fetch<T>(s, source, pe);                                                            \
    }                                                                                                             \
    API void atomic_set(Given s, T *dest, typename Same<T>::type value, i32 pe) {                                 \
        CHECK;                                                                                                    \
        device::atomic_set<T>(s, dest, value, pe);                                                                \
    }                                                                                                             \
    API T atomic_swap(Given s, T *dest, typename Same<T>::type value, i32 pe) {                                   \
        CHECK;                                                                                                    \
        return device::atomic_swap<T>(s, dest, value, pe);                                                        \
    }                                                                                                             \
    API void atomic_add(Given s, T *dest, typename Same<T>::type value, i32 pe) {                                 \
        CHECK;                                                                                                    \
        device::atomic_add<KIND>(s, ATOMIC_ADD, (KIND *)dest, bits<KIND>(value), pe);                             \
    }                                                                                                             \
    API T atomic_fetch_add(Given s, T *dest, typename Same<T>::type value, i32 pe) {                              \
        CHECK;                                                                                                    \
        return bits<T>(device::atomic_fetch_add<KIND>(s, ATOMIC_FETCH_ADD, (KIND *)dest, bits<KIND>(value), pe)); \
    }
#define NVSHMEMRS_I_AMO_BIT(OPERATION, NUMBER)                                                \
    NVSHMEMRS_I_MEMBER void atomic_##OPERATION(Given s, T *dest, T value, i32 pe) {           \
        apply_##OPERATION(s.atomic_word(ATOMIC_##NUMBER, pe, dest, WRITES), (Word<T>)value); \
    }                                                                                         \
    NVSHMEMRS_I_MEMBER T atomic_fetch_##OPERATION(Given s, T *dest, T value, i32 pe) {        \
        Word<T> *word = s.atomic_word(ATOMIC_FETCH_##NUMBER, pe, dest, FETCHES); \
        return (T)s.seen(ATOMIC_FETCH_##NUMBER, pe, dest, fetch_##OPERATION(word, (Word<T>)value)); \
    }

// V: the end of a name, then the last parameter, and the value that elements are compared with.
#define NVSHMEMRS_I_WAITS(V, PARAMETER, VALUE, VALUES)                                                                                       \
    NVSHMEMRS_I_MEMBER void wait_until_all##V(Given s, const T *ivars, unsigned long n, const int *status, int cmp, PARAMETER) {             \
        wait_all<true, T>(s, WAIT_UNTIL_ALL, {ivars, n, status, cmp, VALUE, VALUES});                                                        \
    }                                                                                                                                        \
    NVSHMEMRS_I_MEMBER unsigned long wait_until_any##V(Given s, const T *ivars, unsigned long n, const int *status, int cmp, PARAMETER) {    \
        return wait_any<true, T>(s, WAIT_UNTIL_ANY, {ivars, n, status, cmp, VALUE, VALUES});                                                 \
    }                                                                                                                                        \
    NVSHMEMRS_I_MEMBER unsigned long wait_until_some##V(Given s, const T *ivars, unsigned long n, unsigned long *indices, const int *status, \
                                                        int cmp, PARAMETER) {                                                                \
        return wait_some<true, T>(s, WAIT_UNTIL_SOME, indices, {ivars, n, status, cmp, VALUE, VALUES});                                      \
    }                                                                                                                                        \
    NVSHMEMRS_I_MEMBER int test_all##V(Given s, const T *ivars, unsigned long n, const int *status, int cmp, PARAMETER) {                    \
        return wait_all<false, T>(s, TEST_ALL, {ivars, n, status, cmp, VALUE, VALUES});                                                      \
    }                                                                                                                                        \
    NVSHMEMRS_I_MEMBER unsigned long test_any##V(Given s, const T *ivars, unsigned long n, const int *status, int cmp, PARAMETER) {          \
        return wait_any<false, T>(s, TEST_ANY, {ivars, n, status, cmp, VALUE, VALUES});                                                      \
    }                                                                                                                                        \
    NVSHMEMRS_I_MEMBER unsigned long test_some##V(Given s, const T *ivars, unsigned long n, unsigned long *indices, const int *status,       \
                                                  int cmp, PARAMETER) {                                                                      \
        return wait_some<false, T>(s, TEST_SOME, indices, {ivars, n, status, cmp, VALUE, VALUES});                                           \
    }

// All functions for elements of type T. NVSHMEM defines which of these functions have a name.
template <class T> struct Of {
    template <u32 OP> using Element = Number<T, OP>;

    NVSHMEMRS_I_MEMBER void p(Given s, T *dest, T value, i32 pe) { device::p<T>(s, dest, value, pe); }
    NVSHMEMRS_I_MEMBER T g(Given s, const T *source, i32 pe) { return device::g<T>(s, source, pe); }
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_PUTS, NVSHMEMRS_I_MEMBER, T, sizeof(T), sizeof(T), )
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_STRIDED, NVSHMEMRS_I_MEMBER, T, Word<T>, )

    NVSHMEMRS_I_AMO(NVSHMEMRS_I_MEMBER, T, T, )
    NVSHMEMRS_I_MEMBER T atomic_compare_swap(Given s, T *dest, T cond, T value, i32 pe) {
        return device::atomic_compare_swap<T>(s, dest, cond, value, pe);
    }
    NVSHMEMRS_I_MEMBER void atomic_inc(Given s, T *dest, i32 pe) { device::atomic_add<T>(s, ATOMIC_INC, dest, 1, pe); }
    NVSHMEMRS_I_MEMBER T atomic_fetch_inc(Given s, T *dest, i32 pe) { return device::atomic_fetch_add<T>(s, ATOMIC_FETCH_INC, dest, 1, pe); }
    NVSHMEMRS_I_AMO_BIT(and, AND)
    NVSHMEMRS_I_AMO_BIT(or, OR)
    NVSHMEMRS_I_AMO_BIT(xor, XOR)

    NVSHMEMRS_I_MEMBER void wait_until(Given s, const T *ivar, int cmp, T value) {
        wait_all<true, T>(s, WAIT_UNTIL, {ivar, 1, nullptr, cmp, value, nullptr});
    }
    NVSHMEMRS_I_MEMBER int test(Given s, const T *ivar, int cmp, T value) {
        return wait_all<false, T>(s, TEST, {ivar, 1, nullptr, cmp, value, nullptr});
    }
    NVSHMEMRS_I_WAITS(, T value, value, nullptr)
    NVSHMEMRS_I_WAITS(_vector, const T *values, 0, values)

    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MOVES, NVSHMEMRS_I_MEMBER, T, sizeof(T), )
    NVSHMEMRS_I_REDUCE_NUMBERS(NVSHMEMRS_I_MEMBER, T, )
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, NVSHMEMRS_I_MEMBER, T, and, AND, )
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, NVSHMEMRS_I_MEMBER, T, or, OR, )
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_REDUCE, NVSHMEMRS_I_MEMBER, T, xor, XOR, )
};

// Narrow floating-point numbers, of CUDA's type OWN or an integer of the same size. E: the Element type for reductions.
template <class OWN, class E> struct Narrow;
#define NVSHMEMRS_I_NARROW (expect_narrow<H, OWN, E>())
template <class OWN, class E> struct Of<Narrow<OWN, E>> {
    template <u32> using Element = E;

    NVSHMEMRS_I_MEMBER_OF_ANY void p(Given s, H *dest, typename Same<H>::type value, i32 pe) {
        NVSHMEMRS_I_NARROW;
        device::p<H>(s, dest, value, pe);
    }
    NVSHMEMRS_I_MEMBER_OF_ANY H g(Given s, const H *source, i32 pe) {
        NVSHMEMRS_I_NARROW;
        return device::g<H>(s, source, pe);
    }
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_PUTS, NVSHMEMRS_I_MEMBER_OF_ANY, H, sizeof(E), sizeof(E), NVSHMEMRS_I_NARROW)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_STRIDED, NVSHMEMRS_I_MEMBER_OF_ANY, H, Word<E>, NVSHMEMRS_I_NARROW)
    NVSHMEMRS_I_AMO(NVSHMEMRS_I_MEMBER_OF_ANY, H, Word<E>, NVSHMEMRS_I_NARROW)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MOVES, NVSHMEMRS_I_MEMBER_OF_ANY, H, sizeof(E), NVSHMEMRS_I_NARROW)
    NVSHMEMRS_I_REDUCE_NUMBERS(NVSHMEMRS_I_MEMBER_OF_ANY, H, NVSHMEMRS_I_NARROW)
};

// Elements of a number of bits, independent of the type of the caller's pointers; strided elements of 128 bits are aligned to 16 bytes.
template <int BITS> struct Sized {
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_PUTS, NVSHMEMRS_I_MEMBER, void, (BITS < 128 ? BITS / 8 : 8), (BITS / 8), )
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_STRIDED, NVSHMEMRS_I_MEMBER, void, typename WordOf<BITS / 8>::type, )
};
// Bytes; a template, so that programs that do not use it compile none of it.
template <int> struct Bytes {
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_PUTS, NVSHMEMRS_I_MEMBER, void, 1, 1, )
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MOVES, NVSHMEMRS_I_MEMBER, void, 1, )
};

// The functions of both types, where C has two types of 64 bits.
template <class A, class B> struct Two;
#define NVSHMEMRS_I_BOTH(NAME) \
    using First::NAME;         \
    using Second::NAME;
#define NVSHMEMRS_I_BOTH_COPIES(SUFFIX, GROUP, ...)                                                                                             \
    NVSHMEMRS_I_BOTH(put##SUFFIX) NVSHMEMRS_I_BOTH(get##SUFFIX) NVSHMEMRS_I_BOTH(put_nbi##SUFFIX) NVSHMEMRS_I_BOTH(get_nbi##SUFFIX)             \
    NVSHMEMRS_I_BOTH(put_signal##SUFFIX) NVSHMEMRS_I_BOTH(put_signal_nbi##SUFFIX) NVSHMEMRS_I_BOTH(iput##SUFFIX) NVSHMEMRS_I_BOTH(iget##SUFFIX) \
    NVSHMEMRS_I_BOTH(broadcast##SUFFIX) NVSHMEMRS_I_BOTH(fcollect##SUFFIX) NVSHMEMRS_I_BOTH(alltoall##SUFFIX)
#define NVSHMEMRS_I_BOTH_REDUCTIONS(SUFFIX, GROUP, OP) NVSHMEMRS_I_BOTH(OP##_reduce##SUFFIX) NVSHMEMRS_I_BOTH(OP##_reducescatter##SUFFIX)
#define NVSHMEMRS_I_BOTH_WAITS(V)                                                                                \
    NVSHMEMRS_I_BOTH(wait_until_all##V) NVSHMEMRS_I_BOTH(wait_until_any##V) NVSHMEMRS_I_BOTH(wait_until_some##V) \
    NVSHMEMRS_I_BOTH(test_all##V) NVSHMEMRS_I_BOTH(test_any##V) NVSHMEMRS_I_BOTH(test_some##V)
template <class A, class B> struct Of<Two<A, B>> : Of<A>, Of<B> {
    typedef Of<A> First;
    typedef Of<B> Second;
    NVSHMEMRS_I_BOTH(p) NVSHMEMRS_I_BOTH(g)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_COPIES, )
    NVSHMEMRS_I_BOTH(atomic_fetch) NVSHMEMRS_I_BOTH(atomic_set) NVSHMEMRS_I_BOTH(atomic_swap) NVSHMEMRS_I_BOTH(atomic_compare_swap)
    NVSHMEMRS_I_BOTH(atomic_inc) NVSHMEMRS_I_BOTH(atomic_fetch_inc) NVSHMEMRS_I_BOTH(atomic_add) NVSHMEMRS_I_BOTH(atomic_fetch_add)
    NVSHMEMRS_I_BOTH(atomic_and) NVSHMEMRS_I_BOTH(atomic_fetch_and) NVSHMEMRS_I_BOTH(atomic_or) NVSHMEMRS_I_BOTH(atomic_fetch_or)
    NVSHMEMRS_I_BOTH(atomic_xor) NVSHMEMRS_I_BOTH(atomic_fetch_xor)
    NVSHMEMRS_I_BOTH(wait_until) NVSHMEMRS_I_BOTH(test) NVSHMEMRS_I_BOTH_WAITS() NVSHMEMRS_I_BOTH_WAITS(_vector)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_REDUCTIONS, sum) NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_REDUCTIONS, prod)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_REDUCTIONS, min) NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_REDUCTIONS, max)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_REDUCTIONS, and) NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_REDUCTIONS, or)
    NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_BOTH_REDUCTIONS, xor)
};
typedef Of<Two<long, long long>> OfInt64;
typedef Of<Two<unsigned long, unsigned long long>> OfUint64;

} // namespace nvshmemrs::device
