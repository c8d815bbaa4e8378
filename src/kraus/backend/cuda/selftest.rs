//! Checks that a GPU trains as the processor does, and measures how fast. The output is meant to be sent as a report.

use super::cases::{Case, cases, with_job};
use super::{Cuda, Scalar};
use crate::backend::{Backend, BackendError, Cpu, Fits, Job};
use crate::solvers::{Flow, History, Progress};

/// The largest relative differences between two results.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The difference of a loss.
    pub losses: f64,
    /// The difference of the parameters as vectors.
    pub parameters: f64,
}

/// What the self-test accepts in f32; cuBLAS adds up in another order than the processor.
pub const F32: f64 = 1e-5;
/// What the self-test accepts in f64.
pub const F64: f64 = 1e-11;

/// Compares the fits of one job. `Err` says what differs that may not: a stop, an epoch, a length, an error.
pub fn compare<T: Scalar>(gpu: &Fits<T>, cpu: &Fits<T>) -> Result<Difference, String> {
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    let mut found = Difference { losses: 0.0, parameters: 0.0 };
    for (model, (g, c)) in gpu.iter().zip(cpu).enumerate() {
        let (g, c) = match (g, c) {
            (Ok(g), Ok(c)) => (g, c),
            (g, c) => return Err(format!("model {model}: {:?} for {:?}", g.as_ref().err(), c.as_ref().err())),
        };
        let facts = |h: &History| (h.stop, h.model_epoch, h.loss.len(), h.validation.len());
        if facts(&g.history) != facts(&c.history) || g.model.architecture() != c.model.architecture() {
            return Err(format!("model {model}: {:?} for {:?}", facts(&g.history), facts(&c.history)));
        }
        let all = |h: &History| [h.loss.clone(), h.validation.clone()].concat();
        for (a, b) in all(&g.history).into_iter().zip(all(&c.history)) {
            let off = (a - b).abs() / b.abs().max(f64::MIN_POSITIVE);
            found.losses = if off.is_nan() { f64::INFINITY } else { found.losses.max(off) };
        }
        let (a, b) = (g.model.to_vec(), c.model.to_vec());
        let difference = norm(&mut a.iter().zip(&b).map(|(a, b)| a.as_f64() - b.as_f64()));
        let off = difference / norm(&mut b.iter().map(|x| x.as_f64()));
        found.parameters = if off.is_nan() { f64::INFINITY } else { found.parameters.max(off) };
    }
    if gpu.len() == cpu.len() { Ok(found) } else { Err(format!("{} fits for {}", gpu.len(), cpu.len())) }
}

/// Trains on the GPU without asking the probe.
fn on_gpu<T: Scalar>(job: &Job<'_, T>) -> Result<Fits<T>, BackendError> {
    Cuda::unchecked().train(job, &mut |_: usize, _: &Progress| Flow::Continue)
}

/// Trains one case on both. Returns whether the results agree, and a line about it.
fn one<T: Scalar>(name: &str, case: &Case, tolerance: f64) -> Result<(bool, String), BackendError> {
    let said = with_job::<T, Result<(bool, String), BackendError>>(case, |job| {
        let (gpu, again) = (on_gpu(job)?, on_gpu(job)?);
        let cpu = Cpu.train(job, &mut |_, _| Flow::Continue)?;
        let found = compare(&gpu, &cpu).and_then(|difference| match compare(&again, &gpu) {
            Ok(Difference { losses: 0.0, parameters: 0.0 }) => Ok(difference),
            other => Err(format!("trained again, it gives another result: {other:?}")),
        });
        Ok(match found {
            Ok(Difference { losses, parameters }) => {
                let well = losses <= tolerance && parameters <= tolerance;
                (well, format!("losses differ by {losses:.1e}, parameters by {parameters:.1e}"))
            }
            Err(why) => (false, why),
        })
    });
    let (well, said) = said.unwrap_or_else(|e| Ok((false, e.to_string())))?;
    Ok((well, format!("{} {name}, {}: {said}", if well { "ok    " } else { "WRONG " }, T::NAME)))
}

/// Microseconds of a step of `models` models of rank r from p x p to q x q, batches of 16, as the epochs after the first
/// two take.
fn step_time((p, q): (usize, usize), rank: usize, models: u64, tf32: bool) -> Result<Option<f64>, BackendError> {
    let models = (0..models).map(|seed| (rank, seed)).collect::<Vec<_>>();
    let case = Case { steps: 60, ..Case::new((p, q), 160, 16, &models) };
    let fits = with_job::<f32, _>(&case, |job| on_gpu(&Job { tf32, ..job.clone() }));
    let Ok(fits) = fits else { return Ok(None) };
    let seconds = fits?.into_iter().next().and_then(Result::ok).map(|fit| fit.history.seconds);
    Ok(seconds.filter(|s| s.len() > 2).map(|s| (s[s.len() - 1] - s[1]) / (10 * (s.len() - 2)) as f64 * 1e6))
}

/// All cases in f32 and f64, then the times of steps; each line is printed as soon as it is known. Returns
/// whether all results agree.
pub fn selftest(print: &mut dyn FnMut(String)) -> Result<bool, BackendError> {
    let gpu = super::probe()?;
    let ((major, minor), megabytes) = (gpu.capability, gpu.memory >> 20);
    print(format!("{}, sm_{major}{minor}, {megabytes} MB, kernels {}", gpu.name, super::device::fingerprint()));
    let (mut wrong, mut all) = (0, 0);
    for (name, case) in cases() {
        for (well, line) in [one::<f32>(name, &case, F32)?, one::<f64>(name, &case, F64)?] {
            wrong += usize::from(!well);
            all += 1;
            print(line);
        }
    }
    print(format!("{} of {all} well", all - wrong));
    let shapes = [
        ("S1, 20 -> 10, rank 20", (20, 10), 20, 1),
        ("S1, ten models", (20, 10), 20, 10),
        ("S3, 100 -> 40, rank 20", (100, 40), 20, 1),
        ("S3, 100 -> 40, rank 100", (100, 40), 100, 1),
    ];
    for (name, sizes, rank, models) in shapes {
        let Some(full) = step_time(sizes, rank, models, false)? else { continue };
        if full > 2000.0 {
            print(format!("time {name}: {full:.0} us per step, as no GPU would take; larger ones not timed"));
            break;
        }
        let tf32 = step_time(sizes, rank, models, true)?.map_or(String::new(), |t| format!(", {t:.0} us with --tf32"));
        print(format!("time {name}: {full:.0} us per step{tf32}"));
    }
    Ok(wrong == 0)
}
