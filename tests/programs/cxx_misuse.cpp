// Mistakes of a caller of nvshmemrs.hpp: each call throws an `nvshmemrs::error` with a status and a text that says what
// must be, nothing is written, no PE is stranded, and the job goes on.

#include <nvshmemrs/nvshmemrs.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using nvshmemrs::plus, nvshmemrs::symmetric_array;
using nvshmemrs::ffi::Status;

namespace {

std::int32_t me = -1, n = 0;

template <typename Call>
void expect(int line, Status status, const std::string &word, const std::string &other, Call &&call) {
    std::string found = "no error";
    try {
        call();
    } catch (const nvshmemrs::error &error) {
        const std::string text = error.what();
        if (error.status() == status && text.find(word) != text.npos && text.find(other) != text.npos)
            return;
        found = "status " + std::to_string(static_cast<int>(error.status())) + ": " + text;
    }
    std::fprintf(stderr, "cxx_misuse:%d: PE %d of %d: status %d with `%s` and `%s` must come, and it is %s\n", line, me, n,
                 static_cast<int>(status), word.c_str(), other.c_str(), found.c_str());
    std::exit(1);
}

#define EXPECT(status, word, other, ...) \
    expect(__LINE__, Status::status, word, other, [&] { static_cast<void>(__VA_ARGS__); })
#define CHECK(what)                                                                       \
    do {                                                                                  \
        if (!(what)) {                                                                    \
            std::fprintf(stderr, "cxx_misuse:%d: PE %d: failed: %s\n", __LINE__, me, #what); \
            std::exit(1);                                                                 \
        }                                                                                 \
    } while (0)

} // namespace

int main() {
    nvshmemrs::runtime none;
    EXPECT(NotInitialized, "runtime", "", none.my_pe());
    EXPECT(NotInitialized, "`runtime` is in no job", "`init`", none.finalize(), 0);
    EXPECT(NotInitialized, "runtime", "", symmetric_array<int>(none, 4));

    auto rt = nvshmemrs::runtime::init();
    me = rt.my_pe();
    n = rt.n_pes();
    const auto world = rt.world();
    symmetric_array<double> data(rt, 8);
    const std::vector<double> nine(9, 1.0);
    std::array<double, 2> two{};

    // Wrong PE, wrong place.
    EXPECT(PeRange, "`pe`", std::to_string(n), data.at(n)[0] = 1.0);
    EXPECT(PeRange, "`pe`", "-1", data.at(-1).put(two), 0);
    EXPECT(PeRange, "`pe`", std::to_string(n), data.at(n)[0].get());
    EXPECT(OutOfBounds, "`index` is 8", "less than 8", data.at(0)[8] = 1.0);
    EXPECT(OutOfBounds, "`index` is 8", "less than 8", data.at(0)[8].get());
    EXPECT(OutOfBounds, "`index` is 3", "less than 2", data.slice(0, 2).at(0).atomic(3) += 1.0, 0);
    EXPECT(OutOfBounds, "`index` is 8", "less than 8", data.test(8, nvshmemrs::equal_to, 1.0));
    EXPECT(NotSymmetric, "`dest`", "malloc", nvshmemrs::symmetric_span<double>(rt.handle(), two.data(), 2).at(0)[0] = 1.0);

    // Wrong shape, one-sided: of the array, of a part of it, of a strided part.
    EXPECT(OutOfBounds, "`dest` has 8 elements", "at least 9", data.at(0).put(nine), 0);
    EXPECT(OutOfBounds, "`dest` has 1 elements", "at least 2", data.slice(7, 1).at(0).put_nbi(two), 0);
    EXPECT(OutOfBounds, "`source` has 1 elements", "at least 2", data.slice(0, 1).at(0).get(two), 0);
    EXPECT(OutOfBounds, "`array` has 8 elements", "at least 9", data.slice(7, 2));
    EXPECT(OutOfBounds, "`dest` has 8 elements", "strided", data.at(0).iput(nine, 3, {0, 4}), 0);
    EXPECT(OutOfBounds, "`source` has 9 elements", "strided", data.at(0).iput(nine, 3, {0, 1}, {1, -1}), 0);
    EXPECT(OutOfBounds, "`dest` has 2 elements", "strided", data.at(0).iget(two, 3, {0, 1}, {0, 1}), 0);
    EXPECT(InvalidValue, "`values` has 2 elements", "at least 8",
           symmetric_array<int>(rt, 8).test_all(nvshmemrs::equal_to, std::array{1, 2}));
    world.barrier();
    for (double value : data)
        CHECK(value == 0.0);

    // Wrong shape in a collective, on one PE: it gets a text on its ranges, the others hear of it.
    const bool last = me == n - 1;
    const auto from = data.slice(0, 2), room = data.slice(4, last ? 1 : 2);
    const auto collective = [&](int line, const char *mine, auto &&call) {
        if (last)
            expect(line, Status::OutOfBounds, mine, "", call);
        else
            expect(line, Status::PeerArgument, "PE " + std::to_string(n - 1), "", call);
    };
    collective(__LINE__, "`dest` has 1 elements", [&] { world.broadcast(room, from, 0); });
    collective(__LINE__, "`dest` has 1 elements", [&] { world.reduce(plus, room, from); });
    collective(__LINE__, "`dest` has", [&] { world.fcollect(data.slice(0, last ? 2 : 6), data.slice(6, 2)); });
    collective(__LINE__, "strided", [&] { world.alltoalls(data.slice(4, last ? 1 : 4), data.slice(0, n), 1, 1, 1); });
    collective(__LINE__, "`dest` has 1 elements", [&] { world.gather(data.slice(0, last ? 1 : 0), from, n - 1); });
    collective(__LINE__, "`source` has 1 elements", [&] { world.scatter(data.slice(0, 2), data.slice(4, last ? 1 : 0), n - 1); });
    if (n == 2)
        EXPECT(InvalidValue, "`source` has 3 elements", "multiple of the 2", world.alltoall(data, data.slice(4, 3)), 0);
    EXPECT(Mismatch, "", "", world.reduce(plus, data.slice(4, 2), data.slice(0, last ? 1 : 2)), 0);
    world.barrier();
    for (double value : data)
        CHECK(value == 0.0);

    // A team that is gone, and one that never was.
    const auto team = world.split_strided(0, 1, n);
    team.destroy();
    EXPECT(BadHandle, "`team` is a handle of team ", "destroyed", team.barrier(), 0);
    EXPECT(BadHandle, "`team` is a handle of team ", "destroyed", team.reduce(plus, data.slice(0, 1)), 0);
    EXPECT(BadHandle, "`team`", "", nvshmemrs::team(rt.handle(), 0xdeadbeef).sync(), 0);
    // Also where the ranges would not fit.
    EXPECT(BadHandle, "`team` is a handle of team ", "destroyed", team.broadcast(data.slice(0, 1), from, 0), 0);
    EXPECT(BadHandle, "`team` is a handle of team ", "destroyed", team.reduce(plus, data.slice(4, 1), from), 0);
    EXPECT(BadHandle, "`team` is a handle of team ", "destroyed", team.gather(data, data.slice(0, 1), 0), 0);
    EXPECT(BadHandle, "`team` is a handle of team ", "destroyed", team.scatter(data.slice(0, 1), data, 0), 0);
    EXPECT(BadHandle, "`team` is a handle of team ", "destroyed", team.alltoalls(data, data, 9, 9, 9), 0);
    EXPECT(InvalidValue, "`size`", "-1", world.split_strided(0, 1, -1));

    // Objects that were moved from, freed or closed.
    symmetric_array<double> moved(rt, 4), taken(std::move(moved));
    CHECK(moved.size() == 0 && moved.begin() == moved.end());
    EXPECT(NotInitialized, "runtime", "freed or moved from", moved.at(0)[0] = 1.0);
    EXPECT(NotInitialized, "runtime", "freed or moved from", moved.free(), 0);
    taken.free();
    EXPECT(NotInitialized, "runtime", "freed or moved from", taken.at(0)[0].get());
    nvshmemrs::stream stream(rt), other(std::move(stream));
    EXPECT(BadHandle, "`stream`", "", stream.synchronize(), 0);
    const nvshmemrs::symmetric_span<double> queued = data.on(other);
    other.close();
    EXPECT(BadHandle, "stream", "ended", queued.at(0)[0] = 1.0);
    EXPECT(BadHandle, "`stream`", "", other.close(), 0);
    nvshmemrs::signal signal(rt), next(std::move(signal));
    EXPECT(NotInitialized, "runtime", "", signal.fetch());

    // A signal that cannot be freed, because the PEs name different ones, stays; one that is moved to itself does, too.
    nvshmemrs::signal third(rt), &mine = last ? next : third, &other_one = last ? third : next;
    EXPECT(Mismatch, "", "", mine.free(), 0);
    auto &same = mine;
    mine = std::move(same);
    mine.at(me).set(3);
    CHECK(mine.fetch() == 3 && other_one.fetch() == 0);
    next.free();
    third.free();
    EXPECT(NotInitialized, "runtime", "", third.free(), 0);

    // A finalize that is refused: the runtime is still the object's.
    nvshmemrs::stream busy(rt);
    std::int32_t refused = 0;
    busy.call([&] {
        try {
            rt.finalize();
        } catch (const nvshmemrs::error &error) {
            refused = static_cast<std::int32_t>(error.status());
        }
    });
    busy.close();
    CHECK(refused == static_cast<std::int32_t>(Status::Busy) && rt && rt.my_pe() == me);
    nvshmemrs::event event(rt);
    EXPECT(InvalidValue, "`start`", "recorded", event.milliseconds_since(event));

    // After all that the job works.
    data[0] = me + 1.0;
    world.reduce(plus, data.slice(0, 1));
    CHECK(data[0] == n * (n + 1) / 2.0);
    world.barrier();

    rt.finalize();
    EXPECT(NotInitialized, "finalize", "", data.at(0)[0] = 1.0);
    EXPECT(NotInitialized, "finalize", "", data.free(), 0);
    EXPECT(NotInitialized, "finalize", "", world.barrier(), 0);
    EXPECT(NotInitialized, "finalize", "", world.broadcast(data.slice(4, 1), from, 0), 0);
    EXPECT(NotInitialized, "runtime", "", rt.my_pe());
    EXPECT(NotInitialized, "`runtime` is in no job", "finalized", rt.finalize(), 0);
    std::printf("misuse ok PE %d\n", me);
}
