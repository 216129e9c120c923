/* Three steps with operations of the host, each with a bug of its own kind.
 *
 * Bug: what was fetched is used before quiet; two puts to one place have no fence between them; the owner fills its row again while its
 * neighbour may still fetch it.
 * Problems: 3
 * Expect: dest used: get_nbi at A, load at B
 * Expect: two puts: put at C, put at D
 * Expect: write early or read early: get at E, store at F
 */
#include "job.h"
#include <nvshmemrs/ffi.hpp>

#include <algorithm>
#include <array>

namespace ffi = nvshmemrs::ffi;

namespace {

constexpr std::size_t WORDS = 64, BYTES = WORDS * sizeof(std::int64_t);

void must(ffi::Status status) {
    if (status != ffi::Status::Success) {
        std::fprintf(stderr, "PE %d: %s\n", me, nvshmemrs_last_error());
        std::exit(1);
    }
}

std::int64_t *row() {
    return static_cast<std::int64_t *>(zeroed(WORDS, sizeof(std::int64_t)));
}

} // namespace

int main() {
    join();
    const int right = (me + 1) % n;
    std::int64_t *mine = row(), *status = row();
    std::array<std::int64_t, WORDS> fetched{}, working{}, done{};
    working.fill(1);
    done.fill(2);
    std::fill_n(mine, WORDS, me);
    barrier();

    must(ffi::get_nbi(rt, fetched.data(), mine, BYTES, right)); // A
    IF_MENDED(must(ffi::quiet(rt)));
    EXPECT(fetched[0] == right); // B
    must(ffi::quiet(rt));

    must(ffi::put(rt, status, working.data(), BYTES, right)); // C
    IF_MENDED(must(ffi::fence(rt)));
    must(ffi::put(rt, status, done.data(), BYTES, right)); // D
    barrier();
    EXPECT(status[0] == 2);

    must(ffi::get(rt, fetched.data(), mine, BYTES, right)); // E
    EXPECT(fetched[0] == right);
    IF_MENDED(barrier());
    mine[0] = -1; // F
    barrier();

    CALL(nvshmemrs_free(rt, status));
    CALL(nvshmemrs_free(rt, mine));
    return leave();
}
