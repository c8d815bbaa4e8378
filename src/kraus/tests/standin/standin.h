// What the parts of the stand-in share. It is no GPU: it runs kernels.cu on the processor, as unkindly as CUDA permits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

struct Dim3 {
    unsigned x, y, z;
};

// The host twin of a kernel: its parameters' sizes, and a call with their bytes.
struct Twin {
    const char* name;
    std::vector<size_t> sizes;
    // Turns device pointers into host pointers once per launch; false if one is no device memory.
    bool (*bind)(const std::vector<std::string>& bytes);
    // One thread.
    void (*call)();
};
const std::vector<Twin>& twins();

// A device address of `bytes` bytes as a host pointer, or null if that is not inside one live allocation.
char* on_host(uint64_t device, size_t bytes);
// Work for a stream: runs as late as CUDA allows. Returns an error of earlier work.
int enqueue(void* stream, std::function<int()> work);
// Code must have run once before it may be recorded into a graph: real libraries load it at first use.
bool may_record(void* stream, const void* code);
// Runs a kernel: blocks and threads in random order, stopping at barriers. Returns a CUresult.
int run_kernel(const Twin& twin, Dim3 grid, Dim3 block);
// Counts of live things, to find leaks.
extern long live_handles;
bool complain(const char* format, ...);
long setting(const char* name, long otherwise);
