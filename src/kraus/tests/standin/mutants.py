"""Plants bugs in the CUDA backend, one at a time, and checks that the tests on the stand-in driver catch each of them.

usage: python3 mutants.py [cu | rust]      from anywhere in the repository; prints a Markdown table, exit code 1 if one survives

Bugs in kernels.cu go into a copy that the tests are told of, so nothing is built but the stand-in. Bugs in the Rust files are
planted in place and taken back, also after Ctrl-C; commit first. Each costs one build of the crate.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

KRAUS = pathlib.Path(__file__).resolve().parents[2]
ROOT = KRAUS.parents[1]
TEST = ["cargo", "test", "--release", "-p", "repro", "-p", "kraus", "--features", "cuda", "--test", "cuda", "-q", "--"]

CU = [
    ("index: row for column of a sample", "long long h = t % p, i = t / p % n, j = t / p / n;", "long long h = t % p, j = t / p % n, i = t / p / n;"),
    ("index: batch offset forgotten in gather", "length + start;\n    T* out", "length;\n    T* out"),
    ("index: wrong sample size in gather", "(long long)mine[i] * p + j) * p + h", "(long long)mine[i] * n + j) * p + h"),
    ("stride: all orders gather into one buffer", "T* out = x + blockIdx.y * size;", "T* out = x;"),
    ("stride: every model gathers the first order", "order + (long long)blockIdx.y * length + start", "order + start"),
    ("launch: gather without its loop", "t < size; t += (long long)gridDim.x * blockDim.x) {\n        long long h", "t < size; t += size) {\n        long long h"),
    ("index: past the end of the batch", "long long size = (long long)p * n * p;", "long long size = (long long)p * n * p + 1;"),
    ("index: block (b, a) for (a, b) of another sample", "long long a = t % q, i = t / q % n, b = t / q / n;", "long long a = t % q, b = t / q % n, i = t / q / n;"),
    ("index: batch offset forgotten in the residual", "stride + start;", "stride;"),
    ("stride: order of the first model for all", "(long long)blockIdx.x * stride + start", "(long long)start"),
    ("stride: all models' errors in one place", "T* e = error + blockIdx.x * size;", "T* e = error;"),
    ("sign of the residual", "T d = e[t] - targets[at];", "T d = targets[at] - e[t];"),
    ("mask ignored", "if (mask) d *= mask[at];", ""),
    ("mask counted in the loss only", "e[t] = d;\n        sum", "e[t] = e[t] - targets[at];\n        sum"),
    ("stale: the error is not written back", "e[t] = d;\n        sum", "sum"),
    ("missing barrier before the reduction", "partial[threadIdx.x] = sum;\n    __syncthreads();", "partial[threadIdx.x] = sum;"),
    ("missing barrier inside the reduction", "partial[threadIdx.x + half];\n        __syncthreads();", "partial[threadIdx.x + half];"),
    ("barrier that not all threads reach", "if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];\n        __syncthreads();", "if (threadIdx.x < half) { partial[threadIdx.x] += partial[threadIdx.x + half]; __syncthreads(); }"),
    ("reduction loses the last half", "half > 0; half /= 2", "half > 1; half /= 2"),
    ("loss of the last batch only", "sums[blockIdx.x] += partial[0];", "sums[blockIdx.x] = partial[0];"),
    ("losses of all models in the first", "sums[blockIdx.x] += partial[0];", "sums[0] += partial[0];"),
    ("settings of the first model for all", "settings + 3 * blockIdx.y;", "settings;"),
    ("rate of the first model for all", "rate = rates[blockIdx.y];", "rate = rates[0];"),
    ("stride: Adam moves the first model only", "long long base = (long long)blockIdx.y * size;", "long long base = 0;"),
    ("moments: beta1 for beta2", "T v = beta2 * second", "T v = beta1 * second"),
    ("stale: first moment not kept", "first[base + t] = m;", ""),
    ("stale: second moment not kept", "second[base + t] = v;", ""),
    ("epsilon inside the root", "(sqrt(v) + epsilon)", "sqrt(v + epsilon)"),
    ("gradient not scaled", "gradient[base + t] * scale;", "gradient[base + t];"),
]

RUST = [
    ("step.rs", "launch: one block too few", "elements.div_ceil(THREADS as usize).clamp(1, BLOCKS)", "(elements / THREADS as usize).clamp(1, 1)"),
    ("step.rs", "launch: half the threads", "block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 };\n        // SAFETY: the arguments are those of `residual`", "block_dim: (THREADS / 2, 1, 1), shared_mem_bytes: 0 };\n        // SAFETY: the arguments are those of `residual`"),
    ("step.rs", "launch: gather of one order only", "launch.launch(grid(p * p * n, orders))", "launch.launch(grid(p * p * n, 1))"),
    ("step.rs", "launch: Adam of one model only", "launch.launch(grid(size, models))", "launch.launch(grid(size, 1))"),
    ("step.rs", "stride: operators of Z", "at: call * size, ld: q, stride: p * q", "at: call * size, ld: q, stride: q"),
    ("step.rs", "stride: inputs of the first model for all", "at: call * p * p * n, ld: p", "at: 0, ld: p"),
    ("step.rs", "stride: results of Z", "(&mut self.z, call * size * n, q, p * q * n)", "(&mut self.z, 0, q, p * q * n)"),
    ("step.rs", "leading dimension of the full batch", "(&mut self.error, 0, n * q, n * q * q)", "(&mut self.error, 0, n * q, self.shape.n * q * q)"),
    ("step.rs", "transposed: the gradient", "stride: n * q * q, transposed: true", "stride: n * q * q, transposed: false"),
    ("step.rs", "scale of the full batch", "T::of(4.0 / (n * q * q) as f64)", "T::of(4.0 / (self.shape.n * q * q) as f64)"),
    ("step.rs", "stale: rates of the first step", "self.rates.slice(step * models..(step + 1) * models)", "self.rates.slice(0..models)"),
    ("step.rs", "buffer too small: Z", "z: device.zeros(models * size * n)?", "z: device.zeros(size * n)?"),
    ("sweep.rs", "stale: order of the first epoch", "device.update(&orders.concat(), &mut order)?;", "if epoch == 0 { device.update(&orders.concat(), &mut order)?; }"),
    ("sweep.rs", "stale: sums of the epoch before", "buffers.clear_sums(device)?;\n        for step", "for step"),
    ("sweep.rs", "stale: sums of training in the validation", "buffers.clear_sums(device)?;\n                for start", "for start"),
    ("sweep.rs", "step counter begins at 0 in each epoch", "(epoch * steps + step + 1) as u64", "(step + 1) as u64"),
    ("sweep.rs", "last batch too long", "let n = shape.n.min(l - start);", "let n = shape.n.min(l);"),
    ("sweep.rs", "parameters of the first model for all", "device.download(&buffers.w, m * size..(m + 1) * size)", "device.download(&buffers.w, 0..size)"),
    ("device.rs", "out of memory taken for another failure", "CUDA_ERROR_OUT_OF_MEMORY => Fault::Memory", "CUDA_ERROR_NOT_READY => Fault::Memory"),
    ("blas.rs", "precision left at the default", "CUBLAS_PEDANTIC_MATH", "CUBLAS_TF32_TENSOR_OP_MATH"),
    ("blas.rs", "leak: the handle", "let _ = unsafe { result::destroy_handle(self.handle) };", ""),
    ("plan.rs", "memory forgotten in the plan", "|| need(job, sweep) > budget", ""),
]


def caught(environment):
    done = subprocess.run(TEST, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True)
    out = done.stdout + done.stderr
    if "error: could not compile" in out or "no such file" in out:
        sys.exit("the planted bug does not compile:\n" + out[-3000:])
    failed = [line.split()[1] for line in out.splitlines() if line.startswith("test ") and "FAILED" in line]
    failed += [line.strip() for line in out.splitlines() if line.startswith("    ") and "::" in line and " " not in line.strip()]
    how = ", ".join(dict.fromkeys(failed)) or ("the process died" if done.returncode else "")
    return done.returncode != 0, how


def planted(text, old, new, what):
    if text.count(old) != 1:
        sys.exit(f"`{what}`: its text occurs {text.count(old)} times")
    return text.replace(old, new)


def main(which):
    survivors = 0
    print("| where | planted bug | caught by |\n|---|---|---|", flush=True)

    def row(where, what, result):
        nonlocal survivors
        died, how = result
        survivors += not died
        print(f"| {where} | {what} | {how if died else '**survives**'} |", flush=True)

    source = (KRAUS / "cuda" / "kernels.cu").read_text()
    if which in ("cu", "all"):
        with tempfile.TemporaryDirectory() as scratch:
            for number, (what, old, new) in enumerate(CU):
                copy = pathlib.Path(scratch) / f"kernels{number}.cu"
                copy.write_text(planted(source, old, new, what))
                row("kernels.cu", what, caught({"STANDIN_KERNELS": str(copy)}))
    if which in ("rust", "all"):
        for name, what, old, new in RUST:
            path = KRAUS / "cuda" / name
            text = path.read_text()
            try:
                path.write_text(planted(text, old, new, what))
                row(name, what, caught({}))
            finally:
                path.write_text(text)
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "all")
