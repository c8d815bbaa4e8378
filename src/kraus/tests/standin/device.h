// Makes kernels.cu plain C++: the words of CUDA that it uses.
#pragma once
#include <cmath>
#include <cstring>
#include <tuple>
#include <type_traits>
#include "standin.h"

#define __global__
#define __device__
// In a section of its own, so that it can be filled with NaN before each block.
#define __shared__ static __attribute__((section("block_shared")))
extern Dim3 threadIdx, blockIdx, blockDim, gridDim;
void barrier(int line);
#define __syncthreads() barrier(__LINE__)
using std::fabs;
using std::fmax;
using std::fmin;
using std::sqrt;

template <auto kernel>
struct Kernel;
template <class... A, void (*kernel)(A...)>
struct Kernel<kernel> {
    static inline std::tuple<A...> bound;
    template <class T>
    static bool read(const std::string& bytes, T& out) {
        memcpy(&out, bytes.data(), sizeof(T));
        if constexpr (std::is_pointer_v<T>) {
            uint64_t address = (uint64_t)out;
            out = (T)(address ? on_host(address, 1) : nullptr);
            return !address || out;
        }
        return true;
    }
    static bool bind(const std::vector<std::string>& bytes) {
        size_t i = 0;
        bool well = true;
        std::apply([&](auto&... a) { ((well &= read(bytes[i++], a)), ...); }, bound);
        return well;
    }
    static void call() { std::apply(kernel, bound); }
    static Twin twin(const char* name) { return {name, {sizeof(A)...}, bind, call}; }
};
#define TWIN(name) Kernel<&name>::twin(#name),
