// The stand-in libcublas.so: strided-batched products by plain loops, column-major, queued like any other work, with the
// library's checks of arguments and, unlike there, checks of every operand against its allocation.
#include <cstdlib>
#include "standin.h"

#define API extern "C" __attribute__((visibility("default"))) int
enum { OK, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, INVALID_VALUE = 7, EXECUTION_FAILED = 13 };
struct Handle {
    void* stream;
    int math;
};

template <class T>
static int product(Handle* h, int ta, int tb, int m, int n, int k, const T* alpha, uint64_t A, int lda, long long sa,
                   uint64_t B, int ldb, long long sb, const T* beta, uint64_t C, int ldc, long long sc, int batch) {
    if (!h) return NOT_INITIALIZED;
    int rows_a = ta ? k : m, cols_a = ta ? m : k, rows_b = tb ? n : k, cols_b = tb ? k : n;
    if (m < 1 || n < 1 || k < 1 || batch < 1 || lda < rows_a || ldb < rows_b || ldc < m)
        return complain("product %d x %d x %d: ld %d %d %d", m, n, k, lda, ldb, ldc), INVALID_VALUE;
    if (batch > 1 && sc < (long long)(n - 1) * ldc + m) return complain("results of a batch overlap"), INVALID_VALUE;
    if (h->math != 2) return complain("precision is not full"), INVALID_VALUE;
    T al = *alpha, be = *beta;
    int failed = enqueue(h->stream, [=]() -> int {
        auto host = [&](uint64_t at, int rows, int cols, int ld, long long stride) {
            return (T*)on_host(at, sizeof(T) * ((batch - 1) * stride + (long long)(cols - 1) * ld + rows));
        };
        const T *a = host(A, rows_a, cols_a, lda, sa), *b = host(B, rows_b, cols_b, ldb, sb);
        T* c = host(C, m, n, ldc, sc);
        if (!a || !b || !c)
            return complain("product %d x %d x %d: %s outside its allocation", m, n, k, !a ? "A" : !b ? "B" : "C"), 700;
        for (long long z = 0; z < batch; z++)
            for (long long j = 0; j < n; j++)
                for (long long i = 0; i < m; i++) {
                    double sum = 0;
                    for (long long l = 0; l < k; l++)
                        sum += (double)a[z * sa + (ta ? l + i * lda : i + l * lda)] *
                               (double)b[z * sb + (tb ? j + l * ldb : l + j * ldb)];
                    T& out = c[z * sc + i + j * ldc];
                    out = be == 0 ? al * (T)sum : al * (T)sum + be * out;  // beta 0 does not read C
                }
        return 0;
    });
    return failed ? EXECUTION_FAILED : OK;
}

API cublasCreate_v2(Handle** h) {
    if (setting("STANDIN_BLAS_MEMORY", 1) == 0) return ALLOC_FAILED;
    return *h = new Handle{nullptr, 0}, live_handles++, OK;
}
API cublasDestroy_v2(Handle* h) { return delete h, live_handles--, OK; }
API cublasSetStream_v2(Handle* h, void* stream) { return h->stream = stream, OK; }
API cublasSetMathMode(Handle* h, int mode) { return h->math = mode, OK; }
API cublasSgemmStridedBatched(Handle* h, int ta, int tb, int m, int n, int k, const float* al, uint64_t a, int lda,
                              long long sa, uint64_t b, int ldb, long long sb, const float* be, uint64_t c, int ldc,
                              long long sc, int batch) {
    return product<float>(h, ta, tb, m, n, k, al, a, lda, sa, b, ldb, sb, be, c, ldc, sc, batch);
}
API cublasDgemmStridedBatched(Handle* h, int ta, int tb, int m, int n, int k, const double* al, uint64_t a, int lda,
                              long long sa, uint64_t b, int ldb, long long sb, const double* be, uint64_t c, int ldc,
                              long long sc, int batch) {
    return product<double>(h, ta, tb, m, n, k, al, a, lda, sa, b, ldb, sb, be, c, ldc, sc, batch);
}
