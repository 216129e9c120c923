// The state of a running job, read from outside or from one of its PEs. `docs/inspect.md` describes the values.
//
// nvshmemrs.hpp does not include this header, which needs a separate library: link libnvshmemrs_inspect_cpp.a, which contains cxx's
// runtime, with -lpthread -ldl. Strings are `rust::String`, which converts to `std::string`, and lists are
// `rust::Vec`, which has the functions of a container.

#ifndef NVSHMEMRS_INSPECT_HPP
#define NVSHMEMRS_INSPECT_HPP

#ifndef __cpp_exceptions
#error "nvshmemrs/inspect.hpp reports errors by exceptions: compile without -fno-exceptions"
#endif

#include <cstdint>
#include <exception>
#include <iosfwd>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <nvshmemrs/inspect_bridge.hpp>

namespace rust {
inline namespace cxxbridge1 {

/// Writes a string. The function is in cxx's runtime.
std::ostream &operator<<(std::ostream &out, const String &text);

} // namespace cxxbridge1
} // namespace rust

namespace nvshmemrs {
namespace inspect {

/// The reason why a job cannot be inspected.
enum class problem { no_process, other_user, no_job, other_version, bad_argument, system };

/// A job cannot be inspected.
class error : public std::runtime_error {
  public:
    /// With its kind and its text.
    error(inspect::problem problem, const std::string &text) : std::runtime_error(text), problem_(problem) {}

    /// The kind of the error.
    inspect::problem problem() const noexcept { return problem_; }

  private:
    inspect::problem problem_;
};

namespace detail {

/// The library's error text begins with the kind.
[[noreturn]] inline void rethrow(const std::exception &why) {
    static constexpr std::pair<const char *, problem> kinds[] = {
        {"no_process", problem::no_process},       {"other_user", problem::other_user},
        {"no_job", problem::no_job},               {"other_version", problem::other_version},
        {"bad_argument", problem::bad_argument},
    };
    const std::string text = why.what();
    const auto colon = text.find(": ");
    const std::string name = text.substr(0, colon);
    const std::string rest = colon == std::string::npos ? text : text.substr(colon + 2);
    for (const auto &kind : kinds) {
        if (name == kind.first) {
            throw error(kind.second, rest);
        }
    }
    throw error(problem::system, rest);
}

template <typename Call> auto guarded(Call call) -> decltype(call()) {
    try {
        return call();
    } catch (const std::exception &why) {
        rethrow(why);
    }
}

} // namespace detail

/// A job that was found through its processes. Any thread may use the object. The calls of an object that was moved from throw `no_job`.
class job {
  public:
    /// The job of process `pid`, which is a PE, a launcher, or a process in init.
    ///
    /// Local. Errors: `no_process`, `other_user`, `no_job`, `other_version`.
    static job attach(std::uint32_t pid) {
        return job(detail::guarded([&] { return find(pid); }));
    }

    /// The job that the calling process is a PE of.
    ///
    /// Local. Errors: `no_job`, `other_version`.
    static job this_job() {
        return job(detail::guarded([] { return find_this(); }));
    }

    /// A snapshot of the job. PEs have `patience` seconds, from 0 to 60, to answer; for a PE that does not, the snapshot has
    /// its previous answer. One thread takes a snapshot at a time; others wait for it.
    ///
    /// Local: no PE waits for the call. Errors: `bad_argument`; `no_job` if the job ended before it had come together.
    Snapshot snapshot(double patience = 0.1) const {
        const Found &there = found();
        return detail::guarded([&] { return there.look(patience); });
    }

    /// The number of PEs of the job. Local; does not wait for a snapshot that another thread takes.
    int n_pes() const { return found().count(); }

    /// The PEs that hold others up, and the operation of every PE, as text. Local; asks only PEs of other hosts, and does not wait
    /// for a snapshot that another thread takes.
    std::string report() const { return std::string(found().words()); }

  private:
    explicit job(rust::Box<Found> found) : found_(std::make_unique<rust::Box<Found>>(std::move(found))) {}

    const Found &found() const {
        if (!found_) {
            throw error(problem::no_job, "this `job` names none, because it was moved from: `attach` finds one");
        }
        return **found_;
    }

    // A box of Rust does not know that it was moved from.
    std::unique_ptr<rust::Box<Found>> found_;
};

/// The version of nvshmemrs that the library belongs to.
inline std::string library_version() { return std::string(version()); }

} // namespace inspect
} // namespace nvshmemrs

#endif
