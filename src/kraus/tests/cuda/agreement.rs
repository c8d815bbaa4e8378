//! The GPU's trainer equals the processor's, to rounding, over shapes, ranks, seeds, masks, depths and clamps; and refuses
//! what it cannot do.

use crate::standin::{Load, Standin, open};
use crate::{go_on, on_gpu, same, with_job};
use kraus::backend::{Backend, BackendError, Choice, Cpu, Job, Trainable, Trial, train};
use kraus::cuda::Scalar;
use kraus::cuda::cases::{Case, Kind, cases};
use kraus::cuda::selftest::{F32, F64, compare, selftest};
use kraus::{AdamParams, Architecture, Flow, Gamma, Inputs, KrausMap, Problem, Stack, Start, Stop, Stopping};

fn agree<T: Trainable + Scalar>(standin: &Standin, tolerance: f64) {
    for (name, case) in &cases() {
        let apart = with_job::<T, _>(case, |job| {
            compare(&on_gpu(job), &Cpu.train(job, &mut go_on).unwrap()).unwrap_or_else(|why| panic!("{name}: {why}"))
        });
        println!("{name}: losses differ by {:.1e}, parameters by {:.1e}", apart.losses, apart.parameters);
        assert!(apart.losses <= tolerance && apart.parameters <= tolerance, "{name}: {apart:?}");
    }
    assert_eq!(standin.live(), 0, "leaked");
}

#[test]
fn fifty_steps_agree_in_f32() {
    let Some(standin) = open(Load::Whole) else { return };
    agree::<f32>(&standin, F32);
}

#[test]
fn fifty_steps_agree_in_f64() {
    let Some(standin) = open(Load::Whole) else { return };
    agree::<f64>(&standin, F64);
}

/// What `repro doctor --gpu-selftest` runs.
#[test]
fn the_self_test_is_well() {
    let Some(_standin) = open(Load::Whole) else { return };
    let mut lines = Vec::new();
    assert!(selftest(&mut |line| lines.push(line)).unwrap(), "{lines:#?}");
    let ends = |text: &str| lines.iter().any(|line| line.ends_with(text));
    assert!(lines[0].starts_with("stand-in, sm_86") && ends("66 of 66 well"), "{lines:#?}");
    assert!(lines.last().unwrap().starts_with("time S1"), "{lines:#?}");
}

/// Vanishing singular values leave U and V a choice of basis. Gamma depends on none, so both train the same model.
#[test]
fn a_clamp_of_rank_deficient_matrices_trains() {
    let Some(_standin) = open(Load::Whole) else { return };
    let case = Case { gamma: Gamma::Clamp(1e-3), dims: vec![6, 5, 3], ..Case::new((1, 1), 20, 4, &[(2, 1)]) };
    for kind in [Kind::Units, Kind::General] {
        let (gpu, cpu) = with_job::<f64, _>(&Case { kind, steps: 200, ..case.clone() }, |job| {
            (on_gpu(job), Cpu.train(job, &mut go_on).unwrap())
        });
        let losses = [&gpu[0], &cpu[0]].map(|fit| fit.as_ref().unwrap().history.loss.clone());
        for loss in &losses {
            assert!(loss[loss.len() - 1] < 0.97 * loss[0], "{losses:?}");
        }
        let apart = compare(&gpu, &cpu).unwrap();
        assert!(apart.losses < 1e-8 && apart.parameters < 1e-8, "{apart:?}");
    }
}

/// The singular values of Gamma's output do not depend on that choice: with the identity after it and zero targets the loss
/// is the sum of their squares.
#[test]
fn a_clamp_of_rank_deficient_matrices_raises_every_value() {
    let Some(_standin) = open(Load::Whole) else { return };
    let case = Case { kind: Kind::Units, batch: 20, steps: 1, ..Case::new((6, 5), 20, 20, &[(2, 1)]) };
    with_job::<f64, _>(&case, |job| {
        let zero = job.problem.targets().mapv(|_| 0.0);
        let Inputs::Units { pairs, .. } = job.problem.inputs() else { panic!("units") };
        let problem = Problem::units(6, pairs.clone(), zero.view()).unwrap();
        let identity = KrausMap::new(ndarray::Array2::eye(5).insert_axis(ndarray::Axis(0))).unwrap();
        let layers = vec![KrausMap::glorot(2, 5, 6, 1).unwrap(), identity];
        let start = Start::Given(Stack::new(layers, Gamma::Clamp(0.5)).unwrap());
        let trials = vec![Trial { start, ..job.trials[0].clone() }];
        let job = Job { problem: &problem, trials, ..job.clone() };
        let losses =
            [on_gpu(&job), Cpu.train(&job, &mut go_on).unwrap()].map(|f| f[0].as_ref().unwrap().history.loss[0]);
        assert!((losses[0] - losses[1]).abs() < 1e-12 * losses[1], "{losses:?}");
        // Three of five values vanish and are raised to a half.
        assert!(losses[1] > 3.0 * 0.25 / 25.0, "{losses:?}");
    });
}

/// An epoch as a graph gives the bits that its steps give one by one, and fewer launches.
#[test]
fn graphs_change_nothing() {
    let Some(standin) = open(Load::Whole) else { return };
    let case = Case { held: true, masked: true, ..Case::new((5, 3), 17, 4, &[(2, 1), (3, 2)]) };
    let clamped = Case { dims: vec![5, 4, 3], gamma: Gamma::Clamp(0.2), kind: Kind::General, ..case.clone() };
    <f32 as Trainable>::cuda().unwrap(); // the probe, which replays graphs too
    for case in [case, clamped] {
        with_job::<f32, _>(&case, |job| {
            let (replays, launches) = (standin.replays(), standin.launches());
            let graph = on_gpu(job);
            assert_eq!(standin.replays() - replays, 9, "ten epochs, of which the first is not recorded");
            let recorded = standin.launches() - launches;
            standin.set("STANDIN_NO_GRAPH", 1);
            let plain = on_gpu(job);
            standin.unset("STANDIN_NO_GRAPH");
            assert!(same(&graph, &plain));
            assert!(standin.launches() - launches - recorded > 2 * recorded);
        });
    }
    assert_eq!(standin.live(), 0, "leaked");
}

/// Rates so large that the validation loss bounces: the best epoch is not the last, and each model gets its own.
#[test]
fn best_epochs_are_kept() {
    let Some(_standin) = open(Load::Whole) else { return };
    with_job::<f64, _>(&Case { held: true, ..Case::new((5, 3), 18, 7, &[(2, 1), (3, 2), (2, 3), (3, 4)]) }, |job| {
        let mut trials = job.trials.clone();
        for (trial, rate) in trials.iter_mut().zip([0.02, 0.05, 0.1, 0.2]) {
            let stopping = Stopping::after(30);
            trial.adam =
                AdamParams { rate, stopping, batch: 7, keep_best: true, ..AdamParams::default() }.check().unwrap();
        }
        let job = Job { trials, ..job.clone() };
        let (gpu, cpu) = (on_gpu(&job), Cpu.train(&job, &mut go_on).unwrap());
        let apart = compare(&gpu, &cpu).unwrap();
        assert!(apart.losses < 1e-9 && apart.parameters < 1e-9, "{apart:?}");
        let epochs = cpu.iter().map(|fit| fit.as_ref().unwrap().history.model_epoch).collect::<Vec<_>>();
        assert!(epochs[1..].iter().any(|&epoch| epoch < 30), "{epochs:?}");
    });
}

/// TF32 is used where it is asked for and nowhere else: three digits agree, not seven.
#[test]
fn tf32_is_what_it_says() {
    let Some(_standin) = open(Load::Whole) else { return };
    with_job::<f32, _>(&Case::new((6, 3), 20, 5, &[(2, 1)]), |job| {
        let rounded = on_gpu(&Job { tf32: true, ..job.clone() });
        let apart = compare(&rounded, &Cpu.train(job, &mut go_on).unwrap()).unwrap();
        assert!((1e-5..1e-2).contains(&apart.losses) && (1e-6..1e-2).contains(&apart.parameters), "{apart:?}");
    });
}

/// What the kernels do not do is refused by name, and `auto` does it on the processor.
#[test]
fn what_it_cannot_do_is_refused() {
    let Some(_standin) = open(Load::Whole) else { return };
    let refused = |job: &Job<'_, f64>, says: &str| {
        let error = train(Choice::Cuda, job, &mut go_on).unwrap_err();
        assert!(matches!(error, BackendError::Unsupported { .. }) && error.to_string().contains(says), "{error}");
        let done = train(Choice::Auto, job, &mut go_on).unwrap();
        assert_eq!((done.backend.as_str(), done.fell_back), ("cpu", Some(error)));
        assert!(done.fits.iter().all(Result::is_ok));
    };
    with_job::<f64, _>(&Case { steps: 1, ..Case::new((2, 2), 1, 1, &[(1, 0)]) }, |job| {
        let wide = Start::Random { arch: Architecture::deep(&[2, 513, 2], 1, Gamma::Clamp(1e9)), seed: 1 };
        let trials = vec![Trial { start: wide, ..job.trials[0].clone() }];
        refused(&Job { trials, ..job.clone() }, "512 rows");
        let units = Problem::units(2, vec![(0, 1)], job.problem.targets()).unwrap();
        refused(&Job { validation: Some(&units), ..job.clone() }, "matrix units in one job");
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
        let apart = compare(&gpu[2..].to_vec(), &cpu[2..].to_vec()).unwrap();
        assert!(apart.losses < 1e-11 && apart.parameters < 1e-11, "{apart:?}");
    });
}

/// Models of other sizes, clamps and batches in one job: each sweep is one of its own, and results keep their places.
#[test]
fn a_job_of_all_kinds() {
    let Some(_standin) = open(Load::Whole) else { return };
    with_job::<f64, _>(&Case::new((4, 3), 12, 5, &[(1, 1), (9, 1)]), |job| {
        let mut trials = job.trials.clone();
        for (dims, gamma) in
            [(vec![4, 2, 3], Gamma::None), (vec![4, 2, 3], Gamma::Clamp(0.1)), (vec![4, 5, 3], Gamma::None)]
        {
            let start = Start::Random { arch: Architecture::deep(&dims, 2, gamma), seed: 4 };
            trials.push(Trial { start, ..trials[0].clone() });
        }
        let odd = AdamParams { batch: 3, stopping: Stopping::after(3), ..AdamParams::default() }.check().unwrap();
        trials.insert(1, Trial { adam: odd, ..trials[0].clone() });
        let job = Job { trials, ..job.clone() };
        let apart = compare(&on_gpu(&job), &Cpu.train(&job, &mut go_on).unwrap()).unwrap();
        assert!(apart.losses < 1e-11 && apart.parameters < 1e-11, "{apart:?}");
    });
}

/// Completion trains through the same backend as regression: blocks of a partial matrix, with a mask, at depth 1 and 2.
#[test]
fn a_completion_trains_on_the_gpu() {
    use kraus::completion::{CompletionParams, Partial, complete_by, complete_with};
    let Some(_standin) = open(Load::Whole) else { return };
    let truth = KrausMap::<f64>::glorot(2, 3, 4, 9).unwrap().choi().matrix().to_owned();
    let mask = kraus::Mask::new(ndarray::Array2::from_shape_fn((12, 12), |(i, j)| (i * j + i + j) % 4 != 1));
    let partial = Partial::new(truth.view(), &mask).unwrap();
    let adam =
        AdamParams { stopping: Stopping::after(20), batch: 4, rate: 0.01, ..AdamParams::default() }.check().unwrap();
    for gamma in [Gamma::None, Gamma::Clamp(0.05)] {
        for model in [CompletionParams::single(4, 3, 2), CompletionParams::deep(4, 3, 6, 2, gamma)] {
            let gpu = complete_by::<f64, kraus::FitError>(&partial, &model, |problem, start| {
                let trials = vec![Trial { adam: adam.clone(), start }];
                let done =
                    train(Choice::Cuda, &Job { problem, validation: None, trials, tf32: false }, &mut go_on).unwrap();
                assert!(done.backend.starts_with("cuda"), "{}", done.backend);
                done.fits.into_iter().next().unwrap()
            });
            let cpu = complete_with::<f64>(&partial, &model, &adam).unwrap();
            let apart = (&gpu.unwrap().prediction - &cpu.prediction).iter().fold(0.0f64, |m, v| m.max(v.abs()));
            assert!(apart < 1e-9, "{model:?}: {apart:e}");
        }
    }
}
