"""Plants bugs in the CUDA backend, one at a time, and checks that the tests on the stand-in driver catch each of them.

usage: python3 mutants.py [cu | rust]      from anywhere in the repository; prints a Markdown table, exit code 1 if one survives

Bugs in kernels.cu go into a copy that the tests are told of, so nothing is built but the stand-in. Bugs in the Rust files are
planted in place and taken back, also after Ctrl-C; commit first. Each costs one build of the crate. The quickest test is asked
first and the others only if it is content, so the table names the first test that notices. MUTANTS.md keeps the last table.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

KRAUS = pathlib.Path(__file__).resolve().parents[2]
CUDA = KRAUS / "backend" / "cuda"
ROOT = KRAUS.parents[1]
BUILD = ["cargo", "test", "--release", "--workspace", "--test", "cuda", "--no-run"]
# Filters of tests, in the order in which they are asked.
TESTS = ["agreement::fifty_steps_agree_in_f64", "agreement::models_end", "agreement::graphs", "agreement::tf32", "agreement::best", "agreement::a_clamp", "agreement::fifty_steps_agree_in_f32", "memory::", "faults::"]
PATIENCE = 600

CU = [
    ("index: offset of the batch forgotten in gather", "blockIdx.y * length + start;", "blockIdx.y * length;"),
    ("index: entry of a sample", "* size + t % size];", "* size + t % n];"),
    ("stride: every model gathers the first order", "order + (long long)blockIdx.y * length + start", "order + start"),
    ("stride: all orders gather into one buffer", "T* out = x + (long long)blockIdx.y * room * size;", "T* out = x;"),
    ("stride: room of the batch, not of the buffer, in gather", "T* out = x + (long long)blockIdx.y * room * size;", "T* out = x + (long long)blockIdx.y * n * size;"),
    ("index: past the end of the batch", "for (EACH(t, n * size)) out[t]", "for (EACH(t, n * size + 1)) out[t]"),
    ("launch: loops take one round only", "t += gridDim.x * blockDim.x", "t += 1u << 30"),
    ("missing barrier before the reduction", "partial[threadIdx.x] = mine;\n    __syncthreads();", "partial[threadIdx.x] = mine;"),
    ("missing barrier inside the reduction", "partial[threadIdx.x + half];\n        __syncthreads();", "partial[threadIdx.x + half];"),
    ("barrier that not all threads reach", "if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];\n        __syncthreads();", "if (threadIdx.x < half) { partial[threadIdx.x] += partial[threadIdx.x + half]; __syncthreads(); }"),
    ("missing barrier before vectors are made orthogonal", "twice++) {\n        __syncthreads();", "twice++) {"),
    ("vectors of vanishing values not completed", "complete(u, i, n);\n        vanish", "vanish"),
    ("null spaces: vectors not paired", "if (vanish) pair_null_spaces(u, v, s, four * top, n);", ";"),
    ("null spaces: projections not made orthogonal", "if (!(fabs(off) > sqrt(first * second) * four)) continue;", "continue;"),
    ("null spaces: projections not scaled", "norm > least ? (T)1 / norm", "norm > least ? (T)1"),
    ("reduction loses the last half", "half > 0; half /= 2", "half > 1; half /= 2"),
    ("index: offset of the batch forgotten in the residual", "* stride + start;\n    T* e", "* stride;\n    T* e"),
    ("stride: order of the first model for all", "blockIdx.y * stride + start;\n    T* e", "start;\n    T* e"),
    ("stride: all models' errors in one place", "T* e = error + (long long)blockIdx.y * room * size;", "T* e = error;"),
    ("sign of the residual", "T d = e[t] - targets[at];", "T d = targets[at] - e[t];"),
    ("mask ignored", "if (mask) d *= mask[at];", ""),
    ("mask in the loss only", "e[t] = d;\n        sum", "e[t] = e[t] - targets[at];\n        sum"),
    ("stale: the error is not written back", "e[t] = d;\n        sum", "sum"),
    ("loss of the last batch only", "blockIdx.x] += sum;", "blockIdx.x] = sum;"),
    ("losses of all models in the first", "sums[blockIdx.y * gridDim.x + blockIdx.x]", "sums[blockIdx.x]"),
    ("losses of all blocks in one place", "sums[blockIdx.y * gridDim.x + blockIdx.x] += sum;", "sums[blockIdx.y * gridDim.x] = sum;"),
    ("flip that copies", "out[base + (i * q + b) * q + a] = in[base + t];", "out[base + t] = in[base + t];"),
    ("flip of the first model only", "long long base = (long long)blockIdx.y * room * q * q;", "long long base = 0;"),
    ("columns: row for column of a unit", "left[base + t] = a[row + unit[0]];", "left[base + t] = a[row + unit[1]];"),
    ("columns: layout [k][a] for [a][k]", "(t % q * r + t / q % r) * p", "(t / q % r * q + t % q) * p"),
    ("scatter: symmetric units counted once", "if (unit[1] == c) sum += right", "if (unit[1] == c && unit[0] != c) sum += right"),
    ("scatter: gradient of the first model", "gradient[(long long)blockIdx.y * total + t] = sum;", "gradient[t] = sum;"),
    ("scatter: adds to what is there", "gradient[(long long)blockIdx.y * total + t] = sum;", "gradient[(long long)blockIdx.y * total + t] += sum;"),
    ("settings of the first model for all", "settings + 3 * blockIdx.y;", "settings;"),
    ("rate of the first model for all", "rate = rates[blockIdx.y];", "rate = rates[0];"),
    ("stride: Adam moves the first model only", "long long base = (long long)blockIdx.y * size;", "long long base = 0;"),
    ("moments: beta1 for beta2", "T v = beta2 * second", "T v = beta1 * second"),
    ("stale: first moment not kept", "first[base + t] = m;", ""),
    ("epsilon inside the root", "(sqrt(v) + epsilon)", "sqrt(v + epsilon)"),
    ("gradient not scaled", "gradient[base + t] * scale;", "gradient[base + t];"),
    ("tournament: a pair never meets", "int odd = n - 1 + n % 2;", "int odd = n - 1 + n % 2 - (n > 3 ? 2 : 0);"),
    ("rotation: wrong sign", "t = theta < (T)0 ? -t : t;", ""),
    ("eigenvectors not rotated", "rotate(v[p * n + k], v[q * n + k], cosine[i], sine[i]);\n            }\n            __syncthreads();\n            for", "}\n            __syncthreads();\n            for"),
    ("missing barrier between rows and columns", "            }\n            __syncthreads();\n            for (MINE(t, pairs * n)) {\n                int i = t / n, k = t % n;\n                if (sine[i] == (T)0) continue;\n                pair(i, round, n, p, q);\n                rotate(a[k * n + p]", "            }\n            for (MINE(t, pairs * n)) {\n                int i = t / n, k = t % n;\n                if (sine[i] == (T)0) continue;\n                pair(i, round, n, p, q);\n                rotate(a[k * n + p]"),
    ("stale: rotation of the round before", "sine[i] = (T)0;\n                if (!pair(i, round, n, p, q) || !(fabs(a", ";\n                if (!pair(i, round, n, p, q) || !(fabs(a"),
    ("one sweep only", "if (!busy) break;\n    }\n    for (MINE(i, n)) w[i]", "break;\n    }\n    for (MINE(i, n)) w[i]"),
    ("singular values: lanes left out", "for (int other = 0; other < lanes; other++)", "for (int other = 0; other < lanes - 1; other++)"),
    ("singular values not made roots", "s[i] = sqrt(s[i]);", ";"),
    ("clamp of the first sample's kind for all", "start + blockIdx.x]]) {\n        for", "start]]) {\n        for"),
    ("clamp at the wrong place of the next model", "long long at = (long long)blockIdx.y * room + blockIdx.x;\n    y +=", "long long at = (long long)blockIdx.y * gridDim.x + blockIdx.x;\n    y +="),
    ("clamp from above", "sum += fmax(eps - s[i], (T)0)", "sum += fmin(eps - s[i], (T)0)"),
    ("unclamp: divided difference of a free and a clamped value", "T minus = lo >= eps ?", "T minus = hi >= eps ?"),
    ("unclamp: antisymmetric part dropped", "if (even_only || sum <=", "if (true || sum <="),
    ("unclamp: stops if the largest value is free", "if (least >= eps) return;", "if (top >= eps) return;"),
    ("unclamp: missing barrier after a product", "out[t] = sum;\n    }\n    __syncthreads();", "out[t] = sum;\n    }"),
]

RUST = [
    ("step.rs", "launch: threads that are no power of two", "block_dim: (THREADS, 1, 1)", "block_dim: (THREADS - 32, 1, 1)"),
    ("step.rs", "launch: gather of one order only", "grid(n * p * p, batch.orders)", "grid(n * p * p, 1)"),
    ("step.rs", "stale: rates of the first step", "bytes::<T>(step * models)", "bytes::<T>(0 * step * models)"),
    ("step.rs", "scale of the full batch", "factor / (n * self.shape.q()", "factor / (self.shape.n * self.shape.q()"),
    ("step.rs", "stride: room of the batch, not of the buffer", "let t = Strided { at: stage.t.at, ld: r * p, stride: room * q * r * p", "let t = Strided { at: stage.t.at, ld: r * p, stride: n * q * r * p"),
    ("step.rs", "the first gradient is overwritten by the second", "t_of(self.u.at), to, true, models", "t_of(self.u.at), to, false, models"),
    ("step.rs", "inputs of the first order for all models", "let input = if batch.orders == 1 { stage.lists.shared } else { stage.lists.own };", "let input = stage.lists.shared;"),
    ("step.rs", "errors go back through the layer's own clamp", "(&self.stages[index - 1], self.errors(index - 1), self.scratch.at)", "(&self.stages[index], self.errors(index - 1), self.scratch.at)"),
    ("buffers.rs", "list: models outermost", "self.all.extend((0..self.shape.models).map(|m| base + (m * model + i * sample) as u64));", "self.all.extend((0..self.shape.models).map(|m| base + (i * model + m * sample) as u64));"),
    ("buffers.rs", "list: operators of the first layer for all", "writer.list(self.w.at + (at * bytes) as u64, total * bytes, 0)", "writer.list(self.w.at, total * bytes, 0)"),
    ("shape.rs", "buffer too small: T", "t: self.layers.iter().map(|l| if products(l) { each(l.size()) } else { 0 })", "t: self.layers.iter().map(|l| if products(l) { each(l.size()) / 2 } else { 0 })"),
    ("shape.rs", "memory forgotten in the plan", "layers + bases + self.u + self.scratch", "layers + self.u + self.scratch"),
    ("sweep.rs", "stale: order of the first epoch", "device.update(&orders.concat(), &mut order)?;", "if epoch == 0 { device.update(&orders.concat(), &mut order)?; }"),
    ("sweep.rs", "stale: sums of training in the validation", "buffers.clear_sums(device)?;\n                for start", "for start"),
    ("sweep.rs", "step counter begins anew in each epoch", "(epoch * steps + step + 1) as u64", "(step + 1) as u64"),
    ("sweep.rs", "best epoch of the first model for all", "device.copy(&buffers.w, mine, &mut buffers.best)?", "device.copy(&buffers.w, 0..total, &mut buffers.best)?"),
    ("sweep.rs", "padding in the wrong place", "at + (n / p % q * r + n / p / q) * p + n % p", "at + (n / p % q * rank + n / p / q) * p + n % p"),
    ("epoch.rs", "the first epoch is recorded", "if epoch > 0 && matches!", "if matches!"),
    ("device.rs", "out of memory taken for another failure", "CUDA_ERROR_OUT_OF_MEMORY => Fault::Memory", "CUDA_ERROR_NOT_READY => Fault::Memory"),
    ("blas.rs", "TF32 whether asked for or not", "if tf32 { rounded } else { full }", "if tf32 { rounded } else { rounded }"),
    ("blas.rs", "leak: the handle", "let _ = unsafe { result::destroy_handle(self.handle) };", ""),
    ("plan.rs", "memory not asked for", "|| need(job, sweep) > budget", ""),
]


def binary():
    """Builds the test; its path, or None if it does not compile."""
    done = subprocess.run(BUILD, cwd=ROOT, capture_output=True, text=True)
    found = re.search(r"tests/cuda/main.rs \((.*?)\)", done.stderr)
    return ROOT / found.group(1) if done.returncode == 0 and found else sys.exit("does not compile:\n" + done.stderr[-3000:])


def caught(program, environment):
    """The first test that fails, and how; None if none does."""
    for test in TESTS:
        try:
            done = subprocess.run([program, test], cwd=KRAUS, env={**os.environ, **environment}, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return f"{test}: does not end"
        out = done.stdout + done.stderr
        if "standin/build.rs" in out:
            sys.exit("the planted bug does not compile:\n" + out[-3000:])
        if done.returncode:
            standin = re.search(r"\[standin\] (.*)", out)
            panic = re.search(r"panicked at .*?:\n(.*)", out)
            how = standin.group(1) if standin else panic.group(1) if panic else "the process died"
            how = "the probe" if "Unavailable(Broken" in how else how
            return f"{test.split('::')[1] or test}: {how[:80].replace('|', '/')}"
    return None


def planted(text, old, new, what):
    if text.count(old) != 1:
        sys.exit(f"`{what}`: its text occurs {text.count(old)} times")
    return text.replace(old, new)


def main(which):
    survivors = 0
    print("| where | planted bug | caught by |\n|---|---|---|", flush=True)

    def row(where, what, how):
        nonlocal survivors
        survivors += how is None
        print(f"| {where} | {what} | {how or '**survives**'} |", flush=True)

    source = (CUDA / "kernels" / "kernels.cu").read_text()
    for what, old, new in CU:
        planted(source, old, new, what)
    for name, what, old, new in RUST:
        planted((CUDA / name).read_text(), old, new, what)
    if which in ("cu", "all"):
        program = binary()
        with tempfile.TemporaryDirectory() as scratch:
            for number, (what, old, new) in enumerate(CU):
                copy = pathlib.Path(scratch) / f"kernels{number}.cu"
                copy.write_text(planted(source, old, new, what))
                row("kernels.cu", what, caught(program, {"STANDIN_KERNELS": str(copy)}))
    if which in ("rust", "all"):
        for name, what, old, new in RUST:
            path = CUDA / name
            text = path.read_text()
            try:
                path.write_text(planted(text, old, new, what))
                row(name, what, caught(binary(), {}))
            finally:
                path.write_text(text)
    sys.exit(survivors > 0)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "all")
