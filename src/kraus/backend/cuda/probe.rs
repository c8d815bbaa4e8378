//! Finds out whether there is a GPU that can train, by training a tiny model on it: what is broken shows here, not later.
//!
//! cudarc panics where a library or one of its symbols is missing. So the symbols are looked up first, and the rest runs
//! inside the only `catch_unwind` of this crate.

use super::Cuda;
use super::device::{Device, Fault, Scalar};
use crate::backend::{Backend, BackendError, Cpu, Gpu, Job, Trial, Unavailable};
use crate::data::problem::Problem;
use crate::solvers::adam::AdamParams;
use crate::solvers::{Flow, Start, Stopping};
use ndarray::Array3;
use std::sync::OnceLock;

/// The functions of the driver that training calls.
const DRIVER: &[&str] = &[
    "cuInit",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyDtoDAsync_v2",
    "cuMemsetD8Async",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphExecDestroy",
    "cuGraphDestroy",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuLaunchKernel",
];
/// The functions of cuBLAS that training calls.
const BLAS: &[&str] = &[
    "cublasCreate_v2",
    "cublasDestroy_v2",
    "cublasSetStream_v2",
    "cublasSetMathMode",
    "cublasSgemmStridedBatched",
    "cublasDgemmStridedBatched",
    "cublasSgemmBatched",
    "cublasDgemmBatched",
];

/// The first GPU, or why it cannot be used. Asks once per process.
pub fn probe() -> Result<Gpu, Unavailable> {
    static FOUND: OnceLock<Result<Gpu, Unavailable>> = OnceLock::new();
    FOUND.get_or_init(find).clone()
}

fn find() -> Result<Gpu, Unavailable> {
    // SAFETY: opening a library runs its initialisers; these are NVIDIA's, wherever the system finds them.
    let (driver, blas) = unsafe { (cudarc::driver::sys::is_culib_present(), cudarc::cublas::sys::is_culib_present()) };
    if !driver {
        return Err(Unavailable::Library("libcuda (the driver)"));
    }
    if !blas {
        return Err(Unavailable::Library("libcublas"));
    }
    // A panic becomes an error and prints nothing on stderr.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let found = std::panic::catch_unwind(ask);
    std::panic::set_hook(hook);
    found.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(Unavailable::Broken(said.unwrap_or("an unknown failure").to_string()))
    })
}

fn ask() -> Result<Gpu, Unavailable> {
    symbols()?;
    let count = cudarc::driver::CudaContext::device_count().map_err(|e| match format!("{:?}", e.0) {
        code if code.ends_with("NO_DEVICE") => Unavailable::NoDevice,
        code => Unavailable::Driver { doing: "cuInit", code },
    })?;
    if count == 0 {
        return Err(Unavailable::NoDevice);
    }
    let refused = |fault: Fault| match fault.into_error() {
        BackendError::Device { doing, code } => Unavailable::Driver { doing, code },
        BackendError::Unavailable(why) => why,
        other => Unavailable::Broken(other.to_string()),
    };
    let gpu = Device::open::<f32>(false).and_then(|device| device.describe()).map_err(refused)?;
    trains::<f32>(1e-4).and_then(|()| trains::<f64>(1e-10)).map_err(refused)?;
    Ok(gpu)
}

/// The first symbol that a library lacks.
fn symbols() -> Result<(), Unavailable> {
    // SAFETY: the symbols are looked up and never called through this type.
    let lacks = unsafe {
        let (driver, blas) = (cudarc::driver::sys::culib(), cudarc::cublas::sys::culib());
        let in_driver = DRIVER.iter().find(|s| driver.get::<unsafe extern "C" fn()>(s.as_bytes()).is_err());
        in_driver.or_else(|| BLAS.iter().find(|s| blas.get::<unsafe extern "C" fn()>(s.as_bytes()).is_err()))
    };
    match lacks {
        Some(symbol) => Err(Unavailable::Broken(format!("`{symbol}` is missing; the driver is too old or damaged"))),
        None => Ok(()),
    }
}

/// Two tiny models, on the GPU and on the processor: the losses must agree.
fn trains<T: Scalar>(tolerance: f64) -> Result<(), Fault> {
    let wrong = |why: String| Fault::Other(Unavailable::Broken(why).into());
    let x = Array3::from_shape_fn((5, 3, 3), |(s, i, j)| T::of(((s + 1) * (i + j + 1)) as f64).sin());
    let y = Array3::from_shape_fn((5, 2, 2), |(s, i, j)| T::of((s + i + j) as f64 / 8.0));
    let problem = Problem::matrices(x.view(), y.view()).map_err(|e| wrong(e.to_string()))?;
    let trial = |rank: usize| {
        let adam = AdamParams { stopping: Stopping::after(3), batch: 2, seed: rank as u64, ..AdamParams::default() };
        Ok(Trial { adam: adam.check().map_err(|e| wrong(e.to_string()))?, start: Start::single(3, 2, rank, 7) })
    };
    let job = Job { problem: &problem, validation: Some(&problem), trials: vec![trial(1)?, trial(2)?], tf32: false };
    let watch = &mut |_: usize, _: &crate::solvers::Progress| Flow::Continue;
    let gpu = Backend::<T>::train(&Cuda::unchecked(), &job, watch).map_err(Fault::Other)?;
    let cpu = Backend::<T>::train(&Cpu, &job, watch).map_err(Fault::Other)?;
    for (ours, theirs) in cpu.iter().zip(&gpu) {
        let (ours, theirs) = match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => (&ours.history.validation, &theirs.history.validation),
            other => return Err(wrong(format!("a tiny model does not train on it: {:?}", other.1))),
        };
        if !ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() <= tolerance * a.abs()) {
            return Err(wrong(format!("a tiny model trains to wrong losses, {theirs:?} for {ours:?}")));
        }
    }
    Ok(())
}
