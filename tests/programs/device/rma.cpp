// Every function for remote memory access, signals and atomic operations, in every type and scope, from each PE to its right neighbour.
// The destination and the memory around it are compared, byte by byte.
#include "job.hpp"

#include "rma.cuh"
#ifdef NVSHMEM_NAMES
#include "qp.cuh"
#endif

#include <cmath>
#include <vector>

static Pe pe;

// Threads of a block: a full warp, and one that is not.
static const dim3 THREADS(10, 4);
static const u64 ROOM = 2048;

static u8 pattern(int of, u64 i, int salt) { return (u8)(of * 101 + i * 7 + (i >> 8) * 13 + salt * 29 + 1); }

struct Moves {
    u8 *dest, *source, *own;
    u64 *signal;
    int salt = 0;

    Moves() : dest(pe.array<u8>(ROOM)), source(pe.array<u8>(ROOM)), own(new (std::align_val_t(64)) u8[ROOM]), signal(pe.array<u64>(3)) {}

    // One function. `size`: bytes of an element. `at`: offsets of destination and source, which have the same alignment or not.
    void one(const std::string &name, void (*kernel)(Move, int), int what, u64 size, u64 count, u64 dest_at, u64 source_at, bool weak) {
        salt++;
        bool get = (what >= GET_ && what < PUT_NBI_) || (what >= GET_NBI_ && what < SIGNAL_) || (what >= IGET_ && what < P_) || what == G_;
        bool strided = what >= IPUT_ && what < P_, signals = what >= SIGNAL_ && what < IPUT_;
        u8 *to = get ? own : dest, *from = get ? source : own;
        for (u64 i = 0; i < ROOM; i++) to[i] = 0xee, from[i] = pattern(pe.me, i, salt);
        for (int i = 0; i < 3; i++) signal[i] = 40;
        pe.barrier();
        Move m = {pe.state, to + dest_at, from + source_at, count, strided ? 3 : 1, strided ? 2 : 1, signal + 1, 2, NVSHMEMRS_SIGNAL_ADD, pe.right()};
        if (salt % 2) m.op = NVSHMEMRS_SIGNAL_SET;
        nvshmemrs::host::Options options;
        if (weak) options = nvshmemrs::host::weak(pe.state);
        options.seed = salt;
        nvshmemrs::host::launch(1, THREADS, [&] { kernel(m, what); }, options);
        pe.barrier();
        std::vector<u8> expected(ROOM, 0xee);
        int of = get ? pe.right() : pe.left();
        for (u64 i = 0; i < count * size; i++) {
            u64 element = i / size, byte = i % size;
            expected[dest_at + element * m.dest_step * size + byte] = pattern(of, source_at + element * m.source_step * size + byte, salt);
        }
        for (u64 i = 0; i < ROOM; i++)
            if (to[i] != expected[i])
                fail(name + " function " + std::to_string(what) + ", " + std::to_string(count) + " elements: byte " + std::to_string(i) +
                                            " is " + std::to_string(to[i]) + ", not " + std::to_string(expected[i]));
        u64 value = !signals ? 40 : m.op == NVSHMEMRS_SIGNAL_ADD ? 42 : 2;
        check(signal[0] == 40 && signal[1] == value && signal[2] == 40, name + ": signals");
    }

    // All functions of a type.
    void all(const std::string &name, void (*kernel)(Move, int), u64 size, int first, int end, bool askew) {
        for (int what = first; what < end; what++) {
            bool strided = what >= IPUT_ && what < P_;
            // Few elements, and so many that all paths of a copy run; strided ones take three times the room.
            u64 many = strided ? 500 / size : 1500 / size;
            one(name, kernel, what, size, 1 + salt % 3, size * 3, size * 3, true);
            one(name, kernel, what, size, many, size * 3, askew ? size * 4 : size * (what % 2 ? 3 : 4), what % 3 == 0);
        }
    }
};

static void signals() {
    u64 *signal = pe.array<u64>(3);
    for (int op : {NVSHMEMRS_SIGNAL_SET, NVSHMEMRS_SIGNAL_ADD}) {
        signal[0] = signal[1] = signal[2] = 5;
        pe.barrier();
        nvshmemrs::host::launch(1, 1, [&] { signal_op(pe.state, signal + 1, 7, op, pe.right()); });
        pe.barrier();
        check(signal[0] == 5 && signal[1] == (op == NVSHMEMRS_SIGNAL_SET ? 7 : 12) && signal[2] == 5, "signal_op");
        pe.barrier();
    }
}

// Half in single precision.
static float widened(u16 half) { return nvshmemrs::device::half_to_float(half); }

template <class T> struct Adds {
    static T sum(T a, T b) { return (T)(a + b); }
};
struct Half {
    u16 bits;
};
template <> struct Adds<Half> {
    static Half sum(Half a, Half b) { return {nvshmemrs::device::float_to_half(widened(a.bits) + widened(b.bits))}; }
};

// `T`: the type in the calls. `Is`: the elements' actual type.
template <class T, class Is> struct Atomics {
    T *words, *result;
    std::string name;
    void (*kernel)(Atomic<T>, int);

    Atomics(const char *name, void (*kernel)(Atomic<T>, int)) : words(pe.array<T>(3)), result(new T), name(name), kernel(kernel) {}

    // `made`: the word's new value; `gives`: whether the function returns the old value.
    void one(int what, T old, T value, T cond, T made, bool gives) {
        words[0] = words[1] = words[2] = old;
        pe.barrier();
        *result = (T)(cond ^ 1);
        Atomic<T> a = {pe.state, words + 1, result, value, cond, 1, pe.right()};
        nvshmemrs::host::launch(1, THREADS, [&] { kernel(a, what); });
        pe.barrier();
        check(*result == (gives ? old : cond), name + " atomic " + std::to_string(what) + ": the result");
        check(words[1] == made, name + " atomic " + std::to_string(what) + ": the word");
        check(words[0] == old && words[2] == old, name + " atomic " + std::to_string(what) + ": the neighbours");
        pe.barrier();
    }

    static T sum(T a, T b) { return nvshmemrs::device::bits<T>(Adds<Is>::sum(nvshmemrs::device::bits<Is>(a), nvshmemrs::device::bits<Is>(b))); }

    void moves(T one_value, T other) {
        one(FETCH_, one_value, 0, other, one_value, true);
        one(SET_, one_value, other, one_value, other, false);
        one(SWAP_, one_value, other, other, other, true);
        one(ADD_, one_value, other, one_value, sum(one_value, other), false);
        one(FETCH_ADD_, one_value, other, other, sum(one_value, other), true);
    }

    void standard(T a, T b) {
        moves(a, b);
        one(INC_, a, 0, a, sum(a, 1), false);
        one(FETCH_INC_, a, 0, b, sum(a, 1), true);
        one(CSWAP_, a, b, a, b, true);
        one(CSWAP_, a, b, (T)(a + 1), a, true);
    }

    void bitwise(T a, T b) {
        standard(a, b);
        one(AND_, a, b, a, a & b, false);
        one(FETCH_AND_, a, b, b, a & b, true);
        one(OR_, a, b, a, a | b, false);
        one(FETCH_OR_, a, b, b, a | b, true);
        one(XOR_, a, b, a, a ^ b, false);
        one(FETCH_XOR_, a, b, b, a ^ b, true);
    }

    // No addition is lost: all threads of all PEs add to one word.
    void together(int what, T each, T total) {
        words[1] = 0;
        pe.barrier();
        Atomic<T> a = {pe.state, words + 1, result, each, 0, 40, 0};
        nvshmemrs::host::launch(1, THREADS, [&] { kernel(a, what); });
        pe.barrier();
        if (pe.me == 0) check(words[1] == total, name + ": additions are lost");
        pe.barrier();
    }
};

// Bits of a number, for types that the tests handle as integers.
template <class T, class F> static void floating(const char *name, void (*kernel)(Atomic<F>, int), F a, F b) {
    typedef void (*Kernel)(Atomic<T>, int);
    using nvshmemrs::device::bits;
    static_assert(sizeof(Atomic<T>) == sizeof(Atomic<F>), "the kernel's argument");
    static void (*real)(Atomic<F>, int);
    real = kernel;
    Kernel through = [](Atomic<T> x, int what) { real(bits<Atomic<F>>(x), what); };
    Atomics<T, F> atomics(name, through);
    atomics.moves(bits<T>(a), bits<T>(b));
    atomics.together(ADD_, bits<T>((F)1), bits<T>((F)(40 * pe.n)));
    atomics.together(FETCH_ADD_, bits<T>((F)0.5), bits<T>((F)(20 * pe.n)));
}

int main() {
    pe = start();
    Moves moves;
#define RMA_TEST(NAME, T) moves.all(#NAME, rma_##NAME, sizeof(T), 0, G_ + 1, false);
    RMA_TYPES(RMA_TEST)
#define SIZE_TEST(BITS) moves.all(#BITS, rma_##BITS, BITS / 8, 0, P_, BITS == 8);
    SIZES(SIZE_TEST)
#ifdef NVSHMEM_NAMES
#define QP_TEST(NAME, T)                                                       \
    moves.all("qp_" #NAME, qp_##NAME, sizeof(T), PUT_, IPUT_, false);          \
    moves.all("qp_" #NAME, qp_##NAME, sizeof(T), P_, G_ + 1, false);
    RMA_TYPES(QP_TEST)
#endif
    for (bool askew : {false, true}) moves.all("mem", rma_mem, 1, 0, IPUT_, askew);
    // A source that is not aligned to the type: nothing is lost.
    for (int what = PUT_; what < IPUT_; what++)
        for (u64 count : {1, 50}) {
            moves.one("64, source not aligned", rma_64, what, 8, count, 16, 17, false);
            moves.one("32, source not aligned", rma_32, what, 4, count, 16, 18, false);
        }
    signals();
#define BITS_TEST(NAME, T) { Atomics<T, T> a(#NAME, amo_##NAME); a.bitwise((T)-3, (T)0x5a5a5a5a5a5a5a5a); a.together(FETCH_ADD_, 3, (T)(120 * pe.n)); a.together(INC_, 0, (T)(40 * pe.n)); }
    AMO_BITS_TYPES(BITS_TEST)
#define STANDARD_TEST(NAME, T) { Atomics<T, T> a(#NAME, amo_##NAME); a.standard((T)-3, (T)0x5a5a5a5a5a5a5a5a); a.together(ADD_, 3, (T)(120 * pe.n)); }
    AMO_STANDARD_TYPES(STANDARD_TEST)
    floating<unsigned, float>("float", amo_float, 1.5f, 1e-40f);
    floating<u64, double>("double", amo_double, -2.5, 1e-310);
    Atomics<u16, Half> half("half", amo_half);
    half.moves(0x3e00, 0xc100);
    half.together(ADD_, 0x3c00, nvshmemrs::device::float_to_half(40.0f * pe.n));
    pe.barrier();
    printf("rma ok PE %d of %d\n", pe.me, pe.n);
    call(nvshmemrs_finalize(pe.runtime));
}
