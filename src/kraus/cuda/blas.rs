//! cuBLAS: one handle, one product. Column-major, as there.
//!
//! cudarc's own handle panics when it is dropped after the device was lost; this one does not.

use super::device::{Fault, Scalar};
use crate::backend::BackendError;
use cudarc::cublas::{result, sys};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};
use std::sync::Arc;

/// A handle on a stream, in full precision: no TF32.
pub(super) struct Blas {
    handle: sys::cublasHandle_t,
    stream: Arc<CudaStream>,
}

/// A matrix, or many at a fixed distance.
pub(super) struct Operand<'a, T> {
    pub data: &'a CudaSlice<T>,
    /// First element.
    pub at: usize,
    /// From one column to the next.
    pub ld: usize,
    /// From one matrix to the next; 0 repeats one.
    pub stride: usize,
    pub transposed: bool,
}

fn failed(doing: &'static str) -> impl Fn(result::CublasError) -> Fault {
    move |result::CublasError(code)| match code {
        sys::cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED => Fault::Memory,
        code => Fault::Other(BackendError::Device { doing, code: format!("{code:?}") }),
    }
}

impl Blas {
    pub fn new(stream: Arc<CudaStream>) -> Result<Self, Fault> {
        stream.context().bind_to_thread().map_err(super::device::failed("bind the context"))?;
        let handle = result::create_handle().map_err(failed("open cuBLAS"))?;
        // From here on a failure drops the handle.
        let blas = Self { handle, stream };
        let mode = sys::cublasMath_t::CUBLAS_PEDANTIC_MATH;
        // SAFETY: the handle is live, and the stream outlives it: both are fields of one struct.
        unsafe {
            result::set_stream(blas.handle, blas.stream.cu_stream().cast()).map_err(failed("open cuBLAS"))?;
            sys::cublasSetMathMode(blas.handle, mode).result().map_err(failed("switch off TF32"))?;
        }
        Ok(blas)
    }

    /// C <- A B for `batch` matrices: C is m x n, the contraction has length k. C's matrices lie `ld` and `stride` apart.
    pub fn product<T: Scalar>(
        &self,
        (m, n, k): (usize, usize, usize),
        a: &Operand<'_, T>,
        b: &Operand<'_, T>,
        (c, at, ld, stride): (&mut CudaSlice<T>, usize, usize, usize),
        batch: usize,
    ) -> Result<(), Fault> {
        let op = |x: &Operand<'_, T>| {
            if x.transposed { sys::cublasOperation_t::CUBLAS_OP_T } else { sys::cublasOperation_t::CUBLAS_OP_N }
        };
        let (one, zero) = (T::of(1.0), T::of(0.0));
        let (pa, _a) = a.data.device_ptr(&self.stream);
        let (pb, _b) = b.data.device_ptr(&self.stream);
        let (pc, _c) = c.device_ptr_mut(&self.stream);
        let far = |base: u64, at: usize| base + (at * size_of::<T>()) as u64;
        // SAFETY: the caller's shapes lie inside the slices (the plan sized them), which live until the stream is done;
        // sizes fit the integers because `plan::check_models` refused those that do not.
        let status = unsafe {
            T::GEMM(
                self.handle,
                op(a),
                op(b),
                m as i32,
                n as i32,
                k as i32,
                &one,
                far(pa, a.at) as *const T,
                a.ld as i32,
                a.stride as i64,
                far(pb, b.at) as *const T,
                b.ld as i32,
                b.stride as i64,
                &zero,
                far(pc, at) as *mut T,
                ld as i32,
                stride as i64,
                batch as i32,
            )
        };
        status.result().map_err(failed("multiply"))
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle was created by `new` and is destroyed once. A lost device fails here, and nothing can be done.
        let _ = unsafe { result::destroy_handle(self.handle) };
    }
}
