// Another PE's copy of symmetric memory: `remote<T>`, its elements, and atomic operations on them. All is one-sided, and
// nothing waits for the other PE. Without exceptions each call returns an `expected`.

#ifndef NVSHMEMRS_REMOTE_HPP
#define NVSHMEMRS_REMOTE_HPP

#if __cplusplus < 201703L
#error "nvshmemrs's C++ headers need C++17: compile with -std=c++17 or later"
#else

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <type_traits>

#include <nvshmemrs/atomic_ref.hpp>
#include <nvshmemrs/signal.hpp>
#include <nvshmemrs/tags.hpp>

namespace nvshmemrs {
inline namespace NVSHMEMRS_FORM {
namespace detail {

template <std::size_t size> struct bits_of;
template <> struct bits_of<1> { using type = std::uint8_t; };
template <> struct bits_of<2> { using type = std::uint16_t; };
template <> struct bits_of<4> { using type = std::uint32_t; };
template <> struct bits_of<8> { using type = std::uint64_t; };

} // namespace detail

/// An element of another PE: assign to it to put, convert it to get.
template <typename T> class element_ref {
    using value_type = std::remove_const_t<T>;
    static_assert(sizeof(T) <= 64, "nvshmemrs: an element of more than 64 bytes must be put and got as a range: "
                                   "array.at(pe).put(...) and get(...).");
    // Elements travel by value, so that they can be queued on a stream: in words that are aligned where the element is.
    static constexpr std::size_t bytes = alignof(T) < 8 ? alignof(T) : 8;
    using word = typename detail::bits_of<bytes>::type;

  public:
    /// An element; `remote` returns these. Local.
    explicit element_ref(const detail::place<T> &at) noexcept : at_(at) {}
    /// Another name of the same element.
    element_ref(const element_ref &) = default;

    /// Puts a value, which is visible on the PE after quiet, barrier or a signal. OpenSHMEM 1.5 section 9.6.1.
    result<void> put(const value_type &value) const {
        detail::check_writable<T>();
        if (at_.outside())
            return at_.template refuse<void>();
        ffi::Status status = ffi::Status::Success;
        for (std::size_t from = 0; from < sizeof(T) && status == ffi::Status::Success; from += bytes) {
            word part;
            std::memcpy(&part, reinterpret_cast<const char *>(&value) + from, bytes);
            status = ffi::p(at_.lane, reinterpret_cast<char *>(at_.address()) + from, part, at_.pe);
        }
        return check(status);
    }

    /// Gets the value. OpenSHMEM 1.5 section 9.6.1.
    result<value_type> get() const {
        if (at_.outside())
            return at_.template refuse<value_type>();
        value_type value;
        for (std::size_t to = 0; to < sizeof(T); to += bytes) {
            word part = 0;
            const auto *from = reinterpret_cast<const char *>(at_.address()) + to;
            if (const ffi::Status status = ffi::g(at_.lane, from, at_.pe, &part); status != ffi::Status::Success)
                return detail::fail<value_type>(status);
            std::memcpy(reinterpret_cast<char *>(&value) + to, &part, bytes);
        }
        return value;
    }

#if NVSHMEMRS_THROWS
    /// As `put`, and throws its errors.
    const element_ref &operator=(const value_type &value) const {
        put(value);
        return *this;
    }
    /// Gets the value of the other element, and puts it here.
    const element_ref &operator=(const element_ref &other) const {
        put(other.get());
        return *this;
    }
    /// Gets the value of the other element, and puts it here.
    element_ref &operator=(const element_ref &other) {
        put(other.get());
        return *this;
    }
    /// As `get`, and throws its errors.
    operator value_type() const { return get(); }
#else
    element_ref &operator=(const element_ref &) = delete;
#endif

  private:
    detail::place<T> at_;
};

/// Another PE's copy of symmetric memory, or this PE's own through the library. Puts are visible there after quiet,
/// barrier or a signal. A range that the operation is queued or non-blocking with must live until it is complete.
template <typename T> class remote {
  public:
    /// The copy on PE `pe`; `symmetric_span::at` gives these. Local.
    remote(std::uint64_t lane, T *data, std::size_t size, std::int32_t pe) noexcept
        : lane_(lane), data_(data), size_(size), pe_(pe) {}

    /// The number of elements. Local.
    std::size_t size() const noexcept { return size_; }
    /// The PE. Local.
    std::int32_t pe() const noexcept { return pe_; }

    /// An element, to assign to or to read.
    element_ref<T> operator[](std::size_t index) const noexcept {
        return element_ref<T>(detail::place<T>{lane_, data_, index, size_, pe_});
    }

    /// An element, for atomic operations.
    auto atomic(std::size_t index) const noexcept {
        detail::check_atomic<T>();
        return atomic_ref<T>(detail::place<T>{lane_, data_, index, size_, pe_});
    }

    /// Copies a range to the first elements. Returns when the range may be reused. OpenSHMEM 1.5 section 9.6.1.
    template <typename Range> result<void> put(const Range &source) const {
        detail::check_writable<T>();
        return move_in(source, [&](const void *from, std::size_t bytes) {
            return ffi::put(lane_, data_, from, bytes, pe_);
        });
    }

    /// As `put`, but the range may be reused after quiet only. OpenSHMEM 1.5 section 9.6.2.
    template <typename Range> result<void> put_nbi(const Range &source) const {
        detail::check_writable<T>();
        return move_in(source, [&](const void *from, std::size_t bytes) {
            return ffi::put_nbi(lane_, data_, from, bytes, pe_);
        });
    }

    /// Fills a range with the first elements. Returns when they are there. OpenSHMEM 1.5 section 9.6.1.
    template <typename Range> result<void> get(Range &&dest) const {
        return move_out(dest, [&](void *to, std::size_t bytes) { return ffi::get(lane_, to, data_, bytes, pe_); });
    }

    /// As `get`, but the elements are there after quiet only. OpenSHMEM 1.5 section 9.6.2.
    template <typename Range> result<void> get_nbi(Range &&dest) const {
        return move_out(dest, [&](void *to, std::size_t bytes) { return ffi::get_nbi(lane_, to, data_, bytes, pe_); });
    }

    /// As `put`; then updates the PE's signal. A PE that sees the signal sees the data. OpenSHMEM 1.5 section 9.8.3.
    template <typename Range, typename Update>
    result<void> put_signal(const Range &source, const signal_ref &sig, Update, std::uint64_t value) const {
        detail::check_writable<T>();
        detail::check_update<Update>();
        return move_in(source, [&](const void *from, std::size_t bytes) {
            return ffi::put_signal(lane_, data_, from, bytes, sig.data(), value, Update::op, pe_);
        });
    }

    /// As `put_signal`, but the range may be reused after quiet only. OpenSHMEM 1.5 section 9.8.4.
    template <typename Range, typename Update>
    result<void> put_signal_nbi(const Range &source, const signal_ref &sig, Update, std::uint64_t value) const {
        detail::check_writable<T>();
        detail::check_update<Update>();
        return move_in(source, [&](const void *from, std::size_t bytes) {
            return ffi::put_signal_nbi(lane_, data_, from, bytes, sig.data(), value, Update::op, pe_);
        });
    }

    /// Copies `count` elements of a range, which lie there as `from` says, to where `to` says. OpenSHMEM 1.5
    /// section 9.6.1.
    template <typename Range>
    result<void> iput(const Range &source, std::size_t count, strided to, strided from = {}) const {
        return ibput(source, count, 1, to, from);
    }

    /// Copies `count` elements, which lie as `from` says, to where `to` says in a range. OpenSHMEM 1.5 section 9.6.1.
    template <typename Range>
    result<void> iget(Range &&dest, std::size_t count, strided to, strided from) const {
        return ibget(dest, count, 1, to, from);
    }

    /// As `iput` for `count` blocks of `block` elements; steps are from the start of one block to the start of the
    /// next. OpenSHMEM 1.6.
    template <typename Range>
    result<void> ibput(const Range &source, std::size_t count, std::size_t block, strided to, strided from) const {
        detail::check_source<T, Range>();
        detail::check_writable<T>();
        if (!detail::inside(from, count, block, std::size(source)))
            return detail::fail<void>(ffi::Status::OutOfBounds, detail::not_inside("source", std::size(source)));
        if (!detail::inside(to, count, block, size_))
            return detail::fail<void>(ffi::Status::OutOfBounds, detail::not_inside("dest", size_));
        return check(block == 1 ? ffi::iput(lane_, data_ + to.first, std::data(source) + from.first, to.step, from.step,
                                            sizeof(T), count, pe_)
                                : ffi::ibput(lane_, data_ + to.first, std::data(source) + from.first, to.step,
                                             from.step, sizeof(T), block, count, pe_));
    }

    /// As `iget` for `count` blocks of `block` elements. OpenSHMEM 1.6.
    template <typename Range>
    result<void> ibget(Range &&dest, std::size_t count, std::size_t block, strided to, strided from) const {
        detail::check_dest<T, Range>();
        if (!detail::inside(to, count, block, std::size(dest)))
            return detail::fail<void>(ffi::Status::OutOfBounds, detail::not_inside("dest", std::size(dest)));
        if (!detail::inside(from, count, block, size_))
            return detail::fail<void>(ffi::Status::OutOfBounds, detail::not_inside("source", size_));
        return check(block == 1 ? ffi::iget(lane_, std::data(dest) + to.first, data_ + from.first, to.step, from.step,
                                            sizeof(T), count, pe_)
                                : ffi::ibget(lane_, std::data(dest) + to.first, data_ + from.first, to.step, from.step,
                                             sizeof(T), block, count, pe_));
    }

  private:
    template <typename Range, typename Call> result<void> move_in(const Range &source, Call &&call) const {
        detail::check_source<T, Range>();
        const std::size_t count = std::size(source);
        if (count > size_)
            return detail::fail<void>(ffi::Status::OutOfBounds, detail::too_small("dest", size_, count));
        return check(call(static_cast<const void *>(std::data(source)), count * sizeof(T)));
    }

    template <typename Range, typename Call> result<void> move_out(Range &dest, Call &&call) const {
        detail::check_dest<T, Range>();
        const std::size_t count = std::size(dest);
        if (count > size_)
            return detail::fail<void>(ffi::Status::OutOfBounds, detail::too_small("source", size_, count));
        return check(call(static_cast<void *>(std::data(dest)), count * sizeof(T)));
    }

    std::uint64_t lane_;
    T *data_;
    std::size_t size_;
    std::int32_t pe_;
};

} // namespace NVSHMEMRS_FORM
} // namespace nvshmemrs

#endif // __cplusplus
#endif // NVSHMEMRS_REMOTE_HPP
