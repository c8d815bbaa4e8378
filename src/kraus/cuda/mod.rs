//! Training on an NVIDIA GPU: many models of one dataset in one sweep. CUDA.md says what has been verified and what not.
//!
//! | file | what |
//! |---|---|
//! | kernels.cu, kernels.ptx | gathering a batch, the residual, Adam; the PTX is made by regenerate.py and committed |
//! | device.rs, blas.rs | the driver and cuBLAS, with their failures as typed errors |
//! | plan.rs | which jobs can be done, and which models share a sweep: by rank, and by memory |
//! | sweep.rs, step.rs | one sweep: epochs, bookkeeping; the buffers and one step |
//! | probe.rs | is there a GPU that can do all this? |
//!
//! Not done here, and refused: stacks of several maps, data that are not symmetric, matrix units.

mod blas;
mod device;
mod plan;
mod probe;
mod step;
mod sweep;

pub use device::Scalar;
pub use probe::probe;

use crate::backend::{Backend, BackendError, Fits, Job, Watch};
use crate::error::FitError;
use crate::solver::Fit;
use device::{Device, Fault};
use sweep::Model;

/// The GPU.
pub struct Cuda {
    name: String,
}

/// What a sweep gives: the index of each of its trials, and what came of it.
type Done<T> = Vec<(usize, Result<Fit<T>, FitError>)>;

impl Cuda {
    /// The first GPU, if the [`probe`] finds it usable.
    pub fn open() -> Result<Self, BackendError> {
        Ok(Self { name: format!("cuda ({})", probe()?.name) })
    }

    /// Without asking the probe, which trains by this itself.
    fn unchecked() -> Self {
        Self { name: "cuda".into() }
    }
}

impl<T: Scalar> Backend<T> for Cuda {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn train(&self, job: &Job<'_, T>, watch: &mut Watch<'_>) -> Result<Fits<T>, BackendError> {
        plan::check(job)?;
        let mut fits: Vec<Option<Result<Fit<T>, FitError>>> = vec![None; job.trials.len()];
        let mut models = Vec::new();
        for (index, trial) in job.trials.iter().enumerate() {
            let start = trial.start.clone().stack(job.problem).and_then(|stack| {
                job.validation.map_or(Ok(()), |v| v.check_fits(&stack))?;
                Ok(stack)
            });
            match start {
                Ok(stack) => models.push(Model { index, adam: trial.adam.clone(), stack }),
                Err(wrong) => fits[index] = Some(Err(wrong)),
            }
        }
        if !models.is_empty() {
            plan::check_models(job, &models)?;
            let device = Device::open::<T>().map_err(Fault::into_error)?;
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
        Err(Fault::Memory) => Err(BackendError::OutOfMemory { need: plan::need(job, models), free }),
        Err(Fault::Other(error)) => Err(error),
    }
}
