// `team`: an ordered set of PEs, and the collectives over it. Every member calls a collective, in the same order.
//
// A member whose ranges do not fit still takes part, with an argument that the library refuses: all members then get
// an error, and none waits for ever.

#ifndef NVSHMEMRS_TEAM_HPP
#define NVSHMEMRS_TEAM_HPP

#if __cplusplus < 201703L
#error "nvshmemrs's C++ headers need C++17: compile with -std=c++17 or later"
#else

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <nvshmemrs/symmetric.hpp>

namespace nvshmemrs {
inline namespace NVSHMEMRS_FORM {
namespace detail {

template <typename T> T symmetric_element(const symmetric_span<T> *);
void symmetric_element(const void *);

/// The elements of a symmetric range; `void` for all else.
template <typename Range> using symmetric_element_t = decltype(symmetric_element(std::declval<const Range *>()));

template <typename D, typename S> struct check_collective {
    using To = symmetric_element_t<D>;
    using From = symmetric_element_t<S>;
    static constexpr bool symmetric = !std::is_void_v<To> && !std::is_void_v<From>;
    static_assert(symmetric, "nvshmemrs: source and destination of a collective must be symmetric memory, which other PEs "
                             "reach: a symmetric_array, or a slice of one.");
    static_assert(!std::is_const_v<To>, "nvshmemrs: this symmetric memory must not be constant, because it is written to.");
    static_assert(!symmetric || std::is_same_v<std::remove_const_t<To>, std::remove_const_t<From>>,
                  "nvshmemrs: source and destination of a collective must have elements of one type.");
};

/// The end of a collective whose ranges do not fit on this PE, where the library was called with an argument that it
/// refuses, and has said `said`. If that is about the arguments, `text` says it better; else something comes before them:
/// the team is gone, a PE has died, a deadline has passed.
[[gnu::cold, gnu::noinline]] inline result<void> refuse(ffi::Status said, ffi::Status status, const std::string &text) {
    switch (said) {
    case ffi::Status::Success: // it is queued on a stream
    case ffi::Status::InvalidValue:
    case ffi::Status::NotSymmetric:
    case ffi::Status::PeRange:
    case ffi::Status::OutOfBounds:
    case ffi::Status::Mismatch:
    case ffi::Status::PeerArgument:
        return fail<void>(status, text);
    default:
        return fail<void>(said);
    }
}

} // namespace detail

/// A team. It is a value, like a number: copies name the same team. A team lasts until `destroy`, or until finalize;
/// operations on a destroyed team fail with the library's error.
class team {
  public:
    team() noexcept = default;
    /// The team with this handle. Local.
    team(nvshmemrs_runtime_t rt, nvshmemrs_team_t handle) noexcept : runtime_(rt), lane_(rt), team_(handle) {}

    /// The handle, for the calls of `nvshmemrs::ffi`.
    nvshmemrs_team_t handle() const noexcept { return team_; }
    /// Whether it names a team: after a split, PEs that are not members have none.
    explicit operator bool() const noexcept { return team_ != ffi::Team::Invalid; }

    /// The same team, with all collectives queued on a stream.
    team on(const stream &queue) const noexcept {
        team queued = *this;
        queued.lane_ = queue.handle();
        return queued;
    }

    /// This PE's number in the team; -1 if it is not a member. Local. OpenSHMEM 1.5 section 9.4.1.
    result<std::int32_t> my_pe() const {
        return detail::ask<std::int32_t>([this](std::int32_t *pe) { return ffi::team_my_pe(runtime_, team_, pe); });
    }

    /// How many members the team has. Local. OpenSHMEM 1.5 section 9.4.2.
    result<std::int32_t> n_pes() const {
        return detail::ask<std::int32_t>([this](std::int32_t *n) { return ffi::team_n_pes(runtime_, team_, n); });
    }

    /// The number in `other` of this team's PE `pe`; -1 if it is not a member there. Local. OpenSHMEM 1.5
    /// section 9.4.5.
    result<std::int32_t> translate(std::int32_t pe, const team &other) const {
        return detail::ask<std::int32_t>([&](std::int32_t *found) {
            return ffi::team_translate_pe(runtime_, team_, pe, other.team_, found);
        });
    }

    /// The number of contexts that the team was made for. Local. OpenSHMEM 1.5 section 9.4.4.
    result<nvshmemrs_team_config_t> config(std::int64_t mask) const {
        return detail::ask<nvshmemrs_team_config_t>([&](nvshmemrs_team_config_t *found) {
            return ffi::team_get_config(runtime_, team_, mask, found);
        });
    }

    /// The default configuration of a team. Local.
    static nvshmemrs_team_config_t default_config() noexcept {
        nvshmemrs_team_config_t config{};
        static_cast<void>(ffi::team_config_default(&config)); // it fails for nullptr only
        return config;
    }

    /// A team of `size` members: numbers `start`, `start + stride`, ... of this one. Others get a team that is false.
    /// `mask` says which fields of `config` count. Collective over this team. OpenSHMEM 1.5 section 9.4.6.
    result<team> split_strided(std::int32_t start, std::int32_t stride, std::int32_t size,
                               const nvshmemrs_team_config_t &config = default_config(), std::int64_t mask = 0) const {
        return made([&](nvshmemrs_team_t *found) {
            return ffi::team_split_strided(runtime_, team_, start, stride, size, &config, mask, found);
        });
    }

    /// The caller's row and column, once the members are laid out in rows of `xrange`. Collective over this team.
    /// OpenSHMEM 1.5 section 9.4.7.
    result<std::pair<team, team>> split_2d(std::int32_t xrange) const {
        using teams = std::pair<team, team>;
        teams found{team(runtime_, ffi::Team::Invalid), team(runtime_, ffi::Team::Invalid)};
        const ffi::Status status = ffi::team_split_2d(runtime_, team_, xrange, nullptr, 0, nullptr, 0,
                                                      &found.first.team_, &found.second.team_);
        if (status != ffi::Status::Success)
            return detail::fail<teams>(status);
        return found;
    }

    /// A random number by which the members of `init` find each other. Local. NVSHMEM `nvshmemx_team_get_uniqueid`.
    static result<std::uint64_t> unique_id(const runtime &rt) {
        return detail::ask<std::uint64_t>([&](std::uint64_t *id) { return ffi::team_unique_id(rt.handle(), id); });
    }

    /// A team of the `n_pes` PEs that call with the same `id`; the caller is number `my_index`. Collective over the new
    /// team's members. NVSHMEM `nvshmemx_team_init`.
    static result<team> init(const runtime &rt, std::uint64_t id, std::int32_t n_pes, std::int32_t my_index) {
        nvshmemrs_team_config_t config = default_config();
        config.uniqueid = id;
        return team(rt.handle(), ffi::Team::Invalid).made([&](nvshmemrs_team_t *found) {
            return ffi::team_init(rt.handle(), &config, ffi::TeamConfigMask::Uniqueid, n_pes, my_index, found);
        });
    }

    /// Ends the team. Collective over it. OpenSHMEM 1.5 section 9.4.8.
    result<void> destroy() const { return check(ffi::team_destroy(runtime_, team_)); }

    /// The address at which this PE loads and stores the copy of the team's PE `pe`. Local. OpenSHMEM 1.6.
    template <typename T> result<T *> peer(const symmetric_span<T> &array, std::int32_t pe) const {
        return detail::ask<T *>([&](T **found) {
            void *address = nullptr;
            const ffi::Status status = ffi::team_ptr(runtime_, team_, array.data(), pe, &address);
            *found = static_cast<T *>(address);
            return status;
        });
    }

    /// Returns when all members have called it and their operations are complete. OpenSHMEM 1.5 section 9.9.1.
    result<void> barrier() const { return check(ffi::barrier(lane_, team_)); }

    /// Returns when all members have called it; completes no operations. OpenSHMEM 1.5 section 9.9.3.
    result<void> sync() const { return check(ffi::sync(lane_, team_)); }

    /// Gives the source of member `root` to all. OpenSHMEM 1.5 section 9.9.7.
    template <typename D, typename S> result<void> broadcast(const D &dest, const S &source, std::int32_t root) const {
        return move(dest, source, source.size(), [&](void *to, const void *from, std::size_t bytes) {
            return ffi::broadcast(lane_, team_, to, from, bytes, root);
        });
    }

    /// Gives the sources of all members to all, one after the other; they have equal sizes. `dest` has the room for
    /// all. OpenSHMEM 1.5 section 9.9.8.
    template <typename D, typename S> result<void> fcollect(const D &dest, const S &source) const {
        return move(dest, source, source.size() * members(), [&](void *to, const void *from, std::size_t bytes) {
            return ffi::fcollect(lane_, team_, to, from, bytes);
        });
    }

    /// As `fcollect`, with sources of different sizes. The library checks that the sum of them fits the allocation of
    /// `dest`. OpenSHMEM 1.5 section 9.9.8.
    template <typename D, typename S> result<void> collect(const D &dest, const S &source) const {
        return move(dest, source, source.size(), [&](void *to, const void *from, std::size_t bytes) {
            return ffi::collect(lane_, team_, to, from, bytes);
        });
    }

    /// Gives each member its part of the source, and gets one from each. Both are as many equal parts as the team has
    /// members. OpenSHMEM 1.5 section 9.9.5.
    template <typename D, typename S> result<void> alltoall(const D &dest, const S &source) const {
        const std::size_t n = members();
        if (source.size() % n != 0) {
            const ffi::Status said = ffi::alltoall(lane_, team_, nullptr, source.data(), sizeof(*source.data()));
            return detail::refuse(said, ffi::Status::InvalidValue,
                                  "argument `source` has " + std::to_string(source.size()) +
                                      " elements; it must have a multiple of the " + std::to_string(n) +
                                      " members of the team");
        }
        return move(dest, source, source.size(), [&](void *to, const void *from, std::size_t bytes) {
            return ffi::alltoall(lane_, team_, to, from, bytes / n);
        });
    }

    /// As `alltoall` with `count` elements for each member, which are `source_step` elements apart, and `dest_step` in
    /// `dest`. OpenSHMEM 1.5 section 9.9.6.
    template <typename D, typename S>
    result<void> alltoalls(const D &dest, const S &source, std::ptrdiff_t dest_step, std::ptrdiff_t source_step,
                           std::size_t count) const {
        detail::check_collective<D, S>();
        const std::size_t all = members() * count;
        const bool fits = detail::inside({0, dest_step}, all, 1, dest.size());
        if (!fits || !detail::inside({0, source_step}, all, 1, source.size())) {
            const ffi::Status said = ffi::alltoalls(lane_, team_, nullptr, source.data(), dest_step, source_step,
                                                    sizeof(*source.data()), count);
            return detail::refuse(said, ffi::Status::OutOfBounds,
                                  fits ? detail::not_inside("source", source.size())
                                       : detail::not_inside("dest", dest.size()));
        }
        return check(ffi::alltoalls(lane_, team_, dest.data(), source.data(), dest_step, source_step,
                                    sizeof(*source.data()), count));
    }

    /// Gives the sources of all members to member `root`, one after the other; they have equal sizes. Its `dest` has the
    /// room for all; that of another member is not used, and may be empty. As `MPI_Gather`.
    template <typename D, typename S> result<void> gather(const D &dest, const S &source, std::int32_t root) const {
        const std::size_t wanted = member() == root ? source.size() * members() : 0;
        return move(dest, source, wanted, [&](void *to, const void *from, std::size_t bytes) {
            return ffi::gather(lane_, team_, to, from, bytes, root);
        });
    }

    /// Gives each member its part of the source of member `root`, which has as many parts of the size of `dest` as the
    /// team has members. The source of another member is not used, and may be empty. As `MPI_Scatter`.
    template <typename D, typename S> result<void> scatter(const D &dest, const S &source, std::int32_t root) const {
        detail::check_collective<D, S>();
        const std::size_t bytes = dest.size() * sizeof(*dest.data()), wanted = dest.size() * members();
        if (member() == root && source.size() < wanted) {
            const ffi::Status said = ffi::scatter(lane_, team_, dest.data(), nullptr, bytes, root);
            return detail::refuse(said, ffi::Status::OutOfBounds, detail::too_small("source", source.size(), wanted));
        }
        return check(ffi::scatter(lane_, team_, dest.data(), source.data(), bytes, root));
    }

    /// Reduces the sources of all members, element by element; all members get the result. OpenSHMEM 1.5
    /// section 9.9.9.
    template <typename Op, typename D, typename S> result<void> reduce(Op op, const D &dest, const S &source) const {
        return fold(op, dest, source, dest.size() >= source.size(), source.size(), ffi::reduce);
    }

    /// The same in place.
    template <typename Op, typename D> result<void> reduce(Op op, const D &array) const {
        return reduce(op, array, array);
    }

    /// Reduces as `reduce`; member k gets the k-th part of the result, of the size of `dest`. NVSHMEM
    /// `nvshmem_reducescatter`.
    template <typename Op, typename D, typename S> result<void> reducescatter(Op op, const D &dest, const S &source) const {
        return fold(op, dest, source, source.size() / members() >= dest.size(), dest.size(), ffi::reducescatter);
    }

    /// Gives member k the reduction of the sources of members 0 to k. OpenSHMEM 1.6.
    template <typename Op, typename D, typename S> result<void> inscan(Op op, const D &dest, const S &source) const {
        return fold(op, dest, source, dest.size() >= source.size(), source.size(), ffi::inscan);
    }

    /// Gives member k the reduction of the sources of members 0 to k - 1. OpenSHMEM 1.6.
    template <typename Op, typename D, typename S> result<void> exscan(Op op, const D &dest, const S &source) const {
        return fold(op, dest, source, dest.size() >= source.size(), source.size(), ffi::exscan);
    }

  private:
    template <typename Call> result<team> made(Call &&call) const {
        team found(runtime_, ffi::Team::Invalid);
        if (const ffi::Status status = call(&found.team_); status != ffi::Status::Success)
            return detail::fail<team>(status);
        return found;
    }

    /// How many members there are; 1 for no team, which the library then refuses.
    std::size_t members() const noexcept {
        std::int32_t n = 1;
        const bool known = ffi::team_n_pes(runtime_, team_, &n) == ffi::Status::Success && n > 0;
        return known ? static_cast<std::size_t>(n) : 1;
    }

    /// This PE's number; -1 if it is not a member.
    std::int32_t member() const noexcept {
        std::int32_t pe = -1;
        const bool known = ffi::team_my_pe(runtime_, team_, &pe) == ffi::Status::Success;
        return known ? pe : -1;
    }

    /// A collective that moves bytes, of whose `dest` it writes `wanted` elements.
    template <typename D, typename S, typename Call>
    result<void> move(const D &dest, const S &source, std::size_t wanted, Call &&call) const {
        detail::check_collective<D, S>();
        const std::size_t bytes = source.size() * sizeof(*source.data());
        if (dest.size() < wanted) {
            const ffi::Status said = call(nullptr, source.data(), bytes);
            return detail::refuse(said, ffi::Status::OutOfBounds, detail::too_small("dest", dest.size(), wanted));
        }
        return check(call(dest.data(), source.data(), bytes));
    }

    template <typename Op, typename D, typename S, typename Call>
    result<void> fold(Op, const D &dest, const S &source, bool fits, std::size_t count, Call call) const {
        detail::check_collective<D, S>();
        using T = detail::symmetric_element_t<D>;
        detail::check_reduction<Op, T>();
        if constexpr (detail::is_reduction<Op>::value && element<T>::known) {
            if (!fits) {
                const ffi::Status said =
                    call(lane_, team_, nullptr, source.data(), count, element<T>::dtype, Op::op);
                return detail::refuse(said, ffi::Status::OutOfBounds,
                                      "argument `dest` has " + std::to_string(dest.size()) +
                                          " elements and `source` has " + std::to_string(source.size()) +
                                          "; both must have the room that the reduction needs");
            }
            return check(call(lane_, team_, dest.data(), source.data(), count, element<T>::dtype, Op::op));
        } else {
            return detail::succeed(); // not reached: the assertions have failed
        }
    }

    nvshmemrs_runtime_t runtime_ = 0;
    std::uint64_t lane_ = 0;
    nvshmemrs_team_t team_ = ffi::Team::Invalid;
};

inline team runtime::world() const noexcept { return {handle(), ffi::Team::World}; }
inline team runtime::shared() const noexcept { return {handle(), ffi::Team::Shared}; }
inline team runtime::node() const noexcept { return {handle(), ffi::Team::Node}; }

} // namespace NVSHMEMRS_FORM
} // namespace nvshmemrs

#endif // __cplusplus
#endif // NVSHMEMRS_TEAM_HPP
