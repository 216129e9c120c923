// `signal_ref`: a signal, which is a 64-bit word on the symmetric heap of every PE. One PE updates another's, which waits
// for it. `signal`, in symmetric.hpp, owns one.

#ifndef NVSHMEMRS_SIGNAL_HPP
#define NVSHMEMRS_SIGNAL_HPP

#if __cplusplus < 201703L
#error "nvshmemrs's C++ headers need C++17: compile with -std=c++17 or later"
#else

#include <cstdint>

#include <nvshmemrs/stream.hpp>
#include <nvshmemrs/tags.hpp>

namespace nvshmemrs {
inline namespace NVSHMEMRS_FORM {

/// A signal of another PE.
class remote_signal {
  public:
    /// The signal at `word` on PE `pe`. Local.
    remote_signal(std::uint64_t lane, std::uint64_t *word, std::int32_t pe) noexcept
        : lane_(lane), word_(word), pe_(pe) {}

    /// Gives it the value. One-sided; a release of all earlier puts to that PE. NVSHMEM `nvshmemx_signal_op`.
    result<void> set(std::uint64_t value) const { return update(signal_set, value); }

    /// Adds the value to it, atomically. One-sided; a release of all earlier puts to that PE.
    result<void> add(std::uint64_t value) const { return update(signal_add, value); }

  private:
    template <typename Update> result<void> update(Update, std::uint64_t value) const {
        return check(ffi::signal_op(lane_, word_, value, Update::op, pe_));
    }

    std::uint64_t lane_;
    std::uint64_t *word_;
    std::int32_t pe_;
};

/// A signal that something else owns.
class signal_ref {
  public:
    signal_ref() noexcept = default;
    /// The signal at a symmetric address. Local.
    signal_ref(std::uint64_t lane, std::uint64_t *word) noexcept : lane_(lane), word_(word) {}

    /// The address of all PEs' words.
    std::uint64_t *data() const noexcept { return word_; }

    /// The same signal, with all operations queued on a stream.
    signal_ref on(const stream &queue) const noexcept { return {queue.handle(), word_}; }

    /// The signal of PE `pe`.
    remote_signal at(std::int32_t pe) const noexcept { return {lane_, word_, pe}; }

    /// Waits until this PE's signal compares so with `value`. Local; an acquire. OpenSHMEM 1.5 section 9.10.15.
    /// On a stream it is queued.
    template <typename Cmp> result<void> wait_until(Cmp, std::uint64_t value) const {
        detail::check_comparison<Cmp, std::uint64_t>();
        return check(ffi::signal_wait(lane_, word_, Cmp::cmp, value, nullptr));
    }

    /// The same, and returns the value that ended the wait. On a stream it returns when the stream has run it.
    template <typename Cmp> result<std::uint64_t> wait_and_fetch(Cmp, std::uint64_t value) const {
        detail::check_comparison<Cmp, std::uint64_t>();
        return detail::ask<std::uint64_t>(
            [&](std::uint64_t *seen) { return ffi::signal_wait(lane_, word_, Cmp::cmp, value, seen); });
    }

    /// This PE's signal now. Local; an acquire. OpenSHMEM 1.5 section 9.8.5.
    result<std::uint64_t> fetch() const {
        return detail::ask<std::uint64_t>([&](std::uint64_t *value) { return ffi::signal_fetch(lane_, word_, value); });
    }

  protected:
    /// The runtime, or the stream that operations are queued on.
    std::uint64_t lane_ = 0;
    /// The symmetric address.
    std::uint64_t *word_ = nullptr;
};

} // namespace NVSHMEMRS_FORM
} // namespace nvshmemrs

#endif // __cplusplus
#endif // NVSHMEMRS_SIGNAL_HPP
