// `stream` and `event`. Queued operations of a stream run in order, after the calls that queued them have returned.

#ifndef NVSHMEMRS_STREAM_HPP
#define NVSHMEMRS_STREAM_HPP

#if __cplusplus < 201703L
#error "nvshmemrs's C++ headers need C++17: compile with -std=c++17 or later"
#else

#include <memory>
#include <utility>

#include <nvshmemrs/runtime.hpp>

namespace nvshmemrs {
inline namespace NVSHMEMRS_FORM {

class event;

/// A stream. Symmetric memory, signals and teams have `on(stream)`, which returns a view whose operations are queued
/// on the stream. Their buffers must live until the stream has run them. After the destructor, queued operations still
/// run, and finalize waits for them.
class stream : public owner<nvshmemrs_stream_t, ffi::stream_release> {
  public:
    /// Those of `owner`.
    using owner::owner;

#if NVSHMEMRS_THROWS
    /// As `make`.
    explicit stream(const runtime &rt) : stream(make(rt)) {}
#endif

    /// Makes a stream. Local.
    static result<stream> make(const runtime &rt) {
        nvshmemrs_stream_t handle = 0;
        if (const ffi::Status status = ffi::stream_new(rt.handle(), &handle); status != ffi::Status::Success)
            return detail::fail<stream>(status);
        return stream(handle);
    }

    /// A stream for a `cudaStream_t`, which stays the caller's. Local. Errors: NOT_SUPPORTED if the heap is not in the
    /// memory of a GPU.
    static result<stream> from_cuda(const runtime &rt, void *cuda_stream) {
        nvshmemrs_stream_t handle = 0;
        if (const ffi::Status status = ffi::stream_from_cuda(rt.handle(), cuda_stream, &handle);
            status != ffi::Status::Success)
            return detail::fail<stream>(status);
        return stream(handle);
    }

    /// The `cudaStream_t`. Local. Errors: NOT_SUPPORTED if the heap is not in the memory of a GPU.
    result<void *> cuda() const {
        return detail::ask<void *>([this](void **found) { return ffi::stream_cuda(handle(), found); });
    }

    /// Waits until everything queued has run; fails with the first error among it, which is forgotten then. Local.
    result<void> synchronize() const { return check(ffi::stream_synchronize(handle())); }

    /// Whether everything queued has run. Local; never waits.
    result<bool> query() const { return detail::truth([this](auto *done) { return ffi::stream_query(handle(), done); }); }

    /// Synchronizes, and ends the stream, also if that fails. Local. Errors: those of `synchronize`; BAD_HANDLE if there
    /// is no stream, because it was closed or moved from.
    result<void> close() {
        if (!*this)
            return synchronize();
        return check(ffi::stream_free(take()));
    }

    /// Queues a fence for the operations queued before. Local.
    result<void> fence() const { return check(ffi::fence(handle())); }
    /// Queues a quiet for the operations queued before. Local.
    result<void> quiet() const { return check(ffi::quiet(handle())); }

    /// Queues `function()`, which must not throw and must not wait for this stream. Local.
    template <typename Function> result<void> call(Function function) const {
        static_assert(std::is_invocable_v<Function &>, "nvshmemrs: a stream calls a function without "
                                                       "arguments, such as a lambda.");
        auto held = std::make_unique<Function>(std::move(function));
        const auto run = [](void *user) -> std::int32_t {
            const std::unique_ptr<Function> mine(static_cast<Function *>(user));
            return run_one(*mine);
        };
        const ffi::Status status = ffi::stream_call(handle(), run, held.get());
        if (status == ffi::Status::Success)
            static_cast<void>(held.release());
        return check(status);
    }

    /// Makes operations queued later wait for the event's latest record. Local; returns at once.
    result<void> wait(const event &after) const;

  private:
    // A function that throws ends the program, as in a thread.
    template <typename Function> static std::int32_t run_one(Function &function) noexcept {
        function();
        return 0;
    }
};

/// A place in a stream.
class event : public owner<nvshmemrs_event_t, ffi::event_free> {
  public:
    /// Those of `owner`.
    using owner::owner;

#if NVSHMEMRS_THROWS
    /// As `make`.
    explicit event(const runtime &rt) : event(make(rt)) {}
#endif

    /// Makes an event. Local.
    static result<event> make(const runtime &rt) {
        nvshmemrs_event_t handle = 0;
        if (const ffi::Status status = ffi::event_new(rt.handle(), &handle); status != ffi::Status::Success)
            return detail::fail<event>(status);
        return event(handle);
    }

    /// Records the event behind the operations now queued on `of`. Local; returns at once.
    result<void> record(const stream &of) const { return check(ffi::event_record(handle(), of.handle())); }

    /// Waits until the latest record has been reached. Local.
    result<void> synchronize() const { return check(ffi::event_synchronize(handle())); }

    /// Whether the latest record has been reached. Local; never waits.
    result<bool> query() const { return detail::truth([this](auto *done) { return ffi::event_query(handle(), done); }); }

    /// Milliseconds from the record of `start` to that of this event. Local; never waits.
    result<double> milliseconds_since(const event &start) const {
        return detail::ask<double>([&](double *found) { return ffi::event_elapsed(start.handle(), handle(), found); });
    }
};

inline result<void> stream::wait(const event &after) const {
    return check(ffi::stream_wait_event(handle(), after.handle()));
}

} // namespace NVSHMEMRS_FORM
} // namespace nvshmemrs

#endif // __cplusplus
#endif // NVSHMEMRS_STREAM_HPP
