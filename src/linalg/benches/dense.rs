//! Milliseconds of dense products and decompositions in f64: ours, and faer's own kernels, which differ between machines.
//!
//! `cargo bench -p linalg --bench dense`. The least of several CPU times is printed.

use faer::Side;
use ndarray::Array2;
use std::time::Instant;

fn least(mut f: impl FnMut()) -> f64 {
    let begun = Instant::now();
    let mut best = f64::INFINITY;
    let mut rounds = 0;
    while rounds < 3 || begun.elapsed().as_secs_f64() < 0.3 {
        let t = Instant::now();
        f();
        best = best.min(t.elapsed().as_secs_f64() * 1e3);
        rounds += 1;
    }
    best
}

fn main() {
    println!("{:>5} {:>22} {:>22} {:>22} {:>22}", "n", "product ours/faer", "eigh", "svd", "cholesky");
    for n in [10, 20, 50, 100, 200, 400, 800] {
        let a = Array2::from_shape_fn((n, n), |(i, j)| ((i * 7919 + j * 104729) % 1009) as f64 / 1009.0 - 0.5);
        let mut spd = linalg::matmul(a.t(), a.view());
        spd.diag_mut().mapv_inplace(|x| x + 1.0);
        let m = faer::Mat::from_fn(n, n, |i, j| a[[i, j]]);
        let s = faer::Mat::from_fn(n, n, |i, j| spd[[i, j]]);
        let mut c = Array2::<f64>::zeros((n, n));
        let mut fc = faer::Mat::<f64>::zeros(n, n);
        let row = |ours: f64, faer: f64| print!(" {:>10.4} {:>11.4}", ours, faer);
        print!("{n:>5}");
        row(
            least(|| linalg::gemm(1.0, a.view(), a.view(), 0.0, c.view_mut())),
            least(|| faer::linalg::matmul::matmul(&mut fc, faer::Accum::Replace, &m, &m, 1.0, faer::Par::Seq)),
        );
        row(least(|| drop(linalg::eigh(spd.view()))), least(|| drop(s.self_adjoint_eigen(Side::Lower))));
        if n <= 400 {
            row(least(|| drop(linalg::svd(a.view()))), least(|| drop(m.thin_svd())));
        }
        row(least(|| drop(linalg::cholesky(spd.view()))), least(|| drop(s.llt(Side::Lower))));
        println!();
    }
}
