// The stand-in libcublas.so: products of many matrices by plain loops, column-major, queued like any other work, with the
// library's checks of arguments and, unlike there, checks of every operand against its allocation.
#include <cstdlib>
#include <cstring>
#include <set>
#include "standin.h"

#define API extern "C" __attribute__((visibility("default"))) int
enum { OK, NOT_INITIALIZED = 1, ALLOC_FAILED = 3, INVALID_VALUE = 7, EXECUTION_FAILED = 13 };
enum { PEDANTIC = 2, TF32 = 3 };
struct Handle {
    void* stream;
    int math;
};

// TF32 keeps ten bits of each factor.
static double factor(double x, bool) { return x; }
static double factor(float x, bool tf32) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits = tf32 ? (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu : bits;
    memcpy(&x, &bits, 4);
    return x;
}

template <class T>
struct Product {
    int ta, tb, m, n, k, lda, ldb, ldc;
    T alpha, beta;
    bool tf32;
    int rows_a() const { return ta ? k : m; }
    int rows_b() const { return tb ? n : k; }
    static T* host(uint64_t at, int rows, int cols, int ld) {
        return at % sizeof(T) ? nullptr : (T*)on_host(at, sizeof(T) * ((cols - 1ll) * ld + rows));
    }
    int run(uint64_t at_a, uint64_t at_b, uint64_t at_c) const {
        const T *a = host(at_a, rows_a(), ta ? m : k, lda), *b = host(at_b, rows_b(), tb ? k : n, ldb);
        T* c = host(at_c, m, n, ldc);
        if (!a || !b || !c)
            return complain("product %d x %d x %d: %s outside its allocation", m, n, k, !a ? "A" : !b ? "B" : "C"), 700;
        for (long long j = 0; j < n; j++)
            for (long long i = 0; i < m; i++) {
                double sum = 0;
                for (long long l = 0; l < k; l++)
                    sum += factor(a[ta ? l + i * lda : i + l * lda], tf32) * factor(b[tb ? j + l * ldb : l + j * ldb], tf32);
                T& out = c[i + j * ldc];
                out = beta == 0 ? alpha * (T)sum : alpha * (T)sum + beta * out;  // beta 0 does not read C
            }
        return 0;
    }
    int check(Handle* h, int batch) {
        if (!h) return NOT_INITIALIZED;
        if (m < 1 || n < 1 || k < 1 || batch < 1 || lda < rows_a() || ldb < rows_b() || ldc < m)
            return complain("product %d x %d x %d: ld %d %d %d", m, n, k, lda, ldb, ldc), INVALID_VALUE;
        if (h->math != PEDANTIC && h->math != TF32) return complain("precision is the default"), INVALID_VALUE;
        tf32 = h->math == TF32;
        static const char code = 0;  // one per scalar
        return may_record(h->stream, &code) ? OK : EXECUTION_FAILED;
    }
};

template <class T>
static int strided(Handle* h, Product<T> one, uint64_t a, long long sa, uint64_t b, long long sb, uint64_t c, long long sc,
                   int batch) {
    if (int wrong = one.check(h, batch)) return wrong;
    if (batch > 1 && sc < (one.n - 1ll) * one.ldc + one.m) return complain("results of a batch overlap"), INVALID_VALUE;
    int failed = enqueue(h->stream, [=] {
        int wrong = 0;
        for (long long z = 0; z < batch && !wrong; z++)
            wrong = one.run(a + z * sa * sizeof(T), b + z * sb * sizeof(T), c + z * sc * sizeof(T));
        return wrong;
    });
    return failed ? EXECUTION_FAILED : OK;
}

// The lists are read when the work is done: they too are in the device's memory.
template <class T>
static int listed(Handle* h, Product<T> one, uint64_t a, uint64_t b, uint64_t c, int batch) {
    if (int wrong = one.check(h, batch)) return wrong;
    int failed = enqueue(h->stream, [=]() -> int {
        auto list = [&](uint64_t at) { return at % 8 ? nullptr : (const uint64_t*)on_host(at, 8ll * batch); };
        const uint64_t *as = list(a), *bs = list(b), *cs = list(c);
        if (!as || !bs || !cs) return complain("a list of matrices outside its allocation"), 700;
        if (std::set<uint64_t>(cs, cs + batch).size() != (size_t)batch) return complain("results of a batch overlap"), 700;
        int wrong = 0;
        for (int z = 0; z < batch && !wrong; z++) wrong = one.run(as[z], bs[z], cs[z]);
        return wrong;
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

#define GEMMS(T, STRIDED, LISTED)                                                                                           \
    API STRIDED(Handle* h, int ta, int tb, int m, int n, int k, const T* al, uint64_t a, int lda, long long sa, uint64_t b, \
                int ldb, long long sb, const T* be, uint64_t c, int ldc, long long sc, int batch) {                         \
        return strided<T>(h, {ta, tb, m, n, k, lda, ldb, ldc, *al, *be, false}, a, sa, b, sb, c, sc, batch);                \
    }                                                                                                                       \
    API LISTED(Handle* h, int ta, int tb, int m, int n, int k, const T* al, uint64_t a, int lda, uint64_t b, int ldb,       \
               const T* be, uint64_t c, int ldc, int batch) {                                                               \
        return listed<T>(h, {ta, tb, m, n, k, lda, ldb, ldc, *al, *be, false}, a, b, c, batch);                             \
    }
GEMMS(float, cublasSgemmStridedBatched, cublasSgemmBatched)
GEMMS(double, cublasDgemmStridedBatched, cublasDgemmBatched)
