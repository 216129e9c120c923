// Shared by the conformance programs in C++: the runtime, this PE's place, and errors that end the program. The file that includes this one
// defines PROGRAM, its name in messages.

#include <nvshmemrs/nvshmemrs.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

nvshmemrs::runtime rt;
int me = 0, n = 0, left = 0, right = 0;
std::string done;

[[noreturn]] void fail(const std::string &what, const std::string &text) {
    std::fprintf(stderr, PROGRAM ": PE %d of %d: %s: %s\n", me, n, what.c_str(), text.c_str());
    std::exit(1);
}

void barrier() { rt.world().barrier(); }

void init() {
    rt = nvshmemrs::runtime::init();
    me = rt.my_pe();
    n = rt.n_pes();
    left = (me + n - 1) % n;
    right = (me + 1) % n;
}

void ran(const char *name, void (*scenario)()) {
    scenario();
    done += std::string(" ") + name;
}

void finalize() {
    rt.finalize();
    std::printf(PROGRAM " ok PE %d of %d (C++):%s\n", me, n, done.c_str());
}

} // namespace
