//! What the plan says a sweep takes is what it takes.

use crate::standin::{Load, open};
use crate::{on_gpu, with_job};
use kraus::cuda::cases::cases;

/// The difference allowed: each of the many buffers that a case does not need is one scalar.
const SLACK: i64 = 200;

#[test]
fn the_plan_knows_what_a_sweep_takes() {
    let Some(standin) = open(Load::Whole) else { return };
    let first = cases().remove(0).1;
    with_job::<f64, _>(&first, on_gpu); // the probe, whose own training is larger
    for (name, case) in cases() {
        with_job::<f64, _>(&case, |job| {
            standin.peak();
            on_gpu(job);
            let (planned, taken) = (kraus::cuda::need(job).unwrap() as i64, standin.peak());
            println!("{name}: planned {planned}, took {taken}");
            assert!((planned..=planned + SLACK).contains(&taken), "{name}: planned {planned}, took {taken}");
        });
    }
}
