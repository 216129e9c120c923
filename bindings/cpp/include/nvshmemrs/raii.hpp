// Owners of what a program makes: a membership in a job, arrays, streams and events. Their destructors never wait for anybody, so
// they may run at any time: on some PEs only, while the stack is unwound, on any thread, after finalize.
//
// What is collective (making and freeing arrays, finalize) is a call and no destructor. Failed calls throw `nvshmemrs::Error`;
// destructors never do.

#ifndef NVSHMEMRS_RAII_HPP
#define NVSHMEMRS_RAII_HPP

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <nvshmemrs/ffi.hpp>

namespace nvshmemrs {

/// What a failed call throws: its status, and the library's words.
class Error : public std::runtime_error {
  public:
    explicit Error(ffi::Status status)
        : std::runtime_error(ffi::last_error_in(ffi::Language::Cxx)), status_(status) {}
    ffi::Status status() const noexcept { return status_; }

  private:
    ffi::Status status_;
};

/// Throws unless a call has succeeded.
inline void check(ffi::Status status) {
    if (status != ffi::Status::Success)
        throw Error(status);
}

/// A handle that one object owns; `Let` lets it go, without waiting. An object that was moved from owns nothing.
template <typename Handle, ffi::Status (*Let)(Handle) noexcept> class Owner {
  public:
    Owner() noexcept = default;
    explicit Owner(Handle handle) noexcept : handle_(handle) {}
    Owner(const Owner &) = delete;
    Owner(Owner &&other) noexcept : handle_(other.take()) {}
    Owner &operator=(Owner &&other) noexcept {
        if (this != &other) {
            reset();
            handle_ = other.take();
        }
        return *this;
    }
    ~Owner() { reset(); }

    /// The handle, for the calls of `nvshmemrs::ffi`; 0 for none.
    Handle handle() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != 0; }

    /// Lets the handle go now.
    void reset() noexcept {
        if (Handle handle = take(); handle != 0)
            // There is nothing to do about a failure: the runtime has ended, or this is a forked child.
            static_cast<void>(Let(handle));
    }

    /// Gives the handle away.
    Handle take() noexcept { return std::exchange(handle_, Handle{0}); }

  private:
    Handle handle_ = 0;
};

/// A PE's membership in a job. Its destructor leaves the job at once, which ends the other PEs' waits with an error; a program that ends
/// well calls `finalize` before.
class Runtime : public Owner<nvshmemrs_runtime_t, ffi::leave> {
  public:
    using Owner::Owner;

    /// Joins the job that the environment describes. Collective over all PEs of the job.
    static Runtime init(const nvshmemrs_init_attr_t *attr = nullptr) {
        nvshmemrs_runtime_t handle = 0;
        check(ffi::init(attr, &handle));
        return Runtime(handle);
    }

    /// Leaves the job with all others. Collective over all PEs; arrays, streams and events may still be destroyed afterwards.
    void finalize() { check(ffi::finalize(take())); }

    std::int32_t my_pe() const {
        std::int32_t pe = 0;
        check(ffi::my_pe(handle(), &pe));
        return pe;
    }
    std::int32_t n_pes() const {
        std::int32_t n = 0;
        check(ffi::n_pes(handle(), &n));
        return n;
    }

    /// The job as kernels of this PE see it: pass it to them by value. Valid until finalize. Local.
    nvshmemrs_device_state_t device_state() const {
        nvshmemrs_device_state_t state;
        check(ffi::device_state(handle(), &state));
        return state;
    }
    /// The address, for kernels of this PE, of a copy of it. Local.
    const nvshmemrs_device_state_t *device_state_pointer() const {
        void *pointer = nullptr;
        check(ffi::device_state_pointer(handle(), &pointer));
        return static_cast<const nvshmemrs_device_state_t *>(pointer);
    }
};

/// A stream. Its destructor lets what is queued run on, and finalize waits for it; so synchronize a stream before buffers that its
/// operations use are gone.
class Stream : public Owner<nvshmemrs_stream_t, ffi::stream_release> {
  public:
    using Owner::Owner;

    /// Local.
    explicit Stream(const Runtime &runtime) : Owner(made(runtime)) {}

    /// Waits until everything queued has run; throws the first error among it. Local.
    void synchronize() const { check(ffi::stream_synchronize(handle())); }

    /// Synchronizes, and ends the stream. Local.
    void close() { check(ffi::stream_free(take())); }

  private:
    static nvshmemrs_stream_t made(const Runtime &runtime) {
        nvshmemrs_stream_t handle = 0;
        check(ffi::stream_new(runtime.handle(), &handle));
        return handle;
    }
};

/// An event.
class Event : public Owner<nvshmemrs_event_t, ffi::event_free> {
  public:
    using Owner::Owner;

    /// Local.
    explicit Event(const Runtime &runtime) : Owner(made(runtime)) {}

    /// Marks the end of what is queued on `stream` now. Local; returns at once.
    void record(const Stream &stream) const { check(ffi::event_record(handle(), stream.handle())); }

    /// Waits until the latest record has been reached. Local.
    void synchronize() const { check(ffi::event_synchronize(handle())); }

  private:
    static nvshmemrs_event_t made(const Runtime &runtime) {
        nvshmemrs_event_t handle = 0;
        check(ffi::event_new(runtime.handle(), &handle));
        return handle;
    }
};

/// An array on the symmetric heap of every PE. Its destructor records that this PE no longer uses it; the next collective allocation
/// frees what all PEs have let go.
template <typename T> class Array {
    static_assert(std::is_trivially_copyable_v<T>, "other PEs copy elements byte by byte");
    static_assert(alignof(T) <= 64, "allocations are aligned to 64 bytes");

  public:
    Array() noexcept = default;
    /// `size` elements of zero bytes. Collective over all PEs with equal `size`.
    Array(const Runtime &runtime, std::size_t size) : runtime_(runtime.handle()), size_(size) {
        void *data = nullptr;
        check(ffi::calloc(runtime_, size, sizeof(T), &data));
        data_ = static_cast<T *>(data);
    }
    Array(const Array &) = delete;
    Array(Array &&other) noexcept { swap(other); }
    Array &operator=(Array &&other) noexcept {
        Array(std::move(other)).swap(*this);
        return *this;
    }
    ~Array() { release(); }

    /// This PE's elements; as an argument of operations, the address of all PEs' elements.
    T *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return data_ ? size_ : 0; }
    T &operator[](std::size_t index) const noexcept { return data_[index]; }
    T *begin() const noexcept { return data_; }
    T *end() const noexcept { return data_ + size(); }

    /// Frees the array on every PE. Collective over all PEs with the same array; a barrier comes first. If it fails, the array is
    /// as it was.
    void free() {
        check(ffi::free(runtime_, data_));
        data_ = nullptr;
    }

    /// What the destructor does. Local; never waits.
    void release() noexcept {
        if (T *data = std::exchange(data_, nullptr))
            // There is nothing to do about a failure: the runtime has ended, or this is a forked child.
            static_cast<void>(ffi::release(runtime_, data));
    }

    void swap(Array &other) noexcept {
        std::swap(runtime_, other.runtime_);
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
    }

  private:
    nvshmemrs_runtime_t runtime_ = 0;
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace nvshmemrs

#endif
