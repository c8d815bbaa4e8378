//! What goes wrong: no device, a missing library or symbol, memory, launches. Typed errors, no panic, no leak; `auto` trains
//! on the processor.
//!
//! The probe remembers its answer, so each scenario is a process of its own: this test binary, started again.

use crate::standin::{Load, Standin, open, prepare};
use crate::{go_on, same, with_job};
use kraus::backend::{Choice, Job, train};
use kraus::cuda::cases::Case;
use std::process::Command;

/// Runs `scenario` below in a fresh process; its output.
fn fresh(name: &str, settings: &[(&str, &str)]) -> String {
    // Here and not in the children, which would all build at once.
    if prepare().is_none() {
        return "skipped".into();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "faults::scenario", "--include-ignored", "--nocapture"]).env("SCENARIO", name);
    let done = command.envs(settings.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{name}: {:?}\n{said}\n{errors}", done.status);
    assert!(!errors.contains("panicked"), "{name}: {errors}");
    said
}

/// The child's side. Prints what `auto` and `cuda` did.
#[test]
#[ignore = "started by the other tests, with a scenario"]
fn scenario() {
    let name = std::env::var("SCENARIO").unwrap_or_default();
    let load = match name.as_str() {
        "without cuBLAS" => Load::WithoutBlas,
        "driver without a symbol" => Load::BrokenDriver,
        "cuBLAS without a symbol" => Load::BrokenBlas,
        _ => Load::Whole,
    };
    let Some(standin) = open(load) else { return };
    let one = Case { held: true, masked: true, steps: 6, ..Case::new((3, 2), 9, 4, &[(2, 1)]) };
    let many = Case { models: vec![(2, 1), (3, 2), (2, 3), (1, 4), (2, 5)], ..one.clone() };
    match name.as_str() {
        "memory at each allocation" => {
            with_job(&one, |job| each_allocation(&standin, job, false));
            with_job(&many, |job| each_allocation(&standin, job, true));
        }
        "little memory" => with_job(&many, |job| little_memory(&standin, job)),
        _ => with_job(&one, |job: &Job<'_, f64>| {
            match train(Choice::Cuda, job, &mut go_on) {
                Ok(done) => println!("cuda: trained by {}", done.backend),
                Err(why) => println!("cuda: {why}"),
            }
            let done = train(Choice::Auto, job, &mut go_on).unwrap();
            println!("auto: {} because {:?}", done.backend, done.fell_back.map(|why| why.to_string()));
            assert!(done.fits.iter().all(Result::is_ok));
        }),
    }
    println!("live: {}", standin.live());
}

/// Each allocation of a job fails once: one model gives an error and is trained on the processor, many are retried in halves.
fn each_allocation(standin: &Standin, job: &Job<'_, f64>, retried: bool) {
    let whole = train(Choice::Cuda, job, &mut go_on).unwrap();
    let before = standin.allocations();
    train(Choice::Cuda, job, &mut go_on).unwrap();
    let each = standin.allocations() - before;
    for k in 0..each {
        standin.set("STANDIN_OOM_AT", standin.allocations() + k);
        match train(Choice::Cuda, job, &mut go_on) {
            Ok(done) => assert!(retried && same(&done.fits, &whole.fits), "allocation {k}"),
            Err(why) => assert!(!retried && why.to_string().contains("bytes of the device's memory"), "{k}: {why}"),
        }
        standin.set("STANDIN_OOM_AT", standin.allocations() + k);
        let auto = train(Choice::Auto, job, &mut go_on).unwrap();
        assert_eq!(auto.fell_back.is_none(), retried, "allocation {k}");
        standin.unset("STANDIN_OOM_AT");
        assert_eq!(standin.live(), 0, "allocation {k} leaks");
    }
    println!("failed {each} allocations");
}

/// A driver that promises more than it holds: the sweep is halved until it fits. One that tells the truth: planned to fit.
fn little_memory(standin: &Standin, job: &Job<'_, f64>) {
    let whole = train(Choice::Cuda, job, &mut go_on).unwrap();
    let launches = |memory: i64, promised: Option<i64>| {
        standin.set("STANDIN_MEMORY", memory);
        if let Some(bytes) = promised {
            standin.set("STANDIN_PROMISED", bytes);
        }
        let before = (standin.launches(), standin.refusals());
        let done = train(Choice::Cuda, job, &mut go_on);
        standin.unset("STANDIN_MEMORY");
        standin.unset("STANDIN_PROMISED");
        let refused = standin.refusals() > before.1;
        done.map(|done| (standin.launches() - before.0, same(&done.fits, &whole.fits), refused))
    };
    let (at_once, _, refused) = launches(1 << 20, None).unwrap();
    assert!(!refused);
    let (planned, equal, refused) = launches(8000, None).unwrap();
    assert!(equal && planned > at_once && !refused, "{planned} launches, {at_once} at once, refused: {refused}");
    let (halved, equal, refused) = launches(8000, Some(1 << 30)).unwrap();
    assert!(equal && halved > at_once && refused, "{halved} launches, {at_once} at once, refused: {refused}");
    println!("launches: {at_once} at once, {planned} planned, {halved} halved");
    let why = launches(1000, None).unwrap_err().to_string();
    assert!(why.contains("bytes of the device's memory"), "{why}");
}

#[test]
fn every_way_to_fail_has_its_reason() {
    let table = [
        ("no device", vec![("STANDIN_NO_DEVICE", "1")], "finds no device"),
        ("without cuBLAS", vec![], "libcublas was not found"),
        ("driver without a symbol", vec![], "`cuLaunchKernel` is missing"),
        ("cuBLAS without a symbol", vec![], "`cublasDgemmStridedBatched` is missing"),
        ("cuBLAS out of memory", vec![("STANDIN_BLAS_MEMORY", "0")], "OUT_OF_MEMORY"),
        ("a launch fails in the probe", vec![("STANDIN_FAIL_LAUNCH", "3")], "CUDA_ERROR_LAUNCH_FAILED"),
        ("a launch fails in training", vec![("STANDIN_FAIL_LAUNCH", "80")], "CUDA_ERROR_LAUNCH_FAILED"),
    ];
    for (name, settings, reason) in table {
        let said = fresh(name, &settings);
        if said.contains("skipped") {
            return println!("skipped: no C++ compiler");
        }
        let line = |start: &str| said.lines().find_map(|l| l.split_once(start).map(|(_, rest)| rest)).unwrap_or("");
        assert!(line("cuda: ").contains(reason), "{name}: {said}");
        assert!(line("auto: ").starts_with("cpu because Some") && line("auto: ").contains(reason), "{name}: {said}");
        assert_eq!(line("live: "), "0", "{name}: {said}");
    }
    let well = fresh("nothing is wrong", &[("STANDIN_POOLS", "0"), ("STANDIN_SEED", "7")]);
    assert!(well.contains("cuda: trained by cuda (stand-in)") && well.contains("because None"), "{well}");
}

#[test]
fn memory_fails_at_each_allocation_in_turn() {
    let said = fresh("memory at each allocation", &[]);
    assert!(said.contains("skipped") || said.matches("failed ").count() == 2, "{said}");
}

#[test]
fn a_sweep_that_does_not_fit_is_split() {
    let said = fresh("little memory", &[]);
    assert!(said.contains("skipped") || said.contains("halved"), "{said}");
}
