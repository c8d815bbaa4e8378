//! The driver: a context, a stream, the kernels; its failures as typed errors.
//!
//! One stream does everything in order, so no events are needed: cudarc's tracking of them is switched off.

use super::blas::Blas;
use crate::backend::BackendError;
use cudarc::cublas::sys as blas_sys;
use cudarc::driver::sys::{CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaGraph, CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError, ValidAsZeroBits,
};
use cudarc::nvrtc::Ptx;
use linalg::Real;
use std::ffi::{c_int, c_longlong};
use std::sync::Arc;

/// kernels.cu, compiled by the pinned NVRTC.
const PTX: &str = include_str!("kernels/kernels.ptx");

/// A short hash of the kernels, printed by the self-test so that a report names their version.
pub(super) fn fingerprint() -> String {
    let fold = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(16_777_619);
    format!("{:08x}", PTX.bytes().fold(2_166_136_261, fold))
}

/// A failure: of memory, which a smaller sweep may avoid, or another.
#[derive(Debug)]
pub(super) enum Fault {
    Memory,
    Other(BackendError),
}

impl Fault {
    /// For failures outside a sweep, where there is nothing to make smaller.
    pub fn into_error(self) -> BackendError {
        match self {
            Self::Memory => BackendError::Device { doing: "start", code: "CUDA_ERROR_OUT_OF_MEMORY".into() },
            Self::Other(error) => error,
        }
    }
}

/// What the driver answered while `doing` that. The error is not formatted by cudarc, which would ask the driver again.
pub(super) fn failed(doing: &'static str) -> impl Fn(DriverError) -> Fault {
    move |DriverError(code)| match code {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Fault::Memory,
        code => Fault::Other(BackendError::Device { doing, code: format!("{code:?}") }),
    }
}

/// A scalar with kernels and a GEMM: `f32`, `f64`.
pub trait Scalar: Real + DeviceRepr + ValidAsZeroBits {
    /// The ending of its kernels' names.
    const NAME: &'static str;
    /// cuBLAS' strided-batched GEMM.
    const STRIDED: StridedBatchedGemm<Self>;
    /// cuBLAS' GEMM of lists of matrices.
    const LISTED: ListedGemm<Self>;
}

/// The C signature of a GEMM of cuBLAS: handle, two transpositions, three sizes, and the arguments that follow.
macro_rules! gemm_signature {
    ($($argument:ty),*) => {
        unsafe fn(
            blas_sys::cublasHandle_t,
            blas_sys::cublasOperation_t,
            blas_sys::cublasOperation_t,
            c_int,
            c_int,
            c_int,
            $($argument),*
        ) -> blas_sys::cublasStatus_t
    };
}

/// The C signature of `cublas?gemmStridedBatched`.
pub type StridedBatchedGemm<T> = gemm_signature!(
    *const T,
    *const T,
    c_int,
    c_longlong,
    *const T,
    c_int,
    c_longlong,
    *const T,
    *mut T,
    c_int,
    c_longlong,
    c_int
);

/// The C signature of `cublas?gemmBatched`.
pub type ListedGemm<T> =
    gemm_signature!(*const T, *const *const T, c_int, *const *const T, c_int, *const T, *const *mut T, c_int, c_int);

impl Scalar for f32 {
    const NAME: &'static str = "f32";
    const STRIDED: StridedBatchedGemm<f32> = blas_sys::cublasSgemmStridedBatched;
    const LISTED: ListedGemm<f32> = blas_sys::cublasSgemmBatched;
}

impl Scalar for f64 {
    const NAME: &'static str = "f64";
    const STRIDED: StridedBatchedGemm<f64> = blas_sys::cublasDgemmStridedBatched;
    const LISTED: ListedGemm<f64> = blas_sys::cublasDgemmBatched;
}

/// Memory of the device and its address. Freed on the stream, after all work that was queued before.
pub(super) struct Block<T> {
    slice: CudaSlice<T>,
    pub at: u64,
}

/// The kernels of kernels.cu, for one scalar.
pub(super) struct Kernels {
    pub gather: CudaFunction,
    pub residual: CudaFunction,
    pub flip: CudaFunction,
    pub columns: CudaFunction,
    pub scatter: CudaFunction,
    pub adam: CudaFunction,
    pub clamp: CudaFunction,
    pub unclamp: CudaFunction,
}

/// An open device, with the kernels of one scalar type.
pub(super) struct Device {
    context: Arc<CudaContext>,
    pub stream: Arc<CudaStream>,
    pub blas: Blas,
    pub kernels: Kernels,
}

impl Device {
    /// The first device; `tf32` allows products of f32 to round their factors.
    pub fn open<T: Scalar>(tf32: bool) -> Result<Self, Fault> {
        let context = CudaContext::new(0).map_err(failed("open the device"))?;
        // SAFETY: all work of this context goes to one stream, in order; nothing relies on cudarc's events.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(failed("create a stream"))?;
        let blas = Blas::new(stream.clone(), tf32)?;
        let module = context.load_module(Ptx::from_src(PTX)).map_err(failed("load the kernels"))?;
        let kernel = |name: &str| module.load_function(&format!("{name}_{}", T::NAME)).map_err(failed("find a kernel"));
        let kernels = Kernels {
            gather: kernel("gather")?,
            residual: kernel("residual")?,
            flip: kernel("flip")?,
            columns: kernel("columns")?,
            scatter: kernel("scatter")?,
            adam: kernel("adam")?,
            clamp: kernel("clamp")?,
            unclamp: kernel("unclamp")?,
        };
        Ok(Self { context, stream, blas, kernels })
    }

    /// Bytes of memory that are free.
    pub fn free(&self) -> Result<u64, Fault> {
        Ok(self.context.mem_get_info().map_err(failed("ask for free memory"))?.0 as u64)
    }

    /// Name, compute capability, bytes of memory.
    pub fn describe(&self) -> Result<crate::backend::Gpu, Fault> {
        let ask = failed("ask for the device's properties");
        Ok(crate::backend::Gpu {
            name: self.context.name().map_err(&ask)?,
            capability: self.context.compute_capability().map_err(&ask)?,
            memory: self.context.total_mem().map_err(&ask)? as u64,
        })
    }

    fn block<T>(&self, slice: CudaSlice<T>) -> Block<T> {
        let at = slice.device_ptr(&self.stream).0;
        Block { slice, at }
    }

    pub fn zeros<T: DeviceRepr + ValidAsZeroBits>(&self, len: usize) -> Result<Block<T>, Fault> {
        Ok(self.block(self.stream.alloc_zeros(len.max(1)).map_err(failed("allocate"))?))
    }

    pub fn upload<T: DeviceRepr>(&self, data: &[T]) -> Result<Block<T>, Fault> {
        Ok(self.block(self.stream.clone_htod(data).map_err(failed("upload"))?))
    }

    /// Into a block that has room for it.
    pub fn update<T: DeviceRepr>(&self, data: &[T], to: &mut Block<T>) -> Result<(), Fault> {
        self.stream.memcpy_htod(data, &mut to.slice).map_err(failed("upload"))
    }

    pub fn clear<T: DeviceRepr + ValidAsZeroBits>(&self, block: &mut Block<T>) -> Result<(), Fault> {
        self.stream.memset_zeros(&mut block.slice).map_err(failed("clear"))
    }

    /// A range of one block to the same range of another.
    pub fn copy<T>(&self, from: &Block<T>, range: std::ops::Range<usize>, to: &mut Block<T>) -> Result<(), Fault> {
        let (from, mut to) = (from.slice.slice(range.clone()), to.slice.slice_mut(range));
        self.stream.memcpy_dtod(&from, &mut to).map_err(failed("copy"))
    }

    /// Waits for all work so far, so that a failure of any of it is seen here and not in a wrong number.
    pub fn download<T: DeviceRepr + Default + Clone>(
        &self,
        from: &Block<T>,
        range: std::ops::Range<usize>,
    ) -> Result<Vec<T>, Fault> {
        let mut out = vec![T::default(); range.len()];
        self.stream.synchronize().map_err(failed("train"))?;
        self.stream.memcpy_dtoh(&from.slice.slice(range), &mut out).map_err(failed("download"))?;
        self.stream.synchronize().map_err(failed("download"))?;
        Ok(out)
    }

    /// Records what `work` queues instead of doing it, to be replayed at the cost of one launch; `None` if the driver refuses;
    /// nothing has been queued then.
    pub fn record(&self, work: impl FnOnce() -> Result<(), Fault>) -> Option<CudaGraph> {
        self.stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).ok()?;
        let queued = work();
        let graph = self.stream.end_capture(CUgraphInstantiate_flags(0));
        queued.ok().and(graph.ok()).flatten()
    }
}
