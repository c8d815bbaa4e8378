// The kernels of the CUDA trainer: what cuBLAS does not do. NVRTC turns this file into kernels.ptx (see regenerate.py); the
// tests compile the same text as C++ against a stand-in driver. Layouts, innermost index last, of model m:
//   w, its moments, its gradient   [m][k][j][a]      A_k[a, j], with a < q and j < p
//   x, the gathered inputs         [o][j][i][h]      X_i[h, j], with o one shuffling order, i a sample of the batch
//   error, output minus target     [m][b][i][a]      for sample i, entry (a, b) of a q x q matrix
// All sums have a fixed order: one block adds up one model, so results do not depend on how blocks are scheduled.

#define THREADS 256

// x[o][j][i][h] <- inputs[order[o][start + i]][j][h]; inputs are symmetric, so row j is column j.
template <class T>
__device__ void gather(const T* inputs, const int* order, T* x, int length, int start, int n, int p) {
    long long size = (long long)p * n * p;
    const int* mine = order + (long long)blockIdx.y * length + start;
    T* out = x + blockIdx.y * size;
    for (long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x; t < size; t += (long long)gridDim.x * blockDim.x) {
        long long h = t % p, i = t / p % n, j = t / p / n;
        out[t] = inputs[((long long)mine[i] * p + j) * p + h];
    }
}

// error <- (error - target) mask, and sums[m] += its sum of squares. `stride` is 0 where all models share one order.
template <class T>
__device__ void residual(T* error, const T* targets, const T* mask, const int* order, double* sums, int stride, int start,
                         int n, int q) {
    __shared__ double partial[THREADS];
    long long size = (long long)q * n * q;
    const int* mine = order + (long long)blockIdx.x * stride + start;
    T* e = error + blockIdx.x * size;
    double sum = 0.0;
    for (long long t = threadIdx.x; t < size; t += blockDim.x) {
        long long a = t % q, i = t / q % n, b = t / q / n;
        long long at = ((long long)mine[i] * q + b) * q + a;
        T d = e[t] - targets[at];
        if (mask) d *= mask[at];
        e[t] = d;
        sum += (double)d * (double)d;
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] += partial[0];
}

// Adam, Keras' formula. Per model: settings[m] = (beta1, beta2, epsilon), rates[m] the corrected rate of this step.
template <class T>
__device__ void adam(T* w, T* first, T* second, const T* gradient, const T* settings, const T* rates, T scale, int size) {
    const T* mine = settings + 3 * blockIdx.y;
    T beta1 = mine[0], beta2 = mine[1], epsilon = mine[2], rate = rates[blockIdx.y];
    long long base = (long long)blockIdx.y * size;
    for (long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x; t < size; t += (long long)gridDim.x * blockDim.x) {
        T g = gradient[base + t] * scale;
        T m = beta1 * first[base + t] + ((T)1 - beta1) * g;
        T v = beta2 * second[base + t] + ((T)1 - beta2) * g * g;
        first[base + t] = m;
        second[base + t] = v;
        // Padding has m = 0 for ever and must stay 0 where epsilon is 0 too.
        if (m != (T)0) w[base + t] -= rate * m / (sqrt(v) + epsilon);
    }
}

#define KERNELS(T, NAME)                                                                                                  \
    extern "C" __global__ void gather_##NAME(const T* inputs, const int* order, T* x, int length, int start, int n,       \
                                             int p) {                                                                     \
        gather<T>(inputs, order, x, length, start, n, p);                                                                 \
    }                                                                                                                     \
    extern "C" __global__ void residual_##NAME(T* error, const T* targets, const T* mask, const int* order, double* sums, \
                                               int stride, int start, int n, int q) {                                     \
        residual<T>(error, targets, mask, order, sums, stride, start, n, q);                                              \
    }                                                                                                                     \
    extern "C" __global__ void adam_##NAME(T* w, T* first, T* second, const T* gradient, const T* settings,               \
                                           const T* rates, T scale, int size) {                                           \
        adam<T>(w, first, second, gradient, settings, rates, scale, size);                                                \
    }

KERNELS(float, f32)
KERNELS(double, f64)
