// Runs a kernel on the processor. The threads of a block are fibers that switch at barriers only; their order, and that of
// the blocks, is shuffled anew each time, so that a missing barrier shows as a read of memory that nobody has written yet.
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include "standin.h"

Dim3 threadIdx, blockIdx, blockDim, gridDim;
extern "C" char __start_block_shared[] __attribute__((weak));
extern "C" char __stop_block_shared[] __attribute__((weak));

namespace {
constexpr size_t STACK = 64 << 10;
struct Fiber {
    ucontext_t context;
    char* stack;
    bool done;
    int line;  // of the barrier it waits at
};
std::vector<Fiber*> fibers;
ucontext_t scheduler;
Fiber* current;
const Twin* running;

void body() {
    running->call();
    current->done = true;
    swapcontext(&current->context, &scheduler);
}

void crashed(int) {
    char text[200];
    int n = snprintf(text, sizeof text, "[standin] illegal address in %s, block (%u, %u), thread %u\n", running->name,
                     blockIdx.x, blockIdx.y, threadIdx.x);
    if (write(2, text, n) < 0) abort();
    _exit(139);
}

bool run_block(unsigned threads, std::mt19937& random) {
    if (__start_block_shared) memset(__start_block_shared, 0xff, __stop_block_shared - __start_block_shared);
    std::vector<unsigned> order(threads);
    std::iota(order.begin(), order.end(), 0);
    for (unsigned t = 0; t < threads; t++) {
        Fiber* f = fibers[t];
        f->done = false;
        getcontext(&f->context);
        f->context.uc_stack = {f->stack, 0, STACK};
        makecontext(&f->context, body, 0);
    }
    for (;;) {
        std::shuffle(order.begin(), order.end(), random);
        unsigned finished = 0;
        int line = 0;
        for (unsigned t : order) {
            current = fibers[t];
            threadIdx = {t, 0, 0};
            swapcontext(&scheduler, &current->context);
            finished += current->done;
            if (current->done) continue;
            if (line && line != current->line) return complain("%s: threads wait at different barriers", running->name);
            line = current->line;
        }
        if (finished == threads) return true;
        if (finished) return complain("%s: some threads never reach the barrier", running->name);
    }
}
}  // namespace

void barrier(int line) {
    current->line = line;
    unsigned thread = threadIdx.x;
    swapcontext(&current->context, &scheduler);
    threadIdx = {thread, 0, 0};
}

int run_kernel(const Twin& twin, Dim3 grid, Dim3 block) {
    static std::mt19937 random(setting("STANDIN_SEED", 1));
    while (fibers.size() < block.x) {
        void* stack = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        fibers.push_back(new Fiber{{}, (char*)stack, false, 0});
    }
    struct sigaction ours = {}, before;
    ours.sa_handler = crashed;
    sigaction(SIGSEGV, &ours, &before);
    running = &twin;
    gridDim = grid;
    blockDim = block;
    std::vector<unsigned> blocks(grid.x * grid.y);
    std::iota(blocks.begin(), blocks.end(), 0);
    std::shuffle(blocks.begin(), blocks.end(), random);
    bool well = true;
    for (unsigned b : blocks) {
        blockIdx = {b % grid.x, b / grid.x, 0};
        well = well && run_block(block.x, random);
    }
    sigaction(SIGSEGV, &before, nullptr);
    return well ? 0 : 719;
}
