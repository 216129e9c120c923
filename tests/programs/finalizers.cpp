// Destructors on some PEs only, while the stack is unwound, after finalize, of objects that were moved from.
//
// Argument: the scenario. A destructor that waits for another PE hangs here, because that PE comes only afterwards.

#include <nvshmemrs/nvshmemrs.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>
#include <type_traits>

// A copy of an owner would end the original, so owners cannot be copied. A moved-from object owns nothing.
template <typename T> constexpr bool is_owner =
    !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T> && std::is_nothrow_move_constructible_v<T> &&
    std::is_nothrow_move_assignable_v<T>;
static_assert(is_owner<nvshmemrs::runtime> && is_owner<nvshmemrs::local_job> && is_owner<nvshmemrs::stream> &&
              is_owner<nvshmemrs::event> && is_owner<nvshmemrs::symmetric_array<int>> && is_owner<nvshmemrs::signal>);

using nvshmemrs::event, nvshmemrs::runtime, nvshmemrs::symmetric_array;
using nvshmemrs::equal_to, nvshmemrs::greater_equal;

namespace {

#define CHECK(what)                                                                                     \
    do {                                                                                                \
        if (!(what)) {                                                                                  \
            std::fprintf(stderr, "finalizers.cpp:%d: failed: %s\n", __LINE__, #what);                  \
            std::exit(1);                                                                               \
        }                                                                                               \
    } while (0)

nvshmemrs_heap_stats_t stats(const runtime &rt) { return rt.heap_stats(); }

void barrier(const runtime &rt) { rt.world().barrier(); }

constexpr std::size_t MANY = 1000, EACH = 100;

std::vector<symmetric_array<std::int64_t>> many(const runtime &rt) {
    std::vector<symmetric_array<std::int64_t>> arrays;
    // The vector grows, so each is moved several times, and all that were moved from are destroyed.
    for (std::size_t i = 0; i < MANY; ++i)
        arrays.emplace_back(rt, EACH);
    return arrays;
}

// PE 0 lets 1000 arrays go, the others keep them until later; allocation goes on meanwhile and must not use their memory.
void asymmetric(runtime &rt) {
    const std::int32_t me = rt.my_pe(), n = rt.n_pes();
    auto arrays = many(rt);
    std::vector<std::uintptr_t> places;
    for (std::size_t i = 0; i < MANY; ++i) {
        places.push_back(reinterpret_cast<std::uintptr_t>(arrays[i].data()));
        std::fill(arrays[i].begin(), arrays[i].end(), std::int64_t(i * 100 + me));
    }
    barrier(rt);
    if (me == 0)
        arrays.clear();
    std::vector<symmetric_array<std::int64_t>> later;
    for (int round = 0; round < 50; ++round) {
        later.emplace_back(rt, EACH + round);
        const auto start = reinterpret_cast<std::uintptr_t>(later.back().data());
        const auto end = start + later.back().size() * sizeof(std::int64_t);
        for (std::uintptr_t place : places)
            CHECK(end <= place || place + EACH * sizeof(std::int64_t) <= start);
        std::fill(later.back().begin(), later.back().end(), -1);
        // The contents of all PEs' copies are unchanged, PE 0's too: the other PEs may still read them.
        if (me != 0) {
            const std::size_t i = (round * 37) % MANY;
            const std::int32_t from = (me + round) % n;
            std::vector<std::int64_t> seen(EACH);
            arrays[i].at(from).get(seen);
            for (std::int64_t value : seen)
                CHECK(value == std::int64_t(i * 100 + from));
        }
        CHECK(stats(rt).allocations == MANY + later.size());
    }
    barrier(rt);
    arrays.clear();
    barrier(rt);
    later.clear();
    barrier(rt);
    symmetric_array<char> last(rt, 1);
    CHECK(stats(rt).allocations == 1);
    // And it is whole again.
    last.free();
    CHECK(stats(rt).largest_free_bytes == stats(rt).heap_bytes);
    // A view that is assigned through the base class leaves each array the memory that it owns.
    {
        symmetric_array<int> first(rt, 10), second(rt, 20);
        static_cast<nvshmemrs::symmetric_span<int> &>(first) = second.view();
        CHECK(first.data() == second.data());
    }
    symmetric_array<char>(rt, 1).free();
    CHECK(stats(rt).allocations == 0);
}

struct Thrown {};

// An exception passes arrays and streams with work that others will join, on PE 0 only.
void unwinding(runtime &rt) {
    const std::int32_t me = rt.my_pe();
    nvshmemrs::signal flag(rt);
    for (int round = 0; round < 20; ++round) {
        auto kept = std::make_unique<symmetric_array<int>>(rt, 50);
        event done(rt);
        try {
            symmetric_array<int> first(rt, 10), second(rt, 20);
            nvshmemrs::stream stream(rt);
            nvshmemrs::event event(rt);
            rt.node().on(stream).barrier();
            event.record(stream);
            done.record(stream);
            kept.reset();
            if (me == 0)
                throw Thrown{};
            // The others come to the queued barrier only once PE 0 is past its handler.
            flag.wait_until(greater_equal, round + 1);
            stream.close();
        } catch (const Thrown &) {
            CHECK(me == 0);
            for (std::int32_t pe = 1; pe < rt.n_pes(); ++pe)
                flag.at(pe).set(round + 1);
            // The next stream may enter the team only when this one has left it.
            done.synchronize();
        }
        barrier(rt);
    }
    barrier(rt);
    symmetric_array<char> last(rt, 1);
    CHECK(stats(rt).allocations == 2);
}

// The destructor of a stream with a collective that the others join later.
void streams(runtime &rt) {
    const std::int32_t me = rt.my_pe();
    nvshmemrs::signal flag(rt);
    if (me == 0) {
        {
            nvshmemrs::stream stream(rt);
            rt.node().on(stream).barrier();
        }
        for (std::int32_t pe = 1; pe < rt.n_pes(); ++pe)
            flag.at(pe).set(1);
    } else {
        flag.wait_until(equal_to, 1);
        rt.node().barrier();
    }
    // Finalize waits for a stream that was let go.
    static bool ran = false;
    {
        nvshmemrs::stream stream(rt);
        stream.call([] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            ran = true;
        });
    }
    flag = nvshmemrs::signal();
    rt.finalize();
    CHECK(ran);
}

void moved(runtime &rt) {
    symmetric_array<int> first(rt, 4), second;
    int *place = first.data();
    second = std::move(first);
    CHECK(first.data() == nullptr && first.size() == 0 && second.data() == place && second.size() == 4);
    first = std::move(second);
    auto &same = first;
    first = std::move(same);
    CHECK(first.data() == place);
    symmetric_array<int> third(std::move(first));
    std::swap(first, third);
    CHECK(first.data() == place && third.data() == nullptr);
    // Assigning lets the old one go; it does not come twice.
    symmetric_array<int> other(rt, 8);
    other = std::move(first);
    barrier(rt);
    symmetric_array<int> fresh(rt, 1);
    CHECK(stats(rt).allocations == 2 && stats(rt).released == 0);
    other.free();
    CHECK(other.data() == nullptr);
    other.release();
    nvshmemrs::stream stream(rt), taken(std::move(stream));
    CHECK(!stream && taken);
    stream = std::move(taken);
    stream.close();
    CHECK(!stream);
    nvshmemrs::event event(rt), none;
    none = std::move(event);
    CHECK(!event && none);
}

// Arrays, streams and events that outlive the runtime do no harm to the next one.
void after_finalize(runtime &rt) {
    nvshmemrs_init_attr_t attr = runtime::defaults();
    attr.heap_bytes = 8 << 20;
    auto old = std::make_unique<symmetric_array<int>>(rt, 1000);
    auto stream = std::make_unique<nvshmemrs::stream>(rt);
    auto event = std::make_unique<nvshmemrs::event>(rt);
    rt.finalize();
    CHECK(!rt);
    rt = runtime::init(attr);
    symmetric_array<int> fresh(rt, 1000);
    std::fill(fresh.begin(), fresh.end(), 5);
    old.reset();
    stream.reset();
    event.reset();
    CHECK(stats(rt).allocations == 1 && stats(rt).released == 0);
    symmetric_array<int> more(rt, 1000);
    for (int value : fresh)
        CHECK(value == 5);
}

// Other threads destroy arrays while this one is inside collectives.
void threads(runtime &rt) {
    const std::int32_t me = rt.my_pe();
    auto arrays = many(rt);
    std::thread other([&arrays, me] {
        for (std::size_t i = 0; i < MANY; ++i)
            arrays[(i * 7 + me * 311) % MANY].release();
    });
    for (int i = 0; i < 200; ++i) {
        symmetric_array<char> some(rt, 64);
        barrier(rt);
    }
    other.join();
    barrier(rt);
    symmetric_array<char> last(rt, 1);
    CHECK(stats(rt).allocations == 1);
}

// Destroyed at exit, after finalize.
symmetric_array<int> at_exit;
std::unique_ptr<nvshmemrs::stream> stream_at_exit;
runtime static_runtime;

} // namespace

int main(int argc, char **argv) {
    const std::string scenario = argc > 1 ? argv[1] : "";
    runtime rt = runtime::init();
    std::int32_t me = rt.my_pe();
    if (scenario == "asymmetric")
        asymmetric(rt);
    else if (scenario == "unwinding")
        unwinding(rt);
    else if (scenario == "streams")
        streams(rt);
    else if (scenario == "moved")
        moved(rt);
    else if (scenario == "after_finalize")
        after_finalize(rt);
    else if (scenario == "threads")
        threads(rt);
    else if (scenario == "static") {
        at_exit = symmetric_array<int>(rt, 10);
        stream_at_exit = std::make_unique<nvshmemrs::stream>(rt);
    } else if (scenario == "static_runtime") {
        // No finalize: the destructor leaves, with a collective queued that nobody joins.
        at_exit = symmetric_array<int>(rt, 10);
        stream_at_exit = std::make_unique<nvshmemrs::stream>(rt);
        barrier(rt);
        if (me == 0)
            rt.node().on(*stream_at_exit).barrier();
        static_runtime = std::move(rt);
    } else
        return 2;
    if (rt)
        rt.finalize();
    std::printf("%s ok PE %d\n", scenario.c_str(), static_cast<int>(me));
    return 0;
}
