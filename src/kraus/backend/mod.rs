//! Where Adam trains: on the processor or on a GPU. A backend takes a whole job and returns fitted models.
//!
//! A [`Job`] is many models of one dataset: a sweep over seeds, ranks and learning rates, each a [`Trial`]. The processor
//! ([`Cpu`]) fits them one after the other by [`Adam`]; a GPU keeps the data resident and takes them through each step
//! together. Both follow the same protocol: the same starts, the same shuffling, the same formula, so that their results
//! differ by rounding only.
//!
//! | file | what |
//! |---|---|
//! | mod.rs | jobs, errors, and [`train`], which picks the backend |
//! | cpu.rs | the processor |
//! | cuda/ | an NVIDIA GPU (feature `cuda`) |

mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;

pub use cpu::Cpu;

use crate::data::problem::Problem;
use crate::error::FitError;
use crate::solvers::{Adam, Fit, Flow, Progress, Start};
use linalg::Real;

/// One model of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial<T> {
    /// The solver and its parameters.
    pub adam: Adam,
    /// Where it starts.
    pub start: Start<T>,
}

/// Many models to be fitted to one dataset.
#[derive(Debug, Clone)]
pub struct Job<'j, T> {
    /// What they are fitted to.
    pub problem: &'j Problem<'j, T>,
    /// Evaluated after each epoch, where given.
    pub validation: Option<&'j Problem<'j, T>>,
    /// The models.
    pub trials: Vec<Trial<T>>,
    /// On a GPU, f32 products may round their factors to TF32: faster, three digits. The processor never does.
    pub tf32: bool,
}

/// Called after each epoch of each trial with the index of the trial and its progress.
pub type Watch<'w> = dyn FnMut(usize, &Progress) -> Flow + 'w;

/// One result per trial, in their order. A trial that diverges does not spoil the others.
pub type Fits<T> = Vec<Result<Fit<T>, FitError>>;

/// A place where models can be trained.
pub trait Backend<T: Real> {
    /// Its name, for messages and provenance.
    fn name(&self) -> String;

    /// Fits all models of a job; an error if the backend cannot do this job at all.
    fn train(&self, job: &Job<'_, T>, watch: &mut Watch<'_>) -> Result<Fits<T>, BackendError>;
}

/// Why there is no GPU to train on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// The program was built without it.
    #[error("this program was built without CUDA; build it with `--features cuda`")]
    NotBuilt,
    /// A library is not installed.
    #[error("{0} was not found; install NVIDIA's driver and the CUDA runtime libraries")]
    Library(&'static str),
    /// The libraries are there, a device is not.
    #[error("the CUDA driver finds no device")]
    NoDevice,
    /// The driver refuses.
    #[error("the CUDA driver fails at {doing}: {code}")]
    Driver {
        /// What was asked of it.
        doing: &'static str,
        /// Its answer.
        code: String,
    },
    /// The libraries cannot be used, a symbol is missing, say.
    #[error("the CUDA libraries cannot be used: {0}")]
    Broken(String),
}

/// Why a backend did not do a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// There is no such device here.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The job is of a kind that this backend does not do.
    #[error("the {backend} backend cannot train this: {why}")]
    Unsupported {
        /// The backend.
        backend: &'static str,
        /// What it is and what would work.
        why: String,
    },
    /// One model alone does not fit into the device's memory.
    #[error(
        "a model and its data need {need} bytes of the device's memory and {free} are free; train on the processor"
    )]
    OutOfMemory {
        /// Bytes that training it takes.
        need: u64,
        /// Bytes that were free.
        free: u64,
    },
    /// The device or its driver failed while training.
    #[error("the device failed at {doing}: {code}; its results are discarded")]
    Device {
        /// What it was doing.
        doing: &'static str,
        /// The driver's answer.
        code: String,
    },
}

/// A GPU that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// Its name.
    pub name: String,
    /// Compute capability, (8, 0) for an A100.
    pub capability: (i32, i32),
    /// Bytes of memory.
    pub memory: u64,
}

/// The GPU, or why there is none. Never panics, and asks the driver once per process.
pub fn probe() -> Result<Gpu, Unavailable> {
    #[cfg(feature = "cuda")]
    return crate::backend::cuda::probe();
    #[cfg(not(feature = "cuda"))]
    Err(Unavailable::NotBuilt)
}

/// Trains the cases of the self-test on the GPU and on the processor. Passes a line about each to `print`: how far the two
/// results are apart, and how long a step takes. Returns whether all agree, or why there is no GPU.
pub fn selftest(print: &mut dyn FnMut(String)) -> Result<bool, BackendError> {
    #[cfg(feature = "cuda")]
    return crate::backend::cuda::selftest::selftest(print);
    #[cfg(not(feature = "cuda"))]
    {
        let _ = print;
        Err(Unavailable::NotBuilt.into())
    }
}

/// Which backend the caller asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Choice {
    /// The GPU where it is usable and can do the job, else the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// The GPU, or an error.
    Cuda,
}

/// The results of a job.
#[derive(Debug, Clone)]
pub struct Trained<T> {
    /// One per trial.
    pub fits: Fits<T>,
    /// The backend that trained.
    pub backend: String,
    /// Why the GPU was not used, where `Auto` fell back.
    pub fell_back: Option<BackendError>,
}

/// A scalar that every backend can train with: `f32` and `f64`.
pub trait Trainable: Real {
    /// The GPU's trainer for this scalar, or why there is none.
    fn cuda() -> Result<Box<dyn Backend<Self>>, BackendError>;
}

macro_rules! trainable {
    ($($scalar:ty),*) => {$(
        impl Trainable for $scalar {
            fn cuda() -> Result<Box<dyn Backend<Self>>, BackendError> {
                #[cfg(feature = "cuda")]
                return Ok(Box::new(crate::backend::cuda::Cuda::open()?));
                #[cfg(not(feature = "cuda"))]
                Err(Unavailable::NotBuilt.into())
            }
        }
    )*};
}
trainable!(f32, f64);

/// Trains a job where `choice` says. `Auto` repeats on the processor what the GPU could not do, and says why.
///
/// ```
/// use kraus::backend::{Choice, Job, Trial, train};
/// use kraus::{AdamParams, Flow, Problem, Start, Stopping};
/// let x = ndarray::Array3::from_shape_fn((32, 3, 3), |(s, i, j)| ((s + i * j + i + j) % 5) as f64);
/// let y = ndarray::Array3::from_elem((32, 1, 1), 1.0);
/// let problem = Problem::matrices(x.view(), y.view()).unwrap();
/// let adam = AdamParams { stopping: Stopping::after(5), ..Default::default() }.check().unwrap();
/// let trial = |rank| Trial { adam: adam.clone(), start: Start::single(3, 1, rank, 7) };
/// let job = Job { problem: &problem, validation: None, trials: vec![trial(1), trial(2)], tf32: false };
/// let done = train(Choice::Cpu, &job, &mut |_, _| Flow::Continue).unwrap();
/// assert_eq!((done.backend.as_str(), done.fits.len()), ("cpu", 2));
/// assert_eq!(done.fits[1].as_ref().unwrap().model.layers()[0].rank(), 2);
/// ```
pub fn train<T: Trainable>(
    choice: Choice,
    job: &Job<'_, T>,
    watch: &mut Watch<'_>,
) -> Result<Trained<T>, BackendError> {
    let on = |backend: &dyn Backend<T>, watch: &mut Watch<'_>| -> Result<Trained<T>, BackendError> {
        Ok(Trained { fits: backend.train(job, watch)?, backend: backend.name(), fell_back: None })
    };
    if choice == Choice::Cpu {
        return on(&Cpu, watch);
    }
    match T::cuda().and_then(|gpu| on(gpu.as_ref(), watch)) {
        Err(why) if choice == Choice::Auto => Ok(Trained { fell_back: Some(why), ..on(&Cpu, watch)? }),
        done => done,
    }
}
