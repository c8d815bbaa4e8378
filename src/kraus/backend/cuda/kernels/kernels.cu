// The kernels of the CUDA trainer: what cuBLAS does not do. NVRTC turns this file into kernels.ptx (see regenerate.py); the
// tests compile the same text as C++ against a stand-in driver. Layouts, innermost index last; m is a model, i a sample of
// the batch, and a buffer has room for `room` samples per model:
//   w, its moments, its gradient   [m][layer][a][k][j]   A_k[a, j] of a layer, with a < q, k < rank, j < p
//   x, the gathered inputs         [o][i][h][j]          o is one shuffling order
//   outputs, errors                [m][i][a][b]
// All sums have a fixed order: blocks never add to the same place, so results do not depend on how blocks are scheduled.

// Threads of a block at most, a power of two; rotations of one round of Jacobi's method: matrices have twice as many rows.
#define THREADS 256
#define PAIRS 256
#define SWEEPS 30

// Loops over the entries of one model, of which the plan allows fewer than 2^31, and of one small matrix.
#define EACH(t, size) unsigned t = blockIdx.x * blockDim.x + threadIdx.x; t < (unsigned)(size); t += gridDim.x * blockDim.x
#define MINE(t, size) int t = threadIdx.x; t < (size); t += (int)blockDim.x

// x[o][i] <- inputs[order[o][start + i]], matrices of `size` entries.
template <class T>
__device__ void gather(const T* inputs, const int* order, T* x, int length, int start, int n, int room, int size) {
    const int* mine = order + (long long)blockIdx.y * length + start;
    T* out = x + (long long)blockIdx.y * room * size;
    for (EACH(t, n * size)) out[t] = inputs[(long long)mine[t / size] * size + t % size];
}

// The sum over all threads of a block, for all of them.
template <class T>
__device__ T block_sum(T mine) {
    __shared__ T partial[THREADS];
    __syncthreads();
    partial[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    return partial[0];
}

// error <- (error - target) mask, and sums[m][block] += its sum of squares. `stride` is 0 where models share one order.
template <class T>
__device__ void residual(T* error, const T* targets, const T* mask, double* sums, const int* order, int stride, int start,
                         int n, int room, int size) {
    const int* mine = order + (long long)blockIdx.y * stride + start;
    T* e = error + (long long)blockIdx.y * room * size;
    double sum = 0.0;
    for (EACH(t, n * size)) {
        long long at = (long long)mine[t / size] * size + t % size;
        T d = e[t] - targets[at];
        if (mask) d *= mask[at];
        e[t] = d;
        sum += (double)d * (double)d;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.y * gridDim.x + blockIdx.x] += sum;
}

// out[m][i] <- in[m][i]^T, matrices of q rows.
template <class T>
__device__ void flip(const T* in, T* out, int n, int room, int q) {
    long long base = (long long)blockIdx.y * room * q * q;
    for (EACH(t, n * q * q)) {
        unsigned i = t / q / q, a = t / q % q, b = t % q;
        out[base + (i * q + b) * q + a] = in[base + t];
    }
}

// For matrix units E_ij: left[m][s][k][a] <- A_k[a, i], right the same with j.
template <class T>
__device__ void columns(const T* w, T* left, T* right, const int* units, const int* order, int stride, int start, int n,
                        int room, int total, int p, int r, int q) {
    const int* mine = order + (long long)blockIdx.y * stride + start;
    const T* a = w + (long long)blockIdx.y * total;
    long long base = (long long)blockIdx.y * room * r * q;
    for (EACH(t, n * r * q)) {
        const int* unit = units + 2 * (long long)mine[t / q / r];
        unsigned row = (t % q * r + t / q % r) * p;
        left[base + t] = a[row + unit[0]];
        right[base + t] = a[row + unit[1]];
    }
}

// The way back: gradient[a][k][c] <- the sum of left[s][k][a] where i is c, and of right[s][k][a] where j is.
template <class T>
__device__ void scatter(T* gradient, const T* left, const T* right, const int* units, const int* order, int stride,
                        int start, int n, int room, int total, int p, int r, int q) {
    const int* mine = order + (long long)blockIdx.y * stride + start;
    long long base = (long long)blockIdx.y * room * r * q;
    for (EACH(t, q * r * p)) {
        int c = t % p, k = t / p % r, a = t / p / r;
        T sum = 0;
        for (int s = 0; s < n; s++) {
            const int* unit = units + 2 * (long long)mine[s];
            long long from = base + (s * r + k) * q + a;
            if (unit[0] == c) sum += left[from];
            if (unit[1] == c) sum += right[from];
        }
        gradient[(long long)blockIdx.y * total + t] = sum;
    }
}

// Adam, Keras' formula. Per model: settings[m] = (beta1, beta2, epsilon), rates[m] the corrected rate of this step.
template <class T>
__device__ void adam(T* w, T* first, T* second, const T* gradient, const T* settings, const T* rates, T scale, int size) {
    const T* mine = settings + 3 * blockIdx.y;
    T beta1 = mine[0], beta2 = mine[1], epsilon = mine[2], rate = rates[blockIdx.y];
    long long base = (long long)blockIdx.y * size;
    for (EACH(t, size)) {
        T g = gradient[base + t] * scale;
        T m = beta1 * first[base + t] + ((T)1 - beta1) * g;
        T v = beta2 * second[base + t] + ((T)1 - beta2) * g * g;
        first[base + t] = m;
        second[base + t] = v;
        // Padding has m = 0 for ever and must stay 0 where epsilon is 0 too.
        if (m != (T)0) w[base + t] -= rate * m / (sqrt(v) + epsilon);
    }
}

// Gamma: the clamp of the spectrum of one matrix per block, by Jacobi's method. Each round rotates disjoint pairs of rows at
// once, as in a tournament; all pairs meet in one sweep.

__device__ inline float rounding(float) { return 1.1920929e-7f; }
__device__ inline double rounding(double) { return 2.220446049250313e-16; }

// The rows p < q that are pair `i` of a round; false for the row that sits it out.
__device__ inline bool pair(int i, int round, int n, int& p, int& q) {
    int odd = n - 1 + n % 2;
    int a = i == 0 ? odd : (round + i) % odd, b = (round + odd - i) % odd;
    p = a < b ? a : b;
    q = a < b ? b : a;
    return q < n;
}

// Tangent of the rotation that annihilates `off` between diagonal entries p and q; c and s are its cosine and sine.
template <class T>
__device__ T rotation(T p, T q, T off, T& c, T& s) {
    T theta = (q - p) * (T)0.5 / off;
    T t = (T)1 / (fabs(theta) + sqrt(theta * theta + (T)1));
    t = theta < (T)0 ? -t : t;
    c = (T)1 / sqrt(t * t + (T)1);
    s = t * c;
    return t;
}

template <class T>
__device__ void rotate(T& x, T& y, T c, T s) {
    T a = x, b = y;
    x = c * a - s * b;
    y = s * a + c * b;
}

// Rows p and q of x and of y for every pair of a round, turned by its rotation; a sine of zero is no rotation.
template <class T>
__device__ void rotate_rows(T* x, T* y, const T* cosine, const T* sine, int round, int n) {
    for (MINE(t, (n + 1) / 2 * n)) {
        int i = t / n, k = t % n, p, q;
        if (sine[i] == (T)0) continue;
        pair(i, round, n, p, q);
        rotate(x[p * n + k], x[q * n + k], cosine[i], sine[i]);
        rotate(y[p * n + k], y[q * n + k], cosine[i], sine[i]);
    }
    __syncthreads();
}

// Clears the flag that a rotation of this sweep will set.
__device__ inline void start_sweep(int& busy) {
    __syncthreads();
    if (threadIdx.x == 0) busy = 0;
    __syncthreads();
}

template <class T>
__device__ void identity(T* v, int n) { for (MINE(t, n * n)) v[t] = t / n == t % n ? (T)1 : (T)0; }

// A = V^T diag(w) V for symmetric A, which is destroyed: the rows of v become the vectors.
template <class T>
__device__ void eigh(T* a, T* v, T* w, int n) {
    __shared__ T cosine[PAIRS], sine[PAIRS], low[PAIRS], high[PAIRS];
    __shared__ int busy;
    identity(v, n);
    T square = 0;
    for (MINE(t, n * n)) square += a[t] * a[t];
    T floor = sqrt(block_sum(square)) * rounding(T()) * (T)0.5;
    int rounds = n - 1 + n % 2, pairs = (n + 1) / 2, p, q;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        start_sweep(busy);
        for (int round = 0; round < rounds; round++) {
            for (MINE(i, pairs)) {
                sine[i] = (T)0;
                if (!pair(i, round, n, p, q) || !(fabs(a[p * n + q]) > floor)) continue;
                T off = a[p * n + q], t = rotation(a[p * n + p], a[q * n + q], off, cosine[i], sine[i]);
                low[i] = a[p * n + p] - t * off;
                high[i] = a[q * n + q] + t * off;
                busy = 1;
            }
            __syncthreads();
            rotate_rows(a, v, cosine, sine, round, n);
            for (MINE(t, pairs * n)) {
                int i = t / n, k = t % n;
                if (sine[i] == (T)0) continue;
                pair(i, round, n, p, q);
                rotate(a[k * n + p], a[k * n + q], cosine[i], sine[i]);
                if (k == p) a[k * n + p] = low[i], a[k * n + q] = (T)0;
                if (k == q) a[k * n + q] = high[i], a[k * n + p] = (T)0;
            }
            __syncthreads();
        }
        if (!busy) break;
    }
    for (MINE(i, n)) w[i] = a[i * n + i];
    __syncthreads();
}

// Row i of u becomes a unit vector orthogonal to the other rows; rows not yet known are zero.
template <class T>
__device__ void complete(T* u, int i, int n) {
    __shared__ T share[2 * PAIRS];
    for (MINE(axis, n)) {
        T sum = 0;
        for (int j = 0; j < n; j++) sum += j == i ? (T)0 : u[j * n + axis] * u[j * n + axis];
        share[axis] = sum;
    }
    __syncthreads();
    int best = 0;
    for (int axis = 1; axis < n; axis++) best = share[axis] < share[best] ? axis : best;
    for (MINE(k, n)) u[i * n + k] = k == best ? (T)1 : (T)0;
    // Twice, because once leaves rounding of the size of what was removed.
    for (int twice = 0; twice < 2; twice++) {
        __syncthreads();
        for (MINE(j, n)) {
            T dot = 0;
            for (int k = 0; k < n; k++) dot += u[i * n + k] * u[j * n + k];
            share[j] = j == i ? (T)0 : dot;
        }
        __syncthreads();
        T square = 0;
        for (MINE(k, n)) {
            T x = u[i * n + k];
            for (int j = 0; j < n; j++) x -= j == i ? (T)0 : share[j] * u[j * n + k];
            u[i * n + k] = x;
            square += x * x;
        }
        T norm = sqrt(block_sum(square));
        for (MINE(k, n)) u[i * n + k] /= norm;
    }
    __syncthreads();
}

// The rows of u whose values vanish (s <= floor) span the null space of M^T; those of v become the vectors that belong to
// them: v_i is u_i projected on the null space of M, after rotations that make the projections orthogonal, and scaled to
// unit length. So sum u_i v_i^T depends on no basis. See null_space.rs of the crate linalg, which does the same.
template <class T>
__device__ void pair_null_spaces(T* u, T* v, const T* s, T floor, int n) {
    __shared__ T share[2 * PAIRS], cosine[PAIRS], sine[PAIRS];
    __shared__ int busy;
    const T four = rounding(T()) * (T)4, least = sqrt(rounding(T()));
    int rounds = n - 1 + n % 2, pairs = (n + 1) / 2, p, q;
    for (int i = 0; i < n; i++) {
        if (s[i] > floor) continue;
        for (MINE(k, n)) v[i * n + k] = u[i * n + k];
        // Twice, because once leaves rounding of the size of what was removed.
        for (int twice = 0; twice < 2; twice++) {
            __syncthreads();
            for (MINE(j, n)) {
                T dot = 0;
                for (int k = 0; k < n; k++) dot += v[i * n + k] * v[j * n + k];
                share[j] = s[j] > floor ? dot : (T)0;
            }
            __syncthreads();
            for (MINE(k, n)) {
                T x = v[i * n + k];
                for (int j = 0; j < n; j++) x -= share[j] * v[j * n + k];
                v[i * n + k] = x;
            }
        }
        __syncthreads();
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        start_sweep(busy);
        for (int round = 0; round < rounds; round++) {
            for (MINE(i, pairs)) {
                sine[i] = (T)0;
                if (!pair(i, round, n, p, q) || s[p] > floor || s[q] > floor) continue;
                T first = 0, second = 0, off = 0;
                for (int k = 0; k < n; k++) {
                    first += v[p * n + k] * v[p * n + k];
                    second += v[q * n + k] * v[q * n + k];
                    off += v[p * n + k] * v[q * n + k];
                }
                if (!(fabs(off) > sqrt(first * second) * four)) continue;
                rotation(first, second, off, cosine[i], sine[i]);
                busy = 1;
            }
            __syncthreads();
            rotate_rows(u, v, cosine, sine, round, n);
        }
        if (!busy) break;
    }
    __syncthreads();
    for (MINE(i, n)) {
        T square = 0;
        for (int k = 0; k < n; k++) square += v[i * n + k] * v[i * n + k];
        T norm = sqrt(square);
        share[i] = s[i] > floor ? (T)1 : norm > least ? (T)1 / norm : (T)0;
    }
    __syncthreads();
    for (MINE(t, n * n)) v[t] *= share[t / n];
    __syncthreads();
}

// M = U^T diag(s) V for M given as its columns in the rows of u; the rows of u and v become the vectors. Vectors of values
// that vanish are completed to a basis, and paired.
template <class T>
__device__ void svd(T* u, T* v, T* s, int n) {
    __shared__ T cosine[PAIRS], sine[PAIRS], partial[THREADS];
    __shared__ int busy;
    const T four = rounding(T()) * (T)4;
    int rounds = n - 1 + n % 2, pairs = (n + 1) / 2, p, q;
    // Threads that share the scalar product of a pair.
    int lanes = (int)blockDim.x / pairs, pair_of = threadIdx.x / lanes, lane = threadIdx.x % lanes;
    identity(v, n);
    for (int sweep = 0; sweep <= SWEEPS; sweep++) {
        // Norms kept by updates drift: start each sweep from the true ones.
        for (MINE(i, n)) {
            T sum = 0;
            for (int k = 0; k < n; k++) sum += u[i * n + k] * u[i * n + k];
            s[i] = sum;
        }
        __syncthreads();
        if (sweep == SWEEPS || (sweep > 0 && !busy)) break;
        start_sweep(busy);
        for (int round = 0; round < rounds; round++) {
            bool plays = pair_of < pairs && pair(pair_of, round, n, p, q);
            T sum = 0;
            for (int k = lane; plays && k < n; k += lanes) sum += u[p * n + k] * u[q * n + k];
            partial[threadIdx.x] = sum;
            __syncthreads();
            if (lane == 0 && pair_of < pairs) {
                sine[pair_of] = (T)0;
                T off = 0;
                for (int other = 0; other < lanes; other++) off += partial[threadIdx.x + other];
                if (plays && fabs(off) > sqrt(s[p] * s[q]) * four) {
                    T t = rotation(s[p], s[q], off, cosine[pair_of], sine[pair_of]);
                    s[p] = fmax(s[p] - t * off, (T)0);
                    s[q] += t * off;
                    busy = 1;
                }
            }
            __syncthreads();
            rotate_rows(u, v, cosine, sine, round, n);
        }
    }
    T top = 0;
    for (int i = 0; i < n; i++) top = fmax(top, s[i]);
    top = sqrt(top);
    __syncthreads();
    for (MINE(i, n)) s[i] = sqrt(s[i]);
    __syncthreads();
    for (MINE(t, n * n)) u[t] = s[t / n] > four * top ? u[t] / s[t / n] : (T)0;
    __syncthreads();
    bool vanish = false;
    for (int i = 0; i < n; i++) {
        if (s[i] > four * top) continue;
        complete(u, i, n);
        vanish = true;
    }
    if (vanish) pair_null_spaces(u, v, s, four * top, n);
}

// y <- Gamma(y): values below eps are raised to it. Eigenvalues where the sample's input is symmetric, else singular values.
template <class T>
__device__ void clamp(T* y, T* u, T* v, T* s, const int* symmetric, const int* order, int stride, int start, int room,
                      int n, T eps) {
    long long at = (long long)blockIdx.y * room + blockIdx.x;
    y += at * n * n, u += at * n * n, v += at * n * n, s += at * n;
    if (symmetric[order[(long long)blockIdx.y * stride + start + blockIdx.x]]) {
        for (MINE(t, n * n)) {
            int i = t / n, j = t % n;
            u[t] = y[i < j ? j * n + i : t];
        }
        __syncthreads();
        for (MINE(t, n * n)) y[t] = u[t];
        eigh(u, v, s, n);
        for (MINE(t, n * n)) u[t] = v[t];
    } else {
        for (MINE(t, n * n)) u[t % n * n + t / n] = y[t];
        __syncthreads();
        svd(u, v, s, n);
    }
    __syncthreads();
    for (MINE(t, n * n)) {
        T sum = y[t];
        for (int i = 0; i < n; i++) sum += fmax(eps - s[i], (T)0) * u[i * n + t / n] * v[i * n + t % n];
        y[t] = sum;
    }
}

// out <- a b, with a or b transposed.
template <class T>
__device__ void product(T* out, const T* a, bool left, const T* b, bool right, int n) {
    for (MINE(t, n * n)) {
        int i = t / n, j = t % n;
        T sum = 0;
        for (int k = 0; k < n; k++) sum += (left ? a[k * n + i] : a[i * n + k]) * (right ? b[j * n + k] : b[k * n + j]);
        out[t] = sum;
    }
    __syncthreads();
}

// g <- the gradient at Gamma's input, from that at its output; see Clamp of the crate linalg for the formula.
template <class T>
__device__ void unclamp(T* g, const T* u, const T* v, const T* s, T* work, const int* symmetric, const int* order,
                        int stride, int start, int room, int n, T eps) {
    long long at = (long long)blockIdx.y * room + blockIdx.x;
    g += at * n * n, u += at * n * n, v += at * n * n, s += at * n, work += at * n * n;
    bool even_only = symmetric[order[(long long)blockIdx.y * stride + start + blockIdx.x]];
    T top = 0, least = s[0];
    for (int i = 0; i < n; i++) {
        top = fmax(top, fabs(s[i]));
        least = fmin(least, s[i]);
    }
    if (least >= eps) return;
    // K = U G V^T: vectors are the rows of u and v.
    product(work, u, false, g, false, n);
    product(g, work, false, v, true, n);
    for (MINE(t, n * n)) {
        int i = t / n, j = t % n;
        if (j < i) continue;
        T hi = fmax(s[i], s[j]), lo = fmin(s[i], s[j]), sum = hi + lo;
        T minus = lo >= eps ? (T)1 : fmax((hi - eps) / (hi > lo ? hi - lo : (T)1), (T)0);
        T plus = lo >= eps ? (T)1 : (fmax(hi, eps) + fmax(lo, eps)) / (sum > (T)0 ? sum : (T)1);
        if (even_only || sum <= rounding(T()) * (T)16 * top) plus = (T)0;
        T even = (g[i * n + j] + g[j * n + i]) * (T)0.5, odd = (g[i * n + j] - g[j * n + i]) * (T)0.5;
        g[i * n + j] = minus * even + plus * odd;
        g[j * n + i] = minus * even - plus * odd;
    }
    __syncthreads();
    product(work, u, true, g, false, n);
    product(g, work, false, v, false, n);
}

#define KERNEL(NAME, T, KIND, PARAMETERS, ARGUMENTS) \
    extern "C" __global__ void KIND##_##NAME PARAMETERS { KIND<T> ARGUMENTS; }
#define WHICH const int *order, int stride, int start
#define KERNELS(T, NAME)                                                                                                  \
    KERNEL(NAME, T, gather, (const T* inputs, const int* order, T* x, int length, int start, int n, int room, int size),  \
           (inputs, order, x, length, start, n, room, size))                                                              \
    KERNEL(NAME, T, residual, (T * error, const T* targets, const T* mask, double* sums, WHICH, int n, int room, int size), \
           (error, targets, mask, sums, order, stride, start, n, room, size))                                             \
    KERNEL(NAME, T, flip, (const T* in, T* out, int n, int room, int q), (in, out, n, room, q))                           \
    KERNEL(NAME, T, columns,                                                                                              \
           (const T* w, T* left, T* right, const int* units, WHICH, int n, int room, int total, int p, int r, int q),     \
           (w, left, right, units, order, stride, start, n, room, total, p, r, q))                                        \
    KERNEL(NAME, T, scatter,                                                                                              \
           (T * gradient, const T* left, const T* right, const int* units, WHICH, int n, int room, int total, int p,      \
            int r, int q),                                                                                                \
           (gradient, left, right, units, order, stride, start, n, room, total, p, r, q))                                 \
    KERNEL(NAME, T, adam,                                                                                                 \
           (T * w, T * first, T * second, const T* gradient, const T* settings, const T* rates, T scale, int size),       \
           (w, first, second, gradient, settings, rates, scale, size))                                                    \
    KERNEL(NAME, T, clamp, (T * y, T * u, T * v, T * s, const int* symmetric, WHICH, int room, int n, T eps),             \
           (y, u, v, s, symmetric, order, stride, start, room, n, eps))                                                   \
    KERNEL(NAME, T, unclamp,                                                                                              \
           (T * g, const T* u, const T* v, const T* s, T* work, const int* symmetric, WHICH, int room, int n, T eps),     \
           (g, u, v, s, work, symmetric, order, stride, start, room, n, eps))

KERNELS(float, f32)
KERNELS(double, f64)
