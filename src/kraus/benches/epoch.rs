//! Milliseconds per Adam epoch on the scenarios that the peers run too (S1 to S6c), one and two threads, f32.
//!
//! `RAYON_NUM_THREADS=1 cargo bench -p kraus --bench epoch -- [--json] [S1 S2 ...]`; `20x10-r50-l1000` times one map of
//! another size, rank and number of samples. BUDGET is the seconds for each. The least of several epochs is printed beside the median:
//! on a shared machine the least is the honest figure. CPU time is that of the whole process.

use kraus::{AdamParams, Architecture, Flow, Gamma, KrausMap, Mask, Problem, Session, Solver, Start, Stopping};
use ndarray::{Array3, Ix3};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use std::time::Instant;

struct Scenario {
    name: &'static str,
    dims: &'static [usize],
    rank: usize,
    samples: usize,
    gamma: Gamma,
    completion: bool,
}

const fn scenario(name: &'static str, dims: &'static [usize], rank: usize, samples: usize) -> Scenario {
    Scenario { name, dims, rank, samples, gamma: Gamma::None, completion: false }
}

const SCENARIOS: [Scenario; 8] = [
    scenario("S1", &[20, 10], 5, 10000),
    scenario("S2", &[20, 10], 20, 10000),
    scenario("S3", &[100, 40], 20, 1000),
    scenario("S4", &[22, 22], 20, 230),
    Scenario { gamma: Gamma::Clamp(0.1), ..scenario("S5", &[20, 15, 10], 20, 1000) },
    Scenario { completion: true, ..scenario("S6a", &[20, 10], 50, 400) },
    Scenario { completion: true, ..scenario("S6b", &[20, 15, 10], 50, 400) },
    Scenario { completion: true, gamma: Gamma::Clamp(0.1), ..scenario("S6c", &[20, 15, 10], 50, 400) },
];

/// CPU seconds of this process, all threads.
fn cpu_seconds() -> f64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

fn data(s: &Scenario) -> (Array3<f32>, Vec<(usize, usize)>, Array3<f32>, Mask<Ix3>) {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let (p, q) = (s.dims[0], s.dims[s.dims.len() - 1]);
    let mut normal = |shape| Array3::<f32>::from_shape_simple_fn(shape, || StandardNormal.sample(&mut rng));
    let ops = normal((if s.completion { 5 } else { s.rank }, q, p));
    let largest = ops.iter().fold(0.0f32, |m, v| m.max(v.abs()));
    let truth = KrausMap::new(ops / largest).expect("finite operators");
    if !s.completion {
        let g = normal((s.samples, p, p));
        let mut x = g.clone();
        for (mut x, g) in x.outer_iter_mut().zip(g.outer_iter()) {
            x.assign(&linalg::symmetrise(g.t().dot(&g).view()));
        }
        let mut y = truth.apply_batch(x.view()).expect("shapes fit");
        for mut y in y.outer_iter_mut() {
            let half = linalg::symmetrise(y.view());
            y.assign(&half);
        }
        return (x, Vec::new(), y, Mask::new(Array3::from_elem((0, q, q), true)));
    }
    let pairs = (0..s.samples).map(|n| (n / p, n % p)).collect::<Vec<_>>();
    let mut y = truth.apply_units(&pairs).expect("units inside the grid");
    let least = y.iter().fold(f32::INFINITY, |m, v| m.min(*v));
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mask = Mask::new(Array3::from_shape_simple_fn(y.dim(), || rng.random::<f64>() < 0.5));
    y.zip_mut_with(&mask.zeros_and_ones::<f32>(), |y, m| *y = (*y - 2.0 * least) * m);
    (Array3::zeros((0, p, p)), pairs, y, mask)
}

fn run(s: &Scenario, threads: usize, json: bool) {
    let (x, pairs, y, mask) = data(s);
    let problem = if s.completion {
        Problem::units(s.dims[0], pairs, y.view()).and_then(|p| p.with_mask(&mask))
    } else {
        Problem::matrices(x.view(), y.view())
    };
    let problem = problem.expect("valid data");
    let batch = if s.completion { 4 } else { 16 };
    let adam = AdamParams { stopping: Stopping::after(400), batch, ..Default::default() }.check().expect("valid");
    let (mut wall, mut cpu, mut losses) = (Vec::new(), Vec::new(), Vec::new());
    let budget = std::env::var("BUDGET").ok().and_then(|b| b.parse().ok()).unwrap_or(1.5);
    let begun = Instant::now();
    let (mut t, mut c) = (begun, cpu_seconds());
    let mut watch = |p: &kraus::Progress| {
        wall.push(t.elapsed().as_secs_f64() * 1e3);
        cpu.push((cpu_seconds() - c) * 1e3);
        losses.push(p.loss);
        let enough = begun.elapsed().as_secs_f64() > budget && wall.len() >= 6;
        (t, c) = (Instant::now(), cpu_seconds());
        if enough { Flow::Cancel } else { Flow::Continue }
    };
    let start = Start::Random { arch: Architecture::deep(s.dims, s.rank, s.gamma), seed: 0 };
    let mut session = Session { validation: None, watch: None };
    session.watch = Some(&mut watch);
    adam.fit_with(&problem, start, &mut session).expect("converges");
    let n = wall.len();
    let spread = |v: &[f64]| {
        let mut v = v[1..].to_vec();
        v.sort_by(f64::total_cmp);
        (v[0], v[v.len() / 2])
    };
    let ((least, median), (cpu_least, cpu_median)) = (spread(&wall), spread(&cpu));
    let (name, first, last) = (s.name, losses[0], losses[n - 1]);
    if json {
        println!(
            "{{\"lib\":\"ours\",\"scen\":\"{name}\",\"threads\":{threads},\"wmin\":{least:.4},\"wmed\":{median:.4},\"cmin\":{cpu_least:.4},\"cmed\":{cpu_median:.4},\"n\":{n},\"loss0\":{first:e},\"lossN\":{last:e}}}"
        );
    } else {
        println!(
            "{name:4} threads {threads}  wall min {least:9.3} median {median:9.3} ms  cpu min {cpu_least:9.3} median {cpu_median:9.3} ms  loss {first:.4e} -> {last:.4e} in {n} epochs"
        );
    }
}

/// A map of another size, rank and number of samples: `20x10-r50-l1000`.
fn other(name: &str) -> Option<Scenario> {
    let (sizes, rest) = name.split_once("-r")?;
    let (rank, samples) = rest.split_once("-l")?;
    let (p, q) = sizes.split_once('x')?;
    // The bench ends soon, so names and sizes may stay in memory.
    let dims: &'static [usize] = Box::leak(Box::new([p.parse::<usize>().ok()?, q.parse::<usize>().ok()?]));
    Some(scenario(name.to_owned().leak(), dims, rank.parse().ok()?, samples.parse().ok()?))
}

fn main() {
    let args = std::env::args().skip(1).filter(|a| a != "--bench").collect::<Vec<_>>();
    let json = args.iter().any(|a| a == "--json");
    // RAYON_NUM_THREADS decides how many threads one process has: see benches/peers.sh.
    let threads = rayon::current_num_threads();
    let wanted = args.iter().filter(|a| !a.starts_with("--")).collect::<Vec<_>>();
    for s in SCENARIOS.iter().filter(|s| wanted.is_empty() || wanted.iter().any(|w| *w == s.name)) {
        run(s, threads, json);
    }
    wanted.iter().filter_map(|name| other(name)).for_each(|s| run(&s, threads, json));
}
