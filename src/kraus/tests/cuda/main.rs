//! The CUDA backend on a stand-in driver: the real Rust code and the real kernels, without a GPU. See CUDA.md.
#![cfg(feature = "cuda")]

mod agreement;
mod faults;
mod memory;
mod ptx;
#[path = "../standin/mod.rs"]
#[allow(dead_code)]
mod standin;

use kraus::Flow;
use kraus::backend::{Fits, Job, Trainable};
use kraus::cuda::cases::Case;
use linalg::Real;

fn go_on(_: usize, _: &kraus::Progress) -> Flow {
    Flow::Continue
}

/// The job of a case, given to `then`.
fn with_job<T: kraus::cuda::Scalar, R>(case: &Case, then: impl FnOnce(&Job<'_, T>) -> R) -> R {
    kraus::cuda::cases::with_job(case, then).unwrap()
}

fn on_gpu<T: Trainable>(job: &Job<'_, T>) -> Fits<T> {
    T::cuda().unwrap().train(job, &mut go_on).unwrap()
}

/// Bit for bit.
fn same<T: Real>(a: &Fits<T>, b: &Fits<T>) -> bool {
    a.iter().zip(b).all(|(a, b)| {
        let (a, b) = (a.as_ref().unwrap(), b.as_ref().unwrap());
        a.history.loss == b.history.loss && a.history.validation == b.history.validation && a.model == b.model
    })
}
