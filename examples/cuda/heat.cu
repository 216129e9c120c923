// Heat in a rod, whose ends have a fixed temperature. Each block has a part of the rod, and all steps are in one kernel: blocks exchange
// the cells at their borders by puts with a signal, whether the neighbour is on the same PE or on another one.
//
// There is a copy of the cells for odd and one for even steps. A block is at most one step ahead of its neighbours, because it waits for
// their cells of each step. So a put never overwrites cells that a neighbour still reads.
#include "example.hpp"

static const int BLOCKS = 4, CELLS = 64, STEPS = 40, ROW = CELLS + 2;

// `cells`: [BLOCKS][2][ROW]; the first and the last of a row are the neighbours'. `arrived`: [BLOCKS][2], from the left and the right.
__global__ void heat(State state, double *cells, unsigned long *arrived) {
    int me = nvshmemrs_my_pe(state), block = blockIdx.x;
    int worker = me * BLOCKS + block, workers = nvshmemrs_n_pes(state) * BLOCKS;
    double *own = cells + block * 2 * ROW;
    unsigned long *signals = arrived + block * 2;
    for (int step = 1; step <= STEPS; step++) {
        double *from = own + (step - 1) % 2 * ROW, *to = own + step % 2 * ROW;
        // The neighbours' cells of the step before.
        if (threadIdx.x == 0) {
            if (worker > 0) nvshmemrs_signal_wait_until(state, signals, NVSHMEMRS_CMP_GE, step - 1);
            if (worker < workers - 1) nvshmemrs_signal_wait_until(state, signals + 1, NVSHMEMRS_CMP_GE, step - 1);
        }
        __syncthreads();
        for (int i = 1 + threadIdx.x; i <= CELLS; i += blockDim.x) to[i] = from[i] + 0.25 * (from[i - 1] - 2 * from[i] + from[i + 1]);
        __syncthreads();
        if (threadIdx.x == 0) {
            if (worker > 0) {
                int at = (block + BLOCKS - 1) % BLOCKS;
                double *halo = cells + at * 2 * ROW + step % 2 * ROW + CELLS + 1;
                nvshmemrs_double_put_signal(state, halo, to + 1, 1, arrived + at * 2 + 1, step, NVSHMEMRS_SIGNAL_SET, (worker - 1) / BLOCKS);
            }
            if (worker < workers - 1) {
                int at = (block + 1) % BLOCKS;
                double *halo = cells + at * 2 * ROW + step % 2 * ROW;
                nvshmemrs_double_put_signal(state, halo, to + CELLS, 1, arrived + at * 2, step, NVSHMEMRS_SIGNAL_SET, (worker + 1) / BLOCKS);
            }
        }
    }
}

static double initial(int cell) { return cell % 17 * 1.5 + cell % 5; }

static void step_of(const std::vector<double> &from, std::vector<double> &to) {
    for (size_t i = 1; i + 1 < from.size(); i++) to[i] = from[i] + 0.25 * (from[i - 1] - 2 * from[i] + from[i + 1]);
}

// The same by calls of the host: one row for each PE. Gives this PE's cells.
static std::vector<double> by_host(Pe &pe, double *halos, unsigned long *arrived) {
    const int count = BLOCKS * CELLS;
    std::vector<double> from(count + 2), to(count + 2);
    for (int i = 0; i < count + 2; i++) from[i] = initial(pe.me * count + i);
    to = from;
    for (int step = 1; step <= STEPS; step++) {
        uint64_t seen;
        for (int side = 0; side < 2; side++) {
            bool edge = side == 0 ? pe.me == 0 : pe.me == pe.n - 1;
            if (edge || step == 1) continue;
            call(nvshmemrs_signal_wait(pe.runtime, (uint64_t *)arrived + side, NVSHMEMRS_CMP_GE, step - 1, &seen));
            from[side == 0 ? 0 : count + 1] = pe.read(halos + (step - 1) % 2 * 2 + side, 1)[0];
        }
        step_of(from, to);
        std::swap(from, to);
        if (pe.me > 0)
            call(nvshmemrs_put_signal(pe.runtime, halos + step % 2 * 2 + 1, &from[1], sizeof(double), (uint64_t *)arrived + 1, step,
                                      NVSHMEMRS_SIGNAL_SET, pe.me - 1));
        if (pe.me < pe.n - 1)
            call(nvshmemrs_put_signal(pe.runtime, halos + step % 2 * 2, &from[count], sizeof(double), (uint64_t *)arrived, step,
                                      NVSHMEMRS_SIGNAL_SET, pe.me + 1));
    }
    return from;
}

int main() {
    Pe pe;
    const int count = BLOCKS * CELLS, all = pe.n * count;
    double *cells = pe.array<double>(BLOCKS * 2 * ROW), *halos = pe.array<double>(4);
    unsigned long *signals = pe.array<unsigned long>(BLOCKS * 2 + 2);
    std::vector<double> first(BLOCKS * 2 * ROW);
    for (int block = 0; block < BLOCKS; block++)
        for (int parity = 0; parity < 2; parity++)
            for (int i = 0; i < ROW; i++) first[(block * 2 + parity) * ROW + i] = initial(pe.me * count + block * CELLS + i);
    pe.write(cells, first);
    std::vector<double> hosts;
    auto in_kernel = [&] { Running(BLOCKS, 32, heat, pe.state, cells, signals).wait(); };
    auto on_host = [&] { hosts = by_host(pe, halos, signals + BLOCKS * 2); };
    compare(pe, "heat", in_kernel, on_host);
    // The whole rod, computed by each PE alone.
    std::vector<double> from(all + 2), to;
    for (int i = 0; i < all + 2; i++) from[i] = initial(i);
    to = from;
    for (int step = 0; step < STEPS; step++) {
        step_of(from, to);
        std::swap(from, to);
    }
    std::vector<double> last = pe.read(cells, BLOCKS * 2 * ROW);
    for (int i = 0; i < count; i++) {
        double expected = from[pe.me * count + 1 + i], kernel = last[(i / CELLS * 2 + STEPS % 2) * ROW + 1 + i % CELLS];
        // A GPU may fuse a product and a sum.
        auto differs = [&](double value) { return !(value - expected < 1e-9 && expected - value < 1e-9); };
        if (differs(kernel) || differs(hosts[1 + i])) fail("heat: a cell is wrong");
    }
    pe.finalize();
}
