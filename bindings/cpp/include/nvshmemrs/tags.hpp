// The words of operations: reductions, comparisons, updates of a signal, and where strided elements lie. They are
// objects, so that an operation a type lacks is a readable error of the compiler.

#ifndef NVSHMEMRS_TAGS_HPP
#define NVSHMEMRS_TAGS_HPP

#if __cplusplus < 201703L
#error "nvshmemrs's C++ headers need C++17: compile with -std=c++17 or later"
#else

#include <cstddef>
#include <iterator>
#include <string>
#include <type_traits>

#include <nvshmemrs/error.hpp>
#include <nvshmemrs/typed.hpp>

namespace nvshmemrs {

/// A reduction. `fits<T>` says whether elements of type `T` have it.
template <ffi::Op number> struct reduction {
    /// The number in the C ABI.
    static constexpr ffi::Op op = number;
    template <typename T>
    /// Whether elements of type `T` have it.
    static constexpr bool fits = op == ffi::Op::Sum || op == ffi::Op::Prod  ? element<T>::sums
                                 : op == ffi::Op::Min || op == ffi::Op::Max ? element<T>::ordered
                                                                            : element<T>::bits;
};

/// Sum; integers wrap around.
inline constexpr reduction<ffi::Op::Sum> plus{};
/// Product; integers wrap around.
inline constexpr reduction<ffi::Op::Prod> multiplies{};
/// The smallest; not of complex numbers.
inline constexpr reduction<ffi::Op::Min> minimum{};
/// The largest; not of complex numbers.
inline constexpr reduction<ffi::Op::Max> maximum{};
/// Bitwise and, of integers.
inline constexpr reduction<ffi::Op::And> bit_and{};
/// Bitwise or, of integers.
inline constexpr reduction<ffi::Op::Or> bit_or{};
/// Bitwise exclusive or, of integers.
inline constexpr reduction<ffi::Op::Xor> bit_xor{};

/// A comparison of a wait or a test: the element's value stands on its left.
template <ffi::Cmp number> struct comparison {
    /// The number in the C ABI.
    static constexpr ffi::Cmp cmp = number;
};

inline constexpr comparison<ffi::Cmp::Eq> equal_to{};
inline constexpr comparison<ffi::Cmp::Ne> not_equal_to{};
inline constexpr comparison<ffi::Cmp::Gt> greater{};
inline constexpr comparison<ffi::Cmp::Ge> greater_equal{};
inline constexpr comparison<ffi::Cmp::Lt> less{};
inline constexpr comparison<ffi::Cmp::Le> less_equal{};

/// How a signal is updated.
template <ffi::SignalOp number> struct signal_update {
    /// The number in the C ABI.
    static constexpr ffi::SignalOp op = number;
};

/// The signal becomes the value.
inline constexpr signal_update<ffi::SignalOp::Set> signal_set{};
/// The value is added to the signal, atomically.
inline constexpr signal_update<ffi::SignalOp::Add> signal_add{};

/// Where strided elements lie in a range: the index of the first, and how many elements later the next one is (or
/// earlier, if negative).
struct strided {
    /// The index of the first element.
    std::size_t first = 0;
    /// From one element to the next; may be negative.
    std::ptrdiff_t step = 1;
};

/// Local elements at a pointer, as a range, like std::span of C++20.
template <typename T> class buffer {
  public:
    /// `size` elements at `data`.
    buffer(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    /// The address of the first element. Local.
    T *data() const noexcept { return data_; }
    /// The number of elements. Local.
    std::size_t size() const noexcept { return size_; }

  private:
    T *data_;
    std::size_t size_;
};

inline namespace NVSHMEMRS_FORM {
namespace detail {

template <typename Op> struct is_reduction : std::false_type {};
template <ffi::Op op> struct is_reduction<reduction<op>> : std::true_type {};
template <typename Cmp> struct is_comparison : std::false_type {};
template <ffi::Cmp cmp> struct is_comparison<comparison<cmp>> : std::true_type {};
template <typename Op> struct is_signal_update : std::false_type {};
template <ffi::SignalOp op> struct is_signal_update<signal_update<op>> : std::true_type {};

template <typename Op, typename T, bool = is_reduction<Op>::value> inline constexpr bool fits = true;
template <typename Op, typename T> inline constexpr bool fits<Op, T, true> = Op::template fits<T>;

// Checks of the compiler. Each is made where it is named, so that its sentence comes before other errors.

template <typename Op, typename T> struct check_reduction {
    static_assert(is_reduction<Op>::value, "nvshmemrs: the operation must be one of nvshmemrs::plus, multiplies, "
                                           "minimum, maximum, bit_and, bit_or and bit_xor.");
    static_assert(fits<Op, T>,
                  "nvshmemrs: elements of this type do not have this reduction. plus and multiplies take integers, "
                  "floating-point and complex numbers; minimum and maximum take no complex numbers; bit_and, bit_or and "
                  "bit_xor take integers only.");
};

template <typename Cmp, typename T> struct check_comparison {
    static_assert(is_comparison<Cmp>::value, "nvshmemrs: the comparison must be one of nvshmemrs::equal_to, "
                                             "not_equal_to, greater, greater_equal, less and less_equal.");
    static_assert(element<T>::compared, "nvshmemrs: waits and tests compare integers and numbers of type float or "
                                        "double; elements of another type cannot be waited for.");
};

template <typename T> struct check_element {
    static_assert(std::is_object_v<T> && std::is_trivially_copyable_v<T>,
                  "nvshmemrs: the element type must be trivially copyable, because other PEs copy elements byte by byte. "
                  "A std::string or std::vector cannot be an element.");
    static_assert(!std::is_pointer_v<T>, "nvshmemrs: the element type must not be a pointer, because an address means "
                                         "nothing on another PE.");
    static_assert(alignof(T) <= 64, "nvshmemrs: the element type must not need an alignment of more than 64 bytes.");
};

template <typename Range, typename = void> struct range_element {
    using type = void;
};
template <typename Range>
struct range_element<Range, std::void_t<decltype(std::data(std::declval<Range &>())),
                                        decltype(std::size(std::declval<Range &>()))>> {
    using type = std::remove_pointer_t<decltype(std::data(std::declval<Range &>()))>;
};

/// The element of a contiguous range, `const` if it cannot be written to; `void` for all else.
template <typename Range> using range_element_t = typename range_element<std::remove_reference_t<Range>>::type;

template <typename T, typename Range> struct check_source {
    using E = range_element_t<const std::remove_reference_t<Range>>;
    static_assert(!std::is_void_v<E>, "nvshmemrs: the source must be a contiguous range, such as a std::vector, a "
                                      "std::array, a std::span, a C array or a symmetric_array.");
    static_assert(std::is_void_v<E> || std::is_same_v<std::remove_const_t<E>, std::remove_const_t<T>>,
                  "nvshmemrs: the source must have elements of the symmetric array's type, because they are copied as "
                  "they are; convert them first.");
};

template <typename T, typename Range> struct check_dest {
    using E = range_element_t<Range>;
    static_assert(!std::is_void_v<E>, "nvshmemrs: the destination must be a contiguous range, such as a std::vector, a "
                                      "std::array, a std::span, a C array or a symmetric_array.");
    static_assert(!std::is_const_v<E>, "nvshmemrs: the destination must not be constant, because it is written to.");
    static_assert(std::is_void_v<E> || std::is_same_v<std::remove_const_t<E>, std::remove_const_t<T>>,
                  "nvshmemrs: the destination must have elements of the symmetric array's type, because they are copied "
                  "as they are; convert them afterwards.");
};

template <typename Update> struct check_update {
    static_assert(is_signal_update<Update>::value,
                  "nvshmemrs: the update of a signal must be nvshmemrs::signal_set or nvshmemrs::signal_add.");
};

template <typename T> struct check_atomic {
    static_assert(element<T>::atomic, "nvshmemrs: atomic operations take integers of 32 and 64 bits, float and double.");
};

template <typename T> struct check_atomic_bits {
    static_assert(element<T>::atomic_bits, "nvshmemrs: atomic and, or and xor take integers only.");
};

template <typename T> struct check_atomic_compares {
    static_assert(element<T>::atomic_compares, "nvshmemrs: atomic compare_exchange and increment take integers only; add "
                                               "1 to a floating-point number.");
};

template <typename T> struct check_writable {
    static_assert(!std::is_const_v<T>, "nvshmemrs: this symmetric memory must not be constant, because it is written to.");
};

/// Whether `count` elements that lie as `at` says are all among `size` elements.
inline bool inside(const strided &at, std::size_t count, std::size_t block, std::size_t size) {
    if (count == 0 || block == 0)
        return true;
    if (at.first >= size || block > size - at.first)
        return false;
    const std::size_t step = at.step < 0 ? std::size_t(0) - std::size_t(at.step) : std::size_t(at.step);
    const std::size_t room = at.step < 0 ? at.first : size - at.first - block;
    return step == 0 || count - 1 <= room / step;
}

/// A sentence on a range that is too small.
[[gnu::cold]] inline std::string too_small(const char *name, std::size_t size, std::size_t wanted) {
    return "argument `" + std::string(name) + "` has " + std::to_string(size) + " elements; it must have at least " +
           std::to_string(wanted);
}

[[gnu::cold]] inline std::string no_such_element(std::size_t index, std::size_t size) {
    return "argument `index` is " + std::to_string(index) + "; it must be less than " + std::to_string(size) +
           ", the number of elements";
}

/// The place of an element. A place outside the array is an error of the operation.
template <typename T> struct place {
    std::uint64_t lane;
    T *data;
    std::size_t index, size;
    std::int32_t pe;

    T *address() const noexcept { return data + index; }
    /// An object that was moved from has no runtime, which the library says.
    bool outside() const noexcept { return index >= size && lane != 0; }
    template <typename Result> result<Result> refuse() const {
        return fail<Result>(ffi::Status::OutOfBounds, no_such_element(index, size));
    }
};

[[gnu::cold]] inline std::string not_inside(const char *name, std::size_t size) {
    return "argument `" + std::string(name) + "` has " + std::to_string(size) +
           " elements; all elements that its `strided` names must be among them";
}

} // namespace detail
} // namespace NVSHMEMRS_FORM
} // namespace nvshmemrs

#endif // __cplusplus
#endif // NVSHMEMRS_TAGS_HPP
