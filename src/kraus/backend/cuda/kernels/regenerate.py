"""kernels.cu -> PTX, with the pinned NVRTC; no GPU, no CUDA toolkit. Only Python's standard library.

usage: regenerate.py WHEELS [--write | --assemble]
  WHEELS      folder into which the wheels nvidia-cuda-nvrtc-cu12 12.0.140 and nvidia-cuda-nvcc-cu12 were unpacked:
              pip download --no-deps nvidia-cuda-nvrtc-cu12==12.0.140 nvidia-cuda-nvcc-cu12 -d WHEELS; unzip each of them there
  (nothing)   compares kernels.ptx with what kernels.cu gives now; exit code 1 if they differ
  --write     writes kernels.ptx
  --assemble  compares, and assembles for every architecture from Volta to Blackwell
"""

import ctypes
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ARCHITECTURES = ["sm_70", "sm_80", "sm_90", "sm_100", "sm_120"]
# NVRTC 12.0 writes PTX ISA 8.0, which every driver for CUDA 12 accepts. Contraction is off, so that a * b + c is rounded
# as the processor rounds it.
OPTIONS = [b"--gpu-architecture=compute_70", b"--std=c++17", b"--fmad=false"]
PINNED = (12, 0)


def compile_ptx(wheels):
    library = next(pathlib.Path(wheels).glob("**/libnvrtc.so.12"))
    # NVRTC opens its builtins by name: have them open already.
    for builtins in library.parent.glob("libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    nvrtc = ctypes.CDLL(str(library))
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    if (major.value, minor.value) != PINNED:
        sys.exit(f"NVRTC {major.value}.{minor.value} found, {PINNED[0]}.{PINNED[1]} is pinned")
    program = ctypes.c_void_p()
    source = (HERE / "kernels.cu").read_bytes()
    failed = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"kernels.cu", 0, None, None)
    options = (ctypes.c_char_p * len(OPTIONS))(*OPTIONS)
    failed = failed or nvrtc.nvrtcCompileProgram(program, len(OPTIONS), options)
    size = ctypes.c_size_t()
    if failed:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        sys.exit(log.value.decode())
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    return ptx.value


def assemble(wheels):
    ptxas = next(pathlib.Path(wheels).glob("**/bin/ptxas"))
    ptxas.chmod(0o755)
    with tempfile.TemporaryDirectory() as scratch:
        for arch in ARCHITECTURES:
            out = pathlib.Path(scratch) / arch
            command = [ptxas, f"-arch={arch}", "-warn-spills", HERE / "kernels.ptx", "-o", out]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode or not out.stat().st_size:
                sys.exit(f"{arch}: {done.stderr}")
            print(f"{arch}: {out.stat().st_size} bytes {done.stderr.strip()}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    now = compile_ptx(sys.argv[1])
    if "--write" in sys.argv:
        (HERE / "kernels.ptx").write_bytes(now)
    elif (HERE / "kernels.ptx").read_bytes() != now:
        sys.exit("kernels.ptx is not what kernels.cu gives: run again with --write")
    if "--assemble" in sys.argv:
        assemble(sys.argv[1])
    print("kernels.ptx is up to date")
