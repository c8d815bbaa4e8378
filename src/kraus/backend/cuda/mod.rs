//! Training on an NVIDIA GPU: many models of one dataset in one sweep. CUDA.md says what has been verified and what not.
//!
//! | file | what |
//! |---|---|
//! | kernels/ | kernels.cu: what cuBLAS does not do; kernels.ptx, made from it by regenerate.py and committed |
//! | device.rs, blas.rs | the driver and cuBLAS, with their failures as typed errors |
//! | plan.rs, shape.rs | which jobs can be done, which models share a sweep, what it takes of the memory |
//! | buffers.rs, step.rs | what a sweep keeps on the device; one step |
//! | sweep.rs, epoch.rs | one sweep: epochs, bookkeeping; the steps of an epoch as one CUDA graph |
//! | probe.rs, selftest.rs, cases.rs | whether there is a usable GPU, and whether its results are right |

mod blas;
mod buffers;
pub mod cases;
mod device;
mod epoch;
mod plan;
mod probe;
pub mod selftest;
mod shape;
mod step;
mod sweep;

pub use device::Scalar;
pub use probe::probe;

use crate::backend::{Backend, BackendError, Fits, Job, Watch};
use crate::error::FitError;
use crate::solvers::Fit;
use device::{Device, Fault};
use sweep::Model;

/// The GPU.
pub struct Cuda {
    name: String,
}

/// The results of a sweep: the index of each trial, and its fit or error.
type Done<T> = Vec<(usize, Result<Fit<T>, FitError>)>;

impl Cuda {
    /// The first GPU, if the [`probe`] finds it usable.
    pub fn open() -> Result<Self, BackendError> {
        Ok(Self { name: format!("cuda ({})", probe()?.name) })
    }

    /// Without asking the probe, because the probe itself trains through this.
    fn unchecked() -> Self {
        Self { name: "cuda".into() }
    }
}

impl<T: Scalar> Backend<T> for Cuda {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn train(&self, job: &Job<'_, T>, watch: &mut Watch<'_>) -> Result<Fits<T>, BackendError> {
        let mut fits: Vec<Option<Result<Fit<T>, FitError>>> = vec![None; job.trials.len()];
        let mut models = Vec::new();
        for (index, start) in starts(job).enumerate() {
            match start {
                Ok(model) => models.push(model),
                Err(wrong) => fits[index] = Some(Err(wrong)),
            }
        }
        if !models.is_empty() {
            plan::check(job, &models)?;
            let device = Device::open::<T>(job.tf32).map_err(Fault::into_error)?;
            let free = device.free().map_err(Fault::into_error)?;
            for sweep in plan::sweeps(job, models, free) {
                for (index, fit) in halves(&device, job, &sweep, free, watch)? {
                    fits[index] = Some(fit);
                }
            }
        }
        // Every trial is either refused above or part of exactly one sweep.
        let lost =
            || Err(FitError::Unsupported { solver: "cuda", why: "the trial was lost; please report this".into() });
        Ok(fits.into_iter().map(|fit| fit.unwrap_or_else(lost)).collect())
    }
}

/// The models of a job, or why one cannot start.
fn starts<T: Scalar>(job: &Job<'_, T>) -> impl Iterator<Item = Result<Model<T>, FitError>> {
    job.trials.iter().enumerate().map(|(index, trial)| {
        let stack = trial.start.clone().stack(job.problem)?;
        job.validation.map_or(Ok(()), |v| v.check_fits(&stack))?;
        Ok(Model { index, adam: trial.adam.clone(), stack })
    })
}

/// Bytes of the device's memory that the largest sweep of a job takes, where memory does not limit it.
pub fn need<T: Scalar>(job: &Job<'_, T>) -> Result<u64, FitError> {
    let models = starts(job).collect::<Result<Vec<_>, _>>()?;
    Ok(plan::sweeps(job, models, u64::MAX).iter().map(|sweep| shape::need(job, sweep)).max().unwrap_or(0))
}

/// One sweep; in two halves if it does not fit into memory, and so on down to single models.
fn halves<T: Scalar>(
    device: &Device,
    job: &Job<'_, T>,
    models: &[Model<T>],
    free: u64,
    watch: &mut Watch<'_>,
) -> Result<Done<T>, BackendError> {
    match sweep::run(device, job, models, watch) {
        Ok(done) => Ok(done),
        Err(Fault::Memory) if models.len() > 1 => {
            let (left, right) = models.split_at(models.len() / 2);
            let mut done = halves(device, job, left, free, watch)?;
            done.extend(halves(device, job, right, free, watch)?);
            Ok(done)
        }
        Err(Fault::Memory) => Err(BackendError::OutOfMemory { need: shape::need(job, models), free }),
        Err(Fault::Other(error)) => Err(error),
    }
}
