//! cuBLAS: one handle, products of many matrices. Row-major, unlike there.
//!
//! cudarc's own handle panics when it is dropped after the device was lost; this one does not.

use super::device::{Fault, Scalar};
use crate::backend::BackendError;
use cudarc::cublas::{result, sys};
use cudarc::driver::CudaStream;
use std::sync::Arc;

/// A handle on a stream, in full precision unless TF32 is asked for.
pub(super) struct Blas {
    handle: sys::cublasHandle_t,
    stream: Arc<CudaStream>,
}

/// A matrix, or many at a fixed distance. Rows lie one after the other.
pub(super) struct Strided {
    /// Address of the first element.
    pub at: u64,
    /// From one row to the next.
    pub ld: usize,
    /// From one matrix to the next.
    pub stride: usize,
    pub transposed: bool,
}

/// Matrices anywhere, by a list of their addresses that is in the device's memory.
pub(super) struct Listed {
    /// Address of the list.
    pub at: u64,
    /// From one row to the next.
    pub ld: usize,
    pub transposed: bool,
}

fn failed(doing: &'static str) -> impl Fn(result::CublasError) -> Fault {
    move |result::CublasError(code)| match code {
        sys::cublasStatus_t::CUBLAS_STATUS_ALLOC_FAILED => Fault::Memory,
        code => Fault::Other(BackendError::Device { doing, code: format!("{code:?}") }),
    }
}

fn op(transposed: bool) -> sys::cublasOperation_t {
    if transposed { sys::cublasOperation_t::CUBLAS_OP_T } else { sys::cublasOperation_t::CUBLAS_OP_N }
}

/// Calls a GEMM of cuBLAS on matrices in row-major order. cuBLAS reads rows as columns, so that C^T = B^T A^T.
macro_rules! row_major {
    ($gemm:expr, $handle:expr, ($m:expr, $n:expr, $k:expr), ($a:expr, $b:expr), $($rest:expr),+) => {
        $gemm($handle, op($b.transposed), op($a.transposed), $n as i32, $m as i32, $k as i32, $($rest),+)
    };
}

impl Blas {
    pub fn new(stream: Arc<CudaStream>, tf32: bool) -> Result<Self, Fault> {
        stream.context().bind_to_thread().map_err(super::device::failed("bind the context"))?;
        let handle = result::create_handle().map_err(failed("open cuBLAS"))?;
        // From here on a failure drops the handle.
        let blas = Self { handle, stream };
        let (full, rounded) = (sys::cublasMath_t::CUBLAS_PEDANTIC_MATH, sys::cublasMath_t::CUBLAS_TF32_TENSOR_OP_MATH);
        let mode = if tf32 { rounded } else { full };
        // SAFETY: the handle is live, and the stream outlives it: both are fields of one struct.
        unsafe {
            result::set_stream(blas.handle, blas.stream.cu_stream().cast()).map_err(failed("open cuBLAS"))?;
            sys::cublasSetMathMode(blas.handle, mode).result().map_err(failed("set the precision"))?;
        }
        Ok(blas)
    }

    /// C <- A B, or C + A B, for `batch` matrices at fixed distances: C is m x n, the contraction has length k.
    ///
    /// # Safety
    /// All matrices lie inside memory of the device that is freed on this stream.
    pub unsafe fn product<T: Scalar>(
        &self,
        (m, n, k): (usize, usize, usize),
        a: Strided,
        b: Strided,
        (c, ld, stride): (u64, usize, usize),
        add: bool,
        batch: usize,
    ) -> Result<(), Fault> {
        let (one, before) = (T::of(1.0), T::of(if add { 1.0 } else { 0.0 }));
        // SAFETY: the caller's. Sizes fit the integers because `plan::check` refused those that do not.
        let status = unsafe {
            row_major!(
                T::STRIDED,
                self.handle,
                (m, n, k),
                (a, b),
                &one,
                b.at as *const T,
                b.ld as i32,
                b.stride as i64,
                a.at as *const T,
                a.ld as i32,
                a.stride as i64,
                &before,
                c as *mut T,
                ld as i32,
                stride as i64,
                batch as i32
            )
        };
        status.result().map_err(failed("multiply"))
    }

    /// C <- A B for the first `count` matrices of three lists.
    ///
    /// # Safety
    /// As for [`product`](Self::product); the lists too.
    pub unsafe fn each<T: Scalar>(
        &self,
        (m, n, k): (usize, usize, usize),
        a: Listed,
        b: Listed,
        (c, ld): (u64, usize),
        count: usize,
    ) -> Result<(), Fault> {
        let (one, zero) = (T::of(1.0), T::of(0.0));
        // SAFETY: as above.
        let status = unsafe {
            row_major!(
                T::LISTED,
                self.handle,
                (m, n, k),
                (a, b),
                &one,
                b.at as *const *const T,
                b.ld as i32,
                a.at as *const *const T,
                a.ld as i32,
                &zero,
                c as *const *mut T,
                ld as i32,
                count as i32
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
