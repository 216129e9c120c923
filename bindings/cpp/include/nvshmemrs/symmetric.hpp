// Symmetric memory: `symmetric_span<T>`, a view of some, `symmetric_array<T>`, which owns some, and `signal`.
//
// The own copy is a range: `array[i]`, `begin()`, `std::span(array)`. In host memory these are plain loads and stores; in
// the memory of a GPU only the GPU can do them. The copy of another PE is `array.at(pe)`.

#ifndef NVSHMEMRS_SYMMETRIC_HPP
#define NVSHMEMRS_SYMMETRIC_HPP

#if __cplusplus < 201703L
#error "nvshmemrs's C++ headers need C++17: compile with -std=c++17 or later"
#else

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__has_include) && __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_span
#include <span>
#endif
#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

#include <nvshmemrs/remote.hpp>

namespace nvshmemrs {
inline namespace NVSHMEMRS_FORM {

/// Which elements a wait or a test leaves out: those for which a range of `std::int32_t` is not 0. OpenSHMEM's `status`.
class exclude {
  public:
    exclude() noexcept = default;
    /// Leaves out the elements whose flag is not 0.
    template <typename Range> explicit exclude(const Range &flags) : flags_(std::data(flags)), size_(std::size(flags)) {
        static_assert(std::is_same_v<detail::range_element_t<const Range>, const std::int32_t>,
                      "nvshmemrs: the range that leaves elements out must be a range of std::int32_t.");
    }
    /// The flags, or null if nothing is left out. Local.
    const std::int32_t *data() const noexcept { return flags_; }
    /// The number of elements. Local.
    std::size_t size() const noexcept { return size_; }

  private:
    const std::int32_t *flags_ = nullptr;
    std::size_t size_ = 0;
};

/// A view of symmetric memory: this PE's elements, and the way to those of the others. It owns nothing.
template <typename T> class symmetric_span {
  public:
    /// The type of the elements, constant or not.
    using element_type = T;
    /// The type of the elements.
    using value_type = std::remove_cv_t<T>;
    /// The type of sizes.
    using size_type = std::size_t;
    /// The type of differences of iterators.
    using difference_type = std::ptrdiff_t;
    /// A pointer to an element.
    using pointer = T *;
    /// A reference to an element.
    using reference = T &;
    /// An iterator over the own copy.
    using iterator = T *;

    symmetric_span() noexcept = default;
    /// Memory that `nvshmemrs::ffi` gave: `lane` is the handle of a runtime or a stream.
    symmetric_span(std::uint64_t lane, T *data, std::size_t size) noexcept : lane_(lane), data_(data), size_(size) {
        detail::check_element<value_type>();
    }
    template <typename U, typename = std::enable_if_t<std::is_same_v<const U, T>>>
    /// A view whose elements cannot be written.
    symmetric_span(const symmetric_span<U> &other) noexcept : symmetric_span(other.lane(), other.data(), other.size()) {}

    /// This PE's elements; their address stands for those of all PEs.
    T *data() const noexcept { return data_; }
    /// The number of elements. Local.
    std::size_t size() const noexcept { return size_; }
    /// Whether there are no elements. Local.
    bool empty() const noexcept { return size_ == 0; }
    /// The first element of the own copy. Local.
    T *begin() const noexcept { return data_; }
    /// The end of the own copy. Local.
    T *end() const noexcept { return data_ + size_; }
    /// An element of this PE. `index` is not checked.
    T &operator[](std::size_t index) const noexcept { return data_[index]; }
    /// The handle of the runtime, or of the stream that operations are queued on.
    std::uint64_t lane() const noexcept { return lane_; }

#ifdef __cpp_lib_span
    /// This PE's elements.
    std::span<T> span() const noexcept { return {data_, size_}; }
#endif
#ifdef __cpp_lib_mdspan
    /// This PE's elements as a field of these extents, the last index moving fastest. Fails if they are too few.
    template <typename... Extents> auto mdspan(Extents... extents) const {
        using view = std::mdspan<T, std::dextents<std::size_t, sizeof...(Extents)>>;
        const std::size_t wanted = (std::size_t{1} * ... * static_cast<std::size_t>(extents));
        if (wanted > size_)
            return detail::fail<view>(ffi::Status::OutOfBounds, detail::too_small("array", size_, wanted));
        return result<view>(view(data_, extents...));
    }
#endif

    /// `count` elements from `first` on. Fails if they are not all there. Local.
    result<symmetric_span> slice(std::size_t first, std::size_t count) const {
        if (first > size_ || count > size_ - first)
            return detail::fail<symmetric_span>(ffi::Status::OutOfBounds,
                                                detail::too_small("array", size_, first + count));
        return symmetric_span(lane_, data_ + first, count);
    }

    /// The same memory, with all operations queued on a stream.
    symmetric_span on(const stream &queue) const noexcept { return {queue.handle(), data_, size_}; }

    /// The copy of PE `pe`, for put, get and atomic operations.
    remote<T> at(std::int32_t pe) const noexcept { return {lane_, data_, size_, pe}; }

    /// The address at which this PE loads and stores the copy of `pe`; null if it cannot. Local.
    result<T *> peer(std::int32_t pe) const {
        return detail::ask<T *>([&](T **found) {
            void *address = nullptr;
            const ffi::Status status = ffi::ptr(lane_, data_, pe, &address);
            *found = static_cast<T *>(address);
            return status;
        });
    }

    /// Waits until an element of this PE compares so with `value`. Local; an acquire. OpenSHMEM 1.5 section 9.10.1.
    template <typename Cmp> result<void> wait_until(std::size_t index, Cmp, value_type value) const {
        detail::check_comparison<Cmp, value_type>();
        if (index >= size_ && lane_ != 0)
            return detail::fail<void>(ffi::Status::OutOfBounds, detail::no_such_element(index, size_));
        return check(ffi::wait_until(lane_, data_ + index, Cmp::cmp, &value, element<value_type>::dtype));
    }

    /// Whether an element of this PE compares so with `value`. Local; an acquire. OpenSHMEM 1.5 section 9.10.8.
    template <typename Cmp> result<bool> test(std::size_t index, Cmp, value_type value) const {
        detail::check_comparison<Cmp, value_type>();
        if (index >= size_ && lane_ != 0)
            return detail::fail<bool>(ffi::Status::OutOfBounds, detail::no_such_element(index, size_));
        return detail::truth([&](auto *found) {
            return ffi::test(lane_, data_ + index, Cmp::cmp, &value, element<value_type>::dtype, found);
        });
    }

    /// Waits until all elements that `skip` does not exclude compare so with `value`: one value for all of them, or a
    /// range with one for each. Local; an acquire. OpenSHMEM 1.5 section 9.10.2, 9.10.5.
    template <typename Cmp, typename V> result<void> wait_until_all(Cmp, const V &value, exclude skip = {}) const {
        return wanted<Cmp, void>(value, skip, [&](const void *values, bool vector) {
            const auto call = vector ? ffi::wait_until_all_vector : ffi::wait_until_all;
            return check(call(lane_, data_, size_, skip.data(), Cmp::cmp, values, element<value_type>::dtype));
        });
    }

    /// Waits for one, and returns its index; nothing if all are excluded. OpenSHMEM 1.5 section 9.10.3, 9.10.6.
    template <typename Cmp, typename V>
    result<std::optional<std::size_t>> wait_until_any(Cmp cmp, const V &value, exclude skip = {}) const {
        return any(cmp, value, skip, ffi::wait_until_any, ffi::wait_until_any_vector);
    }

    /// Waits for one or more, and returns their indices. OpenSHMEM 1.5 section 9.10.4, 9.10.7.
    template <typename Cmp, typename V>
    result<std::vector<std::size_t>> wait_until_some(Cmp cmp, const V &value, exclude skip = {}) const {
        return some(cmp, value, skip, ffi::wait_until_some, ffi::wait_until_some_vector);
    }

    /// Whether all compare so now. OpenSHMEM 1.5 section 9.10.9, 9.10.12.
    template <typename Cmp, typename V> result<bool> test_all(Cmp, const V &value, exclude skip = {}) const {
        return wanted<Cmp, bool>(value, skip, [&](const void *values, bool vector) {
            const auto call = vector ? ffi::test_all_vector : ffi::test_all;
            return detail::truth([&](auto *found) {
                return call(lane_, data_, size_, skip.data(), Cmp::cmp, values, element<value_type>::dtype, found);
            });
        });
    }

    /// The index of an element that compares so now; nothing if there is none. OpenSHMEM 1.5 section 9.10.10, 9.10.13.
    template <typename Cmp, typename V>
    result<std::optional<std::size_t>> test_any(Cmp cmp, const V &value, exclude skip = {}) const {
        return any(cmp, value, skip, ffi::test_any, ffi::test_any_vector);
    }

    /// The indices of the elements that compare so now. OpenSHMEM 1.5 section 9.10.11, 9.10.14.
    template <typename Cmp, typename V>
    result<std::vector<std::size_t>> test_some(Cmp cmp, const V &value, exclude skip = {}) const {
        return some(cmp, value, skip, ffi::test_some, ffi::test_some_vector);
    }

  private:
    /// Calls with the address of the value, or of the values, once they are known to be enough.
    template <typename Cmp, typename Result, typename V, typename Call>
    result<Result> wanted(const V &value, const exclude &skip, Call &&call) const {
        detail::check_comparison<Cmp, value_type>();
        if (skip.data() != nullptr && skip.size() < size_)
            return detail::fail<Result>(ffi::Status::InvalidValue, detail::too_small("status", skip.size(), size_));
        if constexpr (std::is_convertible_v<V, value_type>) {
            const value_type one = static_cast<value_type>(value);
            return call(static_cast<const void *>(&one), false);
        } else {
            detail::check_source<T, V>();
            if (std::size(value) < size_)
                return detail::fail<Result>(ffi::Status::InvalidValue,
                                            detail::too_small("values", std::size(value), size_));
            return call(static_cast<const void *>(std::data(value)), true);
        }
    }

    template <typename Cmp, typename V, typename Call>
    result<std::optional<std::size_t>> any(Cmp, const V &value, exclude skip, Call one, Call each) const {
        using found = std::optional<std::size_t>;
        return wanted<Cmp, found>(value, skip, [&](const void *values, bool vector) -> result<found> {
            std::size_t index = 0;
            const ffi::Status status = (vector ? each : one)(lane_, data_, size_, skip.data(), Cmp::cmp, values,
                                                             element<value_type>::dtype, &index);
            if (status != ffi::Status::Success)
                return detail::fail<found>(status);
            return index == SIZE_MAX ? found() : found(index);
        });
    }

    template <typename Cmp, typename V, typename Call>
    result<std::vector<std::size_t>> some(Cmp, const V &value, exclude skip, Call one, Call each) const {
        using found = std::vector<std::size_t>;
        return wanted<Cmp, found>(value, skip, [&](const void *values, bool vector) -> result<found> {
            found indices(size_);
            std::size_t count = 0;
            const ffi::Status status = (vector ? each : one)(lane_, data_, size_, indices.data(), skip.data(), Cmp::cmp,
                                                             values, element<value_type>::dtype, &count);
            if (status != ffi::Status::Success)
                return detail::fail<found>(status);
            indices.resize(count);
            return result<found>(std::move(indices));
        });
    }

    std::uint64_t lane_ = 0;
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/// An array on the symmetric heap of every PE. Its destructor records that this PE no longer uses it; the next
/// collective allocation frees the arrays that all PEs have released.
template <typename T> class symmetric_array : public symmetric_span<T> {
    using span_type = symmetric_span<T>;
    static_assert(!std::is_const_v<T>, "nvshmemrs: a symmetric_array must not be of constant elements; a symmetric_span may.");

  public:
    symmetric_array() noexcept = default;
#if NVSHMEMRS_THROWS
    /// As `make`.
    symmetric_array(const runtime &rt, std::size_t size) : symmetric_array(make(rt, size)) {}
#endif

    /// Makes an array of `size` elements of zero bytes. Collective over all PEs with equal `size`. OpenSHMEM 1.5
    /// section 9.3.3. Errors: OUT_OF_MEMORY, MISMATCH.
    static result<symmetric_array> make(const runtime &rt, std::size_t size) {
        detail::check_element<T>();
        void *data = nullptr;
        if (const ffi::Status status = ffi::calloc(rt.handle(), size, sizeof(T), &data); status != ffi::Status::Success)
            return detail::fail<symmetric_array>(status);
        symmetric_array made;
        made.hold(rt.handle(), static_cast<T *>(data), size);
        return result<symmetric_array>(std::move(made));
    }

    symmetric_array(const symmetric_array &) = delete;
    /// Takes over the other object's resources; it owns none afterwards. Local.
    symmetric_array(symmetric_array &&other) noexcept : span_type(other), lane_(other.lane_), owned_(other.owned_) {
        other.hold(0, nullptr, 0);
    }
    /// Releases its own resources, and takes over the other object's. Local; never waits.
    symmetric_array &operator=(symmetric_array &&other) noexcept {
        symmetric_array(std::move(other)).swap(*this);
        return *this;
    }
    ~symmetric_array() { release(); }

    /// All of it as a view.
    span_type view() const noexcept { return *this; }

    /// Frees the array on every PE. Collective over all PEs with the same array; a barrier comes first. If it fails, the
    /// array is as it was. OpenSHMEM 1.5 section 9.3.1.
    result<void> free() {
        if (const ffi::Status status = ffi::free(lane_, owned_); status != ffi::Status::Success)
            return detail::fail<void>(status);
        hold(0, nullptr, 0);
        return detail::succeed();
    }

    /// Changes the size; the array may move. New elements are undefined. Collective over all PEs with equal
    /// `size`. If it fails, the array is as it was. OpenSHMEM 1.5 section 9.3.1.
    result<void> resize(std::size_t size) {
        void *data = nullptr;
        if (size > SIZE_MAX / sizeof(T))
            size = SIZE_MAX / sizeof(T); // larger than any heap, so that all PEs get the error
        const ffi::Status status = ffi::realloc(lane_, owned_, size * sizeof(T), &data);
        if (status != ffi::Status::Success)
            return detail::fail<void>(status);
        hold(lane_, static_cast<T *>(data), size);
        return detail::succeed();
    }

    /// Releases the array, as the destructor does. Local; never waits.
    void release() noexcept {
        if (owned_ != nullptr)
            // There is nothing to do about a failure: the runtime has ended, or this is a forked child.
            static_cast<void>(ffi::release(lane_, owned_));
        hold(0, nullptr, 0);
    }

    /// Exchanges the memory of two arrays. Local.
    void swap(symmetric_array &other) noexcept {
        const span_type mine = *this;
        static_cast<span_type &>(*this) = other;
        static_cast<span_type &>(other) = mine;
        std::swap(lane_, other.lane_);
        std::swap(owned_, other.owned_);
    }

  private:
    void hold(std::uint64_t lane, T *data, std::size_t size) noexcept {
        static_cast<span_type &>(*this) = span_type(lane, data, size);
        lane_ = lane;
        owned_ = data;
    }

    // The view may be assigned to through a reference to the base class; the memory stays this array's.
    std::uint64_t lane_ = 0;
    T *owned_ = nullptr;
};

/// A signal on every PE, 0 at first.
class signal : public signal_ref {
  public:
    signal() noexcept = default;
#if NVSHMEMRS_THROWS
    /// As `make`.
    explicit signal(const runtime &rt) : signal(make(rt)) {}
#endif

    /// Makes a signal. Collective over all PEs.
    static result<signal> make(const runtime &rt) {
        auto word = symmetric_array<std::uint64_t>::make(rt, 1);
#if NVSHMEMRS_THROWS
        return signal(std::move(word));
#else
        if (!word)
            return word.error();
        return signal(std::move(*word));
#endif
    }
    /// Takes over the other object's resources; it owns none afterwards. Local.
    signal(signal &&other) noexcept : signal(std::move(other.own_)) { static_cast<signal_ref &>(other) = {}; }
    /// Releases its own resources, and takes over the other object's. Local; never waits.
    signal &operator=(signal &&other) noexcept {
        if (this != &other) {
            own_ = std::move(other.own_);
            static_cast<signal_ref &>(*this) = static_cast<const signal_ref &>(other);
            static_cast<signal_ref &>(other) = {};
        }
        return *this;
    }

    /// Frees it on every PE. Collective over all PEs with the same signal; a barrier comes first. If it fails, the signal
    /// is as it was. OpenSHMEM 1.5 section 9.3.1.
    result<void> free() {
#if NVSHMEMRS_THROWS
        own_.free();
#else
        if (auto freed = own_.free(); !freed)
            return freed;
#endif
        static_cast<signal_ref &>(*this) = {};
        return detail::succeed();
    }

  private:
    explicit signal(symmetric_array<std::uint64_t> &&word) noexcept
        : signal_ref(word.lane(), word.data()), own_(std::move(word)) {}

    symmetric_array<std::uint64_t> own_;
};

/// An element of an array as a signal.
inline signal_ref signal_at(const symmetric_span<std::uint64_t> &words, std::size_t index) noexcept {
    return {words.lane(), words.data() + index};
}

/// Makes a buffer of the caller's symmetric where it is: whole pages of private memory. Collective over all PEs with equal
/// `size`. NVSHMEM `nvshmemx_buffer_register_symmetric`.
template <typename T> result<symmetric_span<T>> register_buffer(const runtime &rt, T *buffer, std::size_t size) {
    void *symmetric = nullptr;
    const ffi::Status status = ffi::buffer_register(rt.handle(), buffer, size * sizeof(T), nullptr, &symmetric);
    if (status != ffi::Status::Success)
        return detail::fail<symmetric_span<T>>(status);
    return symmetric_span<T>(rt.handle(), static_cast<T *>(symmetric), size);
}

/// Makes a registered buffer private memory again. Collective over all PEs; a barrier comes first.
template <typename T> result<void> unregister_buffer(const symmetric_span<T> &buffer) {
    return check(ffi::buffer_unregister(buffer.lane(), buffer.data()));
}

} // namespace NVSHMEMRS_FORM
} // namespace nvshmemrs

#endif // __cplusplus
#endif // NVSHMEMRS_SYMMETRIC_HPP
