// Prints a snapshot of the job of a process, as the programs in other languages do.

#include <nvshmemrs/inspect.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <utility>

namespace inspect = nvshmemrs::inspect;

template <typename T> static std::string numbers(const rust::Vec<T> &values) {
    std::string text;
    for (const auto &value : values) {
        text += (text.empty() ? "" : ",") + std::to_string(value);
    }
    return text;
}

static const char *name(inspect::Stage stage) {
    return stage == inspect::Stage::Forming ? "forming" : stage == inspect::Stage::Running ? "running" : "over";
}

int main(int argc, char **argv) {
    if (argc != 3) {
        return 2;
    }
    const auto job = inspect::job::attach(static_cast<std::uint32_t>(std::atoi(argv[1])));
    const auto seen = job.snapshot(20.0);
    std::cout << name(seen.stage) << " of " << seen.n_pes << ", culprits " << numbers(seen.culprits) << "\n";
    for (const auto &pe : seen.pes) {
        if (!pe.has_details || pe.state != inspect::State::Active || !pe.silence.empty()) {
            std::cerr << pe.silence << "\n";
            return 3;
        }
        const auto &details = pe.details[0];
        const auto &heap = details.heap;
        std::cout << "PE " << pe.pe << " is active and waits for " << numbers(pe.waits_for) << "\n";
        std::cout << "library " << details.library << ", heap " << heap.memory << " " << heap.bytes << " "
                  << heap.used_bytes << " " << heap.allocations << "\n";
        for (const auto &one : details.allocations) {
            std::cout << "allocation " << one.offset << " " << one.bytes << " " << one.place << "\n";
        }
        for (const auto &one : details.streams) {
            std::cout << "stream " << one.submitted << " " << one.done << " " << one.place << "\n";
        }
        for (const auto &one : details.settings) {
            if (one.source != "default") {
                std::cout << "setting " << one.name << " " << one.source << "\n";
            }
        }
        if (!details.fresh) {
            return 4;
        }
        if (details.checked) {
            std::cout << "findings " << details.found << "\n";
            for (const auto &report : details.reports) {
                std::cout << report << "\n";
            }
        }
        if (!details.counted && details.traffic.size() != 0) {
            return 5;
        }
        for (const auto &one : details.traffic) {
            std::cout << "traffic " << one.pe << " " << one.puts << " " << one.put_bytes << " " << one.gets << " "
                      << one.get_bytes << " " << one.atomics << " " << one.signals << "\n";
        }
    }
    for (const auto &team : seen.teams) {
        std::cout << "team " << team.number << " " << team.name << " " << numbers(team.members) << " "
                  << numbers(team.collectives) << " " << team.place << "\n";
    }
    for (const auto &wait : seen.waits) {
        std::cout << "wait of " << wait.pe << " in " << wait.operation << " on " << wait.team << " " << wait.epoch
                  << " for " << numbers(wait.waits_for) << ", "
                  << (std::isinf(wait.gives_up_in) ? "never" : std::string(wait.limit)) << "\n";
    }
    auto moved = inspect::job::attach(static_cast<std::uint32_t>(std::atoi(argv[1])));
    const auto taken = std::move(moved);
    try {
        static_cast<void>(moved.n_pes());
        return 6;
    } catch (const inspect::error &error) {
        if (error.problem() != inspect::problem::no_job || taken.n_pes() != seen.n_pes) {
            return 7;
        }
    }
    try {
        static_cast<void>(moved.snapshot());
        return 8;
    } catch (const inspect::error &error) {
        if (error.problem() != inspect::problem::no_job) {
            return 9;
        }
    }
    try {
        inspect::job::attach(static_cast<std::uint32_t>(std::atoi(argv[2])));
    } catch (const inspect::error &error) {
        if (error.problem() == inspect::problem::no_job) {
            std::cout << error.what() << "\n";
        }
    }
}
