// `runtime`: a PE's membership in a job, and the owner of handles that all classes here are made of.
//
// Destructors never wait for another PE. So they may run on some PEs only, while the stack is unwound, on any thread,
// after finalize. Collective operations (allocating and freeing arrays, finalize) are explicit calls.

#ifndef NVSHMEMRS_RUNTIME_HPP
#define NVSHMEMRS_RUNTIME_HPP

#if __cplusplus < 201703L
#error "nvshmemrs's C++ headers need C++17: compile with -std=c++17 or later"
#else

#include <cstdint>
#include <string>
#include <utility>

#include <nvshmemrs/error.hpp>

namespace nvshmemrs {
inline namespace NVSHMEMRS_FORM {

class team;

/// A handle that one object owns; `let_go` releases it without waiting. An object that was moved from owns nothing: its
/// calls return the library's error for a handle of 0.
template <typename Handle, ffi::Status (*let_go)(Handle) noexcept> class owner {
  public:
    owner() noexcept = default;
    /// Takes a handle over that `nvshmemrs::ffi` gave.
    explicit owner(Handle handle) noexcept : handle_(handle) {}
    owner(const owner &) = delete;
    /// Takes over the other object's handle; it owns none afterwards. Local.
    owner(owner &&other) noexcept : handle_(other.take()) {}
    /// Releases its own handle, and takes over the other object's. Local; never waits.
    owner &operator=(owner &&other) noexcept {
        if (this != &other) {
            reset();
            handle_ = other.take();
        }
        return *this;
    }
    ~owner() { reset(); }

    /// The handle, for the calls of `nvshmemrs::ffi`; 0 for none.
    Handle handle() const noexcept { return handle_; }
    /// Whether it owns a handle. Local.
    explicit operator bool() const noexcept { return handle_ != 0; }

    /// Lets the handle go now.
    void reset() noexcept {
        if (const Handle handle = take(); handle != 0)
            // There is nothing to do about a failure: the runtime has ended, or this is a forked child.
            static_cast<void>(let_go(handle));
    }

    /// Gives the handle away.
    Handle take() noexcept { return std::exchange(handle_, Handle{0}); }

  private:
    Handle handle_ = 0;
};

/// A PE's membership in a job. Its destructor leaves the job at once, which ends the other PEs' waits with an error; a
/// program that ends well calls `finalize` before.
class runtime : public owner<nvshmemrs_runtime_t, ffi::leave> {
  public:
    /// Those of `owner`.
    using owner::owner;

    /// The attributes of init: kind of memory, size of the heap, deadlines. Local.
    static nvshmemrs_init_attr_t defaults() noexcept {
        nvshmemrs_init_attr_t attr{};
        static_cast<void>(ffi::init_attr_default(&attr)); // it fails for nullptr only
        return attr;
    }

    /// Joins the job that the environment describes. Collective over all PEs of the job. OpenSHMEM 1.5 section 9.1.1.
    /// Errors: a library of another version, which the text names with this one; those of `ffi::init`.
    static result<runtime> init() { return joined(nullptr); }
    /// The same, with attributes in place of `defaults`.
    static result<runtime> init(const nvshmemrs_init_attr_t &attr) { return joined(&attr); }

    /// Joins, as PE `pe` of `n_pes`, the job that `id` names; see `unique_id`. Collective over all PEs of the job.
    static result<runtime> init(const nvshmemrs_unique_id_t &id, std::int32_t pe, std::int32_t n_pes,
                                const nvshmemrs_init_attr_t &attr = defaults()) {
        return made([&](nvshmemrs_runtime_t *handle) { return ffi::init_unique_id(&id, pe, n_pes, &attr, handle); });
    }

    /// Joins the job of the processes of a communicator of MPI, whose ranks are the PEs. `mpi_comm` is the address of an
    /// MPI_Comm, which must live until this returns; MPI must have been initialised with MPI_THREAD_MULTIPLE. Collective
    /// over all processes of the communicator. Errors: those of `ffi::init_mpi_comm`.
    static result<runtime> init_mpi(const void *mpi_comm, const nvshmemrs_init_attr_t &attr = defaults()) {
        return made([&](nvshmemrs_runtime_t *handle) { return ffi::init_mpi_comm(mpi_comm, &attr, handle); });
    }

    /// Makes the id of a new job. One PE calls it and hands the id to the others. Local.
    static result<nvshmemrs_unique_id_t> unique_id() {
        return detail::ask<nvshmemrs_unique_id_t>([](nvshmemrs_unique_id_t *id) { return ffi::unique_id_new(id); });
    }

    /// Leaves the job with all others. Collective over all PEs; arrays, streams and events may still be destroyed
    /// afterwards, and their calls fail. OpenSHMEM 1.5 section 9.1.4. Errors: those of `ffi::finalize`, after which the
    /// runtime has ended, too; NOT_INITIALIZED if there is none. If it is refused, the runtime stays valid
    /// and owned: BUSY in an interrupt hook and in a function that a stream calls, FORKED in a child.
    result<void> finalize() {
        if (!*this)
            return detail::fail<void>(ffi::Status::NotInitialized,
                                      "this `runtime` is in no job: it was finalized or moved from, or has joined none; "
                                      "`finalize` ends a runtime that `init` returned");
        // A signal handler may interrupt it by the handle meanwhile.
        const ffi::Status status = ffi::finalize(handle());
        if (status == ffi::Status::Success) {
            take();
            return detail::succeed();
        }
        error why(status);
        if (ffi::runtime_check(handle()) == ffi::Status::NotInitialized)
            take();
        return detail::fail<void>(std::move(why));
    }

    /// This PE's number. Local. OpenSHMEM 1.5 section 9.1.2.
    result<std::int32_t> my_pe() const {
        return detail::ask<std::int32_t>([this](std::int32_t *pe) { return ffi::my_pe(handle(), pe); });
    }

    /// How many PEs the job has. Local. OpenSHMEM 1.5 section 9.1.3.
    result<std::int32_t> n_pes() const {
        return detail::ask<std::int32_t>([this](std::int32_t *n) { return ffi::n_pes(handle(), n); });
    }

    /// The team of all PEs, of those whose heaps load and store can reach, and of those on this host. Defined in
    /// team.hpp. Local.
    team world() const noexcept;
    /// The team of the PEs whose heaps load and store can reach. Local.
    team shared() const noexcept;
    /// The team of the PEs on this host. Local.
    team node() const noexcept;

    /// Orders this PE's puts, atomics and signals before it ahead of those after it, to each PE. Local. OpenSHMEM 1.5
    /// section 9.11.1.
    result<void> fence() const { return check(ffi::fence(handle())); }

    /// Completes all operations that the calling thread has issued. Local. OpenSHMEM 1.5 section 9.11.2.
    result<void> quiet() const { return check(ffi::quiet(handle())); }

    /// Bytes of the symmetric heap that are used, free, and so on. Local.
    result<nvshmemrs_heap_stats_t> heap_stats() const {
        return detail::ask<nvshmemrs_heap_stats_t>(
            [this](nvshmemrs_heap_stats_t *stats) { return ffi::heap_stats(handle(), stats); });
    }

    /// Fails if the GPU has met an error that makes all later results undefined. Local.
    result<void> check_health() const { return check(ffi::runtime_check(handle())); }

    /// The job as kernels of this PE see it: pass it to them by value. Valid until finalize. Local.
    result<nvshmemrs_device_state_t> device_state() const {
        return detail::ask<nvshmemrs_device_state_t>(
            [this](nvshmemrs_device_state_t *state) { return ffi::device_state(handle(), state); });
    }
    /// The address, for kernels of this PE, of a copy of it. Local.
    result<void *> device_state_pointer() const {
        return detail::ask<void *>([this](void **pointer) { return ffi::device_state_pointer(handle(), pointer); });
    }

    /// Ends this PE's wait, or its next one, with an error. Any thread, or a signal handler. Local.
    result<void> interrupt() const { return check(ffi::interrupt(handle())); }
    /// Lets this PE wait again after `interrupt`. Local.
    result<void> clear_interrupt() const { return check(ffi::interrupt_clear(handle())); }

  private:
    friend class local_job;

    template <typename Call> static result<runtime> made(Call &&call) {
        if (const std::string text = ffi::library_mismatch(); !text.empty())
            return detail::fail<runtime>(ffi::Status::NotSupported, text);
        nvshmemrs_runtime_t handle = 0;
        if (const ffi::Status status = call(&handle); status != ffi::Status::Success)
            return detail::fail<runtime>(status);
        return runtime(handle);
    }
    static result<runtime> joined(const nvshmemrs_init_attr_t *attr) {
        return made([attr](nvshmemrs_runtime_t *handle) { return ffi::init(attr, handle); });
    }
};

/// A job whose PEs are threads of this process. Its destructor forgets it; PEs that have joined are not affected.
class local_job : public owner<nvshmemrs_local_job_t, ffi::local_job_free> {
  public:
    /// Those of `owner`.
    using owner::owner;

    /// Makes a job of `n_pes` PEs. Local.
    static result<local_job> make(std::int32_t n_pes, const nvshmemrs_init_attr_t &attr = runtime::defaults()) {
        nvshmemrs_local_job_t handle = 0;
        if (const ffi::Status status = ffi::local_job_new(n_pes, &attr, &handle); status != ffi::Status::Success)
            return detail::fail<local_job>(status);
        return local_job(handle);
    }

    /// Joins as PE `pe`; the calling thread is that PE from now on. Collective over all PEs of the job.
    result<runtime> join(std::int32_t pe) const {
        return runtime::made([&](nvshmemrs_runtime_t *joined) { return ffi::local_job_join(handle(), pe, joined); });
    }
};

} // namespace NVSHMEMRS_FORM
} // namespace nvshmemrs

#endif // __cplusplus
#endif // NVSHMEMRS_RUNTIME_HPP
