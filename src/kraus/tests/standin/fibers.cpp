// Runs a kernel on the processor. The threads of a block are fibers that switch at barriers only; their order, and that of
// the blocks, is shuffled anew each time, so that a missing barrier shows as a read of memory that nobody has written yet.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif
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
// Where a fiber stopped. The library's own switch asks the kernel each time, which is most of the time of a test.
#if defined(__x86_64__)
using Place = void*;
extern "C" void standin_switch(Place* from, Place* to);
asm(R"(
.text
.globl standin_switch
.hidden standin_switch
standin_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq (%rsi), %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");
void switch_to(Place& from, Place& to) { standin_switch(&from, &to); }
void begin(Place& place, char* stack, void (*body)()) {
    void** top = (void**)(stack + STACK);
    top[-2] = (void*)body;  // what the first switch returns to, with the stack as a call would leave it
    place = top - 8;
}
#else
using Place = ucontext_t;
void switch_to(Place& from, Place& to) { swapcontext(&from, &to); }
void begin(Place& place, char* stack, void (*body)()) {
    getcontext(&place);
    place.uc_stack = {stack, 0, STACK};
    makecontext(&place, body, 0);
}
#endif
struct Fiber {
    Place place;
    char* stack;
    bool done;
    int line;  // of the barrier it waits at
};
std::vector<Fiber*> fibers;
Place scheduler;
Fiber* current;
const Twin* running;

void body() {
    running->call();
    current->done = true;
    switch_to(current->place, scheduler);
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
        begin(f->place, f->stack, body);
    }
    for (;;) {
        std::shuffle(order.begin(), order.end(), random);
        unsigned finished = 0;
        int line = 0;
        for (unsigned t : order) {
            current = fibers[t];
            threadIdx = {t, 0, 0};
            switch_to(scheduler, current->place);
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
    switch_to(current->place, scheduler);
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
