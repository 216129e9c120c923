// A job whose PEs are threads, as `nvshmemrs.hpp` has it, for tests in Rust. A failed call throws `nvshmemrs::error`, which cxx
// converts to an `Err` with the same text.

#ifndef NVSHMEMRS_TESTS_PES_HPP
#define NVSHMEMRS_TESTS_PES_HPP

#include <nvshmemrs/nvshmemrs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "rust/cxx.h"

namespace nvshmemrs_tests {

using Numbers = rust::Slice<const std::int64_t>;

/// A PE of the job, with an array and a signal of its own.
class Pe {
  public:
    Pe(nvshmemrs::runtime rt, std::size_t size) : rt_(std::move(rt)), array_(rt_, size), signal_(rt_) {}

    std::int32_t my_pe() const { return rt_.my_pe(); }
    std::int32_t n_pes() const { return rt_.n_pes(); }
    void barrier() const { rt_.world().barrier(); }

    rust::Vec<std::int64_t> own() const { return copied(array_); }

    void put(std::int32_t pe, std::size_t first, Numbers values) const {
        array_.slice(first, values.size()).at(pe).put(vector(values));
    }
    void put_element(std::int32_t pe, std::size_t index, std::int64_t value) const { array_.at(pe)[index] = value; }
    rust::Vec<std::int64_t> get(std::int32_t pe, std::size_t first, std::size_t count) const {
        std::vector<std::int64_t> found(count);
        array_.slice(first, count).at(pe).get(found);
        return copied(found);
    }
    std::int64_t fetch_add(std::int32_t pe, std::size_t index, std::int64_t value) const {
        return array_.at(pe).atomic(index).fetch_add(value);
    }
    void put_signal(std::int32_t pe, std::size_t first, Numbers values, std::uint64_t value) const {
        array_.slice(first, values.size()).at(pe).put_signal(vector(values), signal_, nvshmemrs::signal_set, value);
    }
    void wait_signal(std::uint64_t value) const { signal_.wait_until(nvshmemrs::equal_to, value); }

    void broadcast(std::size_t dest, std::size_t source, std::size_t count, std::int32_t root) const {
        rt_.world().broadcast(array_.slice(dest, count), array_.slice(source, count), root);
    }
    void sum(std::size_t dest, std::size_t source, std::size_t count, std::size_t room) const {
        rt_.world().reduce(nvshmemrs::plus, array_.slice(dest, room), array_.slice(source, count));
    }

    void free() {
        signal_.free();
        array_.free();
    }
    void finalize() { rt_.finalize(); }

  private:
    static std::vector<std::int64_t> vector(Numbers values) { return {values.begin(), values.end()}; }
    template <typename Range> static rust::Vec<std::int64_t> copied(const Range &range) {
        rust::Vec<std::int64_t> copy;
        std::copy(range.begin(), range.end(), std::back_inserter(copy));
        return copy;
    }

    nvshmemrs::runtime rt_;
    nvshmemrs::symmetric_array<std::int64_t> array_;
    nvshmemrs::signal signal_;
};

/// A job whose PEs are threads.
class Job {
  public:
    explicit Job(std::int32_t n_pes) : job_(nvshmemrs::local_job::make(n_pes)) {}

    std::unique_ptr<Pe> join(std::int32_t pe, std::size_t size) const {
        return std::make_unique<Pe>(job_.join(pe), size);
    }

  private:
    nvshmemrs::local_job job_;
};

inline std::unique_ptr<Job> make_job(std::int32_t n_pes) { return std::make_unique<Job>(n_pes); }

} // namespace nvshmemrs_tests

#endif
