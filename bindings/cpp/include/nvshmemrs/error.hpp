// Errors. With exceptions a failed call throws `nvshmemrs::error`. Without them (`-fno-exceptions`) the same call
// returns an `nvshmemrs::expected`, which must be checked. `result<T>` is the type of results in both cases.

#ifndef NVSHMEMRS_ERROR_HPP
#define NVSHMEMRS_ERROR_HPP

#if __cplusplus < 201703L
#error "nvshmemrs's C++ headers need C++17: compile with -std=c++17 or later"
#else

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <nvshmemrs/ffi.hpp>

// The two forms of a call have different types, so files of both kinds can be linked into one program.
#ifdef __cpp_exceptions
#define NVSHMEMRS_THROWS 1
#define NVSHMEMRS_FORM throwing
#else
#define NVSHMEMRS_THROWS 0
#define NVSHMEMRS_FORM returning
#endif

namespace nvshmemrs {
inline namespace NVSHMEMRS_FORM {

/// An error: a status, and a sentence.
#if NVSHMEMRS_THROWS
class error : public std::runtime_error {
  public:
    /// An error with this status and text.
    error(ffi::Status status, const std::string &text) : std::runtime_error(text), status_(status) {}
#else
class error {
  public:
    error(ffi::Status status, std::string text) : status_(status), text_(std::move(text)) {}
    const char *what() const noexcept { return text_.c_str(); }
#endif
    /// The failure of the calling thread's last call of `nvshmemrs::ffi`, in the library's words.
    explicit error(ffi::Status status) : error(status, ffi::last_error_in(ffi::Language::Cxx)) {}

    /// The status of the call that failed. Local.
    ffi::Status status() const noexcept { return status_; }

  private:
    ffi::Status status_;
#if !NVSHMEMRS_THROWS
    std::string text_;
#endif
};

/// A value, or the error that there is instead. Using the value of an error ends the program with the error's text.
template <typename T> class [[nodiscard]] expected {
  public:
    /// A value.
    expected(T value) : held_(std::in_place_index<0>, std::move(value)) {}
    /// An error.
    expected(nvshmemrs::error why) : held_(std::in_place_index<1>, std::move(why)) {}

    /// Whether there is a value, and no error. Local.
    bool has_value() const noexcept { return held_.index() == 0; }
    /// The same.
    explicit operator bool() const noexcept { return has_value(); }

    /// The value. Ends the program with the error's text if there is none. Local.
    T &value() & { return *there(); }
    /// The same.
    const T &value() const & { return *const_cast<expected *>(this)->there(); }
    /// The same, to be moved from.
    T &&value() && { return std::move(*there()); }
    /// As `value`.
    T &operator*() & { return *there(); }
    /// As `value`.
    const T &operator*() const & { return value(); }
    /// As `value`, to be moved from.
    T &&operator*() && { return std::move(*there()); }
    /// A member of the value, as by `value`.
    T *operator->() { return there(); }
    /// A member of the value, as by `value`.
    const T *operator->() const { return &value(); }

    /// The value, or `other` if there is an error.
    template <typename U> T value_or(U &&other) const & {
        return has_value() ? value() : static_cast<T>(std::forward<U>(other));
    }

    /// The error; only if there is no value.
    const nvshmemrs::error &error() const noexcept { return *std::get_if<1>(&held_); }

  private:
    T *there() {
        if (!has_value()) {
            std::fprintf(stderr, "nvshmemrs: the value of an error was used: %s\n", error().what());
            std::abort();
        }
        return std::get_if<0>(&held_);
    }

    std::variant<T, nvshmemrs::error> held_;
};

/// Success, or an error.
template <> class [[nodiscard]] expected<void> {
  public:
    expected() noexcept = default;
    /// An error.
    expected(nvshmemrs::error why) : why_(std::move(why)) {}

    /// Whether there is a value, and no error. Local.
    bool has_value() const noexcept { return why_.index() == 0; }
    /// The same.
    explicit operator bool() const noexcept { return has_value(); }

    /// Ends the program with the error's text if there is one.
    void value() const {
        if (!has_value()) {
            std::fprintf(stderr, "nvshmemrs: an error was taken for success: %s\n", error().what());
            std::abort();
        }
    }

    /// The error; only if there is one.
    const nvshmemrs::error &error() const noexcept { return *std::get_if<1>(&why_); }

  private:
    std::variant<std::monostate, nvshmemrs::error> why_;
};

#if NVSHMEMRS_THROWS
/// The result of a call that can fail: a value. A failure throws.
template <typename T> using result = T;
#else
/// The result of a call that can fail: a value, or an error.
template <typename T> using result = expected<T>;
#endif

namespace detail {

/// The way out with an error.
template <typename T> [[gnu::cold, gnu::noinline]] inline result<T> fail(error why) {
#if NVSHMEMRS_THROWS
    throw why;
#else
    return why;
#endif
}

/// Returns or throws the error of a failed call; not inlined, so that calls without an error stay short.
template <typename T> [[gnu::cold, gnu::noinline]] inline result<T> fail(ffi::Status status) {
    return fail<T>(error(status));
}

/// A failure detected by this layer; `text` states the requirement.
template <typename T> [[gnu::cold, gnu::noinline]] inline result<T> fail(ffi::Status status, const std::string &text) {
    return fail<T>(error(status, text));
}

inline result<void> succeed() {
#if !NVSHMEMRS_THROWS
    return {};
#endif
}

/// The value that a call of the low layer writes to its last argument.
template <typename T, typename Call> inline result<T> ask(Call &&call) {
    T found{};
    const ffi::Status status = call(&found);
    if (status != ffi::Status::Success)
        return fail<T>(status);
    return result<T>(std::move(found));
}

/// The same for a number that is 0 or 1.
template <typename Call> inline result<bool> truth(Call &&call) {
    std::int32_t found = 0;
    const ffi::Status status = call(&found);
    if (status != ffi::Status::Success)
        return fail<bool>(status);
    return found != 0;
}

} // namespace detail

/// Success, unless a call of `nvshmemrs::ffi` has failed: turns statuses of functions that this layer does not wrap into its errors.
inline result<void> check(ffi::Status status) {
    if (status != ffi::Status::Success)
        return detail::fail<void>(status);
    return detail::succeed();
}

} // namespace NVSHMEMRS_FORM
} // namespace nvshmemrs

#endif // __cplusplus
#endif // NVSHMEMRS_ERROR_HPP
