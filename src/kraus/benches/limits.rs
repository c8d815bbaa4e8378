//! Two questions about cost: how long to an exact fit, and how an epoch grows with l, p, q and r. As JSON lines.
//!
//! `RAYON_NUM_THREADS=1 cargo bench -p kraus --bench limits -- [exact] [exact-large] [scaling]`. Times are CPU milliseconds of
//! the whole process, the least of several runs.

use kraus::simulate::{Recipe, Split};
use kraus::{AdamParams, ClosedForm, Flow, Problem, Session, Solver, Start, Stopping};
use std::time::Instant;

/// CPU milliseconds of this process, all threads.
fn cpu() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    t.tv_sec as f64 * 1e3 + t.tv_nsec as f64 * 1e-6
}

fn row(group: &str, case: &str, milliseconds: f64, more: &str) {
    let threads = rayon::current_num_threads();
    println!(
        "{{\"group\":\"{group}\",\"case\":\"{case}\",\"who\":\"ours\",\"threads\":{threads},\"milliseconds\":{milliseconds:.4}{more}}}"
    );
}

/// From checked data in memory to the first model of the closed form, as the peers are timed from arrays in memory to the
/// first epoch that is good enough; and, as a row of its own, all that a user waits for: the data checked, the fit, and
/// its confirmation on all samples.
fn exact(case: &str, p: usize, q: usize, rank: usize, runs: usize) {
    let recipe = Recipe { p, q, rank, noise: 0.0, seed: 1 };
    let (train, test) = (recipe.samples::<f64>(Split::Train, 0..10000), recipe.samples::<f64>(Split::Test, 0..1000));
    let test = Problem::matrices(test.x.view(), test.y.view()).expect("valid data");
    let mut least = [(f64::INFINITY, f64::NAN); 2];
    for run in 0..2 * runs {
        let whole = cpu();
        let problem = Problem::matrices(train.x.view(), train.y.view()).expect("valid data");
        let begun = if run % 2 == 0 { cpu() } else { whole };
        let mut took = None;
        let mut watch = |_: &kraus::Progress| {
            took.get_or_insert(cpu() - begun);
            if run % 2 == 0 { Flow::Cancel } else { Flow::Continue }
        };
        let mut session = Session { validation: None, watch: Some(&mut watch) };
        let fit = ClosedForm.fit_with(&problem, Start::single(p, q, rank, 1), &mut session);
        let fit = fit.expect("the data determine the map");
        let took = if run % 2 == 0 { took.unwrap_or(f64::NAN) } else { cpu() - begun };
        let best = &mut least[run % 2];
        *best = (best.0.min(took), fit.model.mse(&test).expect("shapes fit"));
    }
    for ((took, mse), what) in least.into_iter().zip(["", ", data checked and all samples confirmed"]) {
        row("to test MSE 1e-6", &format!("{case}{what}"), took, &format!(",\"mse\":{mse:e}"));
    }
}

/// The least CPU time of an epoch.
fn epoch(l: usize, p: usize, q: usize, rank: usize) -> f64 {
    let data = Recipe { p, q, rank: 2, noise: 0.0, seed: 1 }.samples::<f32>(Split::Train, 0..l);
    let problem = Problem::matrices(data.x.view(), data.y.view()).expect("valid data");
    let adam = AdamParams { stopping: Stopping::after(1000), rate: 1e-4, ..Default::default() }.check().expect("valid");
    let (mut least, mut last, mut epochs, begun) = (f64::INFINITY, cpu(), 0, Instant::now());
    let mut watch = |_: &kraus::Progress| {
        (least, epochs) = (least.min(cpu() - last), epochs + 1);
        last = cpu();
        if begun.elapsed().as_secs_f64() > 0.4 && epochs >= 4 { Flow::Cancel } else { Flow::Continue }
    };
    let mut session = Session { validation: None, watch: None };
    session.watch = Some(&mut watch);
    adam.fit_with(&problem, Start::single(p, q, rank, 0), &mut session).expect("converges");
    least
}

/// The slope of log y over log x.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs = points.iter().map(|&(x, y)| (x.ln(), y.ln())).collect::<Vec<_>>();
    let n = logs.len() as f64;
    let mean = |f: fn(&(f64, f64)) -> f64| logs.iter().map(f).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    logs.iter().map(|(x, y)| (x - mx) * (y - my)).sum::<f64>() / logs.iter().map(|(x, _)| (x - mx).powi(2)).sum::<f64>()
}

/// One size over a decade, the others fixed. Expected is what l r q p (p + 1.5 q) gives over the same points: the
/// products W X, half of (W X) W^T, and D (W X). Where times grow otherwise the reason is printed: data that leave a cache
/// at large sizes, or work besides products (shuffling, moving samples into lanes, Adam) that shows at small ones.
fn scaling() {
    let base = [2000usize, 20, 20, 10];
    for (index, name) in ["l", "p", "q", "r"].into_iter().enumerate() {
        let from = [1000, 10, 10, 4][index];
        let (mut times, mut costs) = (Vec::new(), Vec::new());
        for factor in [1.0, 1.8, 3.2, 5.6, 10.0] {
            let mut at = base;
            at[index] = (f64::from(from) * factor).round() as usize;
            // The larger sizes need fewer samples to be measured, and time per sample is what is compared.
            let l = if index == 0 { at[0] } else { 320 };
            let [_, p, q, r] = at;
            let per = if index == 0 { 1.0 } else { l as f64 };
            let ms = epoch(l, p, q, r);
            row("scaling", &format!("{name} = {}", at[index]), ms, "");
            times.push((at[index] as f64, ms / per));
            let cost = (r * q * p) as f64 * (p as f64 + 1.5 * q as f64);
            costs.push((at[index] as f64, if index == 0 { l as f64 } else { cost }));
        }
        let (got, expected) = (exponent(&times), exponent(&costs));
        let why = match got - expected {
            gap if gap > 0.1 => "slower at large sizes: the data leave a cache",
            gap if gap < -0.1 => "what a step does besides products weighs more at small sizes",
            _ => "as the products",
        };
        eprintln!("time grows as {name}^{got:.2}, multiply-adds as {name}^{expected:.2}: {why}");
    }
}

fn main() {
    let args = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect::<Vec<_>>();
    let wanted = |name: &str| args.is_empty() || args.iter().any(|a| a == name);
    if wanted("exact") {
        exact("S1", 20, 10, 5, 5);
    }
    if wanted("exact-large") {
        exact("S3, l = 10000", 100, 40, 20, 2);
    }
    if wanted("scaling") {
        scaling();
    }
}
