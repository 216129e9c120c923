// Conformance, scenario "misuse": a caller's mistake comes back as a status and a message that names the
// argument and the value; nothing is written, no PE is stranded, and the job goes on. The same steps, in the same
// order, are in misuse.c, misuse.jl and misuse.f90.

#include <nvshmemrs/ffi.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

namespace ffi = nvshmemrs::ffi;
using ffi::Dtype, ffi::Op, ffi::Status, ffi::Team::World;

namespace {

nvshmemrs_runtime_t rt = 0;
std::int32_t me = 0, n = 0;

void check(bool holds, const char *what) {
    if (!holds) {
        std::fprintf(stderr, "misuse: PE %d of %d: failed: %s\n", me, n, what);
        std::exit(1);
    }
}

void must(Status status, const char *call) {
    if (status != Status::Success) {
        std::fprintf(stderr, "misuse: PE %d of %d: %s: status %d: %s\n", me, n, call, static_cast<int>(status),
                     ffi::last_error_in(ffi::Language::Cxx));
        std::exit(1);
    }
}

// `call` must fail with `wanted`, and the message must have both words in it: the names are those of C++.
void expect(Status status, Status wanted, const std::string &word, const std::string &value, const char *call) {
    const std::string text = ffi::last_error_in(ffi::Language::Cxx);
    if (status != wanted || text.find(word) == text.npos || text.find(value) == text.npos) {
        std::fprintf(stderr,
                     "misuse: PE %d of %d: %s: status %d (expected %d), message \"%s\" (expected %s and %s in it)\n",
                     me, n, call, static_cast<int>(status), static_cast<int>(wanted), text.c_str(), word.c_str(),
                     value.c_str());
        std::exit(1);
    }
}

#define CHECK(what) check((what), #what)
#define MUST(call) must((call), #call)
#define EXPECT(wanted, word, value, call) expect((call), Status::wanted, word, value, #call)

constexpr std::size_t COUNT = 8;

void run() {
    std::int32_t nobody = -5;
    EXPECT(NotInitialized, "runtime", "", ffi::my_pe(0, &nobody));
    CHECK(nobody == -5);

    MUST(ffi::init(nullptr, &rt));
    MUST(ffi::my_pe(rt, &me));
    MUST(ffi::n_pes(rt, &n));
    CHECK(n >= 2); // a mismatch takes two

    void *memory = nullptr;
    MUST(ffi::calloc(rt, COUNT, sizeof(double), &memory));
    auto *data = static_cast<double *>(memory);
    std::array<double, COUNT + 1> local{1, 2, 3, 4, 5, 6, 7, 8, 9};

    EXPECT(PeRange, "`pe`", std::to_string(n), ffi::put(rt, data, local.data(), sizeof(double), n));
    EXPECT(PeRange, "`pe`", "-1", ffi::put(rt, data, local.data(), sizeof(double), -1));
    EXPECT(OutOfBounds, "`dest`", "72", ffi::put(rt, data, local.data(), sizeof local, 0));
    EXPECT(NotSymmetric, "`dest`", "`ffi::malloc()`", ffi::put(rt, local.data(), data, sizeof(double), 0));
    EXPECT(InvalidValue, "`pe`", "`nullptr`", ffi::my_pe(rt, nullptr));
    EXPECT(InvalidValue, "`ptr`", "`nullptr`", ffi::malloc(rt, 64, nullptr));
    MUST(ffi::barrier(rt, World));
    for (std::size_t i = 0; i < COUNT; i++) {
        CHECK(data[i] == 0.0);
    }

    MUST(ffi::malloc(rt, 64, &memory));
    MUST(ffi::free(rt, memory));
    EXPECT(BadFree, "`ptr`", "free", ffi::free(rt, memory));

    for (std::size_t i = 0; i < COUNT; i++) {
        data[i] = i < 4 ? me + 1.0 : -7.0;
    }
    double *dest = data + 4;
    EXPECT(InvalidValue, "`dtype`", "77", ffi::reduce(rt, World, dest, data, 4, static_cast<Dtype>(77), Op::Sum));
    EXPECT(InvalidValue, "`op`", "88", ffi::reduce(rt, World, dest, data, 4, Dtype::Double, static_cast<Op>(88)));
    const std::size_t count = me == n - 1 ? 3 : 4;
    EXPECT(Mismatch, "count", "3", ffi::reduce(rt, World, dest, data, count, Dtype::Double, Op::Sum));
    MUST(ffi::barrier(rt, World));
    for (int i = 0; i < 4; i++) {
        CHECK(dest[i] == -7.0);
    }

    // The type does not have the operation, the buffers overlap, the team has fewer than no members, or is gone.
    EXPECT(InvalidValue, "`op` is xor", "`double`", ffi::reduce(rt, World, dest, data, 4, Dtype::Double, Op::Xor));
    EXPECT(InvalidValue, "`dest`", "clear of `source`", ffi::reduce(rt, World, data + 1, data, 4, Dtype::Double, Op::Sum));
    nvshmemrs_team_t team = 77;
    EXPECT(InvalidValue, "`size`", "-1", ffi::team_split_strided(rt, World, 0, 1, -1, nullptr, 0, &team));
    CHECK(team == 77);
    MUST(ffi::team_split_strided(rt, World, 0, 1, n, nullptr, 0, &team));
    MUST(ffi::team_destroy(rt, team));
    EXPECT(BadHandle, "`team` is a handle of team ", "destroyed", ffi::barrier(rt, team));
    CHECK(data[1] == me + 1.0 && dest[0] == -7.0);

    // A stream is no runtime where something is made; an event that was never recorded has no time.
    nvshmemrs_stream_t stream = 0;
    nvshmemrs_event_t event = 0;
    double milliseconds = -5.0;
    MUST(ffi::stream_new(rt, &stream));
    MUST(ffi::event_new(rt, &event));
    EXPECT(BadHandle, "`runtime` is the handle of a stream that is live", "live runtime", ffi::malloc(stream, 64, &memory));
    EXPECT(InvalidValue, "`start`", "recorded", ffi::event_elapsed(event, event, &milliseconds));
    CHECK(milliseconds == -5.0);
    MUST(ffi::event_free(event));
    MUST(ffi::stream_free(stream));
    EXPECT(BadHandle, "`stream` is the handle of a stream that is ended", "live stream", ffi::stream_synchronize(stream));

    // After all that the job works.
    MUST(ffi::reduce(rt, World, dest, data, 4, Dtype::Double, Op::Sum));
    CHECK(dest[0] == n * (n + 1) / 2.0);
    MUST(ffi::barrier(rt, World));
    MUST(ffi::free(rt, data));
    MUST(ffi::finalize(rt));
    EXPECT(NotInitialized, "`ffi::init()`", "finalize", ffi::my_pe(rt, &nobody));
    CHECK(nobody == -5);
    std::printf("misuse ok PE %d of %d (C++)\n", me, n);
}

} // namespace

int main() {
    try {
        run();
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "misuse: %s\n", error.what());
        return 1;
    }
}
