//! The GPU's trainer equals the processor's, to rounding, over shapes, ranks, seeds, masks; and refuses what it cannot do.

use crate::standin::{Load, open};
use crate::{Case, with_job};
use kraus::backend::{Backend, BackendError, Choice, Cpu, Fits, Job, Trainable, Trial, train};
use kraus::{AdamParams, Architecture, Flow, Gamma, Problem, Start, Stop, Stopping};
use linalg::Real;

fn cases() -> Vec<(&'static str, Case)> {
    let masked = |case: Case| Case { masked: true, ..case };
    let held = |case: Case| Case { held: true, ..case };
    vec![
        ("one of everything", Case::new((1, 1), 1, 1, &[(1, 0)])),
        ("q < p, batch divides l", Case::new((6, 3), 20, 5, &[(2, 1)])),
        ("q > p, batch does not divide l", Case::new((3, 7), 23, 8, &[(2, 1)])),
        ("rank 1", Case::new((5, 4), 19, 6, &[(1, 2)])),
        ("rank 100", Case::new((4, 3), 12, 5, &[(100, 2)])),
        ("batch larger than l", Case::new((5, 2), 7, 16, &[(3, 0)])),
        ("several models, one order", Case::new((5, 3), 17, 4, &[(2, 9), (2, 9), (2, 9)])),
        ("several models, several orders", Case::new((5, 3), 17, 4, &[(2, 1), (2, 2), (2, 3)])),
        ("mixed ranks, one order", Case::new((4, 5), 14, 4, &[(3, 7), (1, 7), (2, 7)])),
        ("mixed ranks, several orders", Case::new((4, 5), 14, 4, &[(3, 1), (5, 2), (4, 1), (1, 3)])),
        ("mask", masked(Case::new((4, 4), 21, 6, &[(2, 3)]))),
        ("mask, validation, several models", masked(held(Case::new((6, 4), 33, 16, &[(2, 3), (3, 4)])))),
        ("validation, best epoch", Case { keep_best: true, ..held(Case::new((5, 3), 18, 7, &[(4, 1), (3, 1)])) }),
        ("wider than a block of threads", Case { steps: 10, ..Case::new((17, 18), 9, 5, &[(2, 1)]) }),
    ]
}

fn relative(a: f64, b: f64) -> f64 {
    (a - b).abs() / b.abs().max(f64::MIN_POSITIVE)
}

/// The largest relative differences: of a loss, of the parameters as vectors.
fn differences<T: Real>(gpu: &Fits<T>, cpu: &Fits<T>) -> (f64, f64) {
    assert_eq!(gpu.len(), cpu.len());
    let (mut losses, mut parameters) = (0.0f64, 0.0f64);
    for (g, c) in gpu.iter().zip(cpu) {
        let (g, c) = (g.as_ref().unwrap(), c.as_ref().unwrap());
        assert_eq!((g.history.stop, g.history.model_epoch), (c.history.stop, c.history.model_epoch));
        assert_eq!(g.history.validation.len(), c.history.validation.len());
        assert_eq!(g.history.loss.len(), c.history.loss.len());
        let all = |h: &kraus::History| [h.loss.clone(), h.validation.clone()].concat();
        for (a, b) in all(&g.history).into_iter().zip(all(&c.history)) {
            losses = losses.max(relative(a, b));
        }
        assert_eq!(g.model.architecture(), c.model.architecture());
        let square = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let (a, b) = (g.model.to_vec(), c.model.to_vec());
        let apart = a.iter().zip(&b).map(|(a, b)| a.as_f64() - b.as_f64()).collect::<Vec<_>>();
        parameters = parameters.max(square(&apart) / square(&b.iter().map(|x| x.as_f64()).collect::<Vec<_>>()));
    }
    (losses, parameters)
}

fn compare<T: Trainable>(name: &str, case: &Case, tolerance: f64) {
    with_job::<T, _>(case, |job| {
        let watch = &mut |_: usize, _: &kraus::Progress| Flow::Continue;
        let gpu = T::cuda().unwrap().train(job, watch).unwrap();
        let cpu = Cpu.train(job, watch).unwrap();
        let (losses, parameters) = differences(&gpu, &cpu);
        println!("{name}: losses differ by {losses:.1e}, parameters by {parameters:.1e}");
        assert!(losses <= tolerance && parameters <= tolerance, "{name}: {losses:e} {parameters:e}");
    });
}

#[test]
fn fifty_steps_agree_in_f32() {
    let Some(standin) = open(Load::Whole) else { return };
    cases().iter().for_each(|(name, case)| compare::<f32>(name, case, 1e-5));
    assert_eq!(standin.live(), 0, "leaked");
}

#[test]
fn fifty_steps_agree_in_f64() {
    let Some(standin) = open(Load::Whole) else { return };
    cases().iter().for_each(|(name, case)| compare::<f64>(name, case, 1e-11));
    assert_eq!(standin.live(), 0, "leaked");
}

/// What the kernels do not do is refused by name, and `auto` does it on the processor.
#[test]
fn what_it_cannot_do_is_refused() {
    let Some(_standin) = open(Load::Whole) else { return };
    let refused = |job: &Job<'_, f64>, says: &str| {
        let watch = &mut |_: usize, _: &kraus::Progress| Flow::Continue;
        let error = train(Choice::Cuda, job, watch).unwrap_err();
        assert!(matches!(error, BackendError::Unsupported { .. }) && error.to_string().contains(says), "{error}");
        let done = train(Choice::Auto, job, watch).unwrap();
        assert_eq!((done.backend.as_str(), done.fell_back), ("cpu", Some(error)));
        assert!(done.fits.iter().all(Result::is_ok));
    };
    with_job::<f64, _>(&Case::new((3, 2), 6, 3, &[(1, 0)]), |job| {
        let deep = Start::Random { arch: Architecture::deep(&[3, 3, 2], 1, Gamma::None), seed: 1 };
        let trials = vec![job.trials[0].clone(), Trial { start: deep, ..job.trials[0].clone() }];
        refused(&Job { trials, ..job.clone() }, "2 maps");
        let mut x = job.problem.targets().to_owned();
        x[(0, 0, 1)] += 1.0;
        let lopsided = Problem::matrices(x.view(), job.problem.targets()).unwrap();
        let trials = vec![Trial { start: Start::single(2, 2, 1, 1), ..job.trials[0].clone() }];
        refused(&Job { problem: &lopsided, validation: None, trials: trials.clone() }, "not symmetric");
        let units = Problem::units(2, vec![(0, 0), (1, 1)], job.problem.targets().slice_move(ndarray::s![..2, .., ..]));
        refused(&Job { problem: &units.unwrap(), validation: None, trials }, "matrix units");
    });
}

/// A trial that cannot start, one that diverges and one that is stopped do not spoil the others.
#[test]
fn models_end_one_by_one() {
    let Some(_standin) = open(Load::Whole) else { return };
    with_job::<f64, _>(&Case::new((4, 3), 12, 5, &[(2, 1), (2, 2), (2, 3), (2, 4)]), |job| {
        let mut trials = job.trials.clone();
        trials[0].start = Start::single(9, 9, 1, 1);
        let wild = AdamParams { rate: 1e200, stopping: Stopping::after(17), batch: 5, ..AdamParams::default() };
        trials[1].adam = wild.check().unwrap();
        let job = Job { trials, ..job.clone() };
        let watch = &mut |trial: usize, now: &kraus::Progress| {
            if trial == 2 && now.epoch == 4 { Flow::Cancel } else { Flow::Continue }
        };
        let gpu = <f64 as Trainable>::cuda().unwrap().train(&job, watch).unwrap();
        let cpu = Cpu.train(&job, watch).unwrap();
        assert_eq!(gpu[0].as_ref().unwrap_err(), cpu[0].as_ref().unwrap_err());
        assert!(matches!(gpu[1], Err(kraus::FitError::Diverged { .. })), "{:?}", gpu[1]);
        assert_eq!(
            (gpu[2].as_ref().unwrap().history.stop, gpu[2].as_ref().unwrap().history.loss.len()),
            (Stop::Cancelled, 4)
        );
        let (losses, parameters) = differences(&gpu[2..].to_vec(), &cpu[2..].to_vec());
        assert!(losses < 1e-11 && parameters < 1e-11, "{losses:e} {parameters:e}");
    });
}
