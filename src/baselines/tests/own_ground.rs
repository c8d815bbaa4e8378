//! Each baseline on data of its own model: it recovers them to the accuracy its optimum allows, and beats PTR there.
//!
//! PTR is fitted to its optimum too (L-BFGS from several starts), at several ranks, and gets the rank that is best on
//! the **test** set. A control shows that this PTR recovers its own data, so that losing means the model and not the fit.

mod common;

use baselines::{
    Hopls, Lambda, Optimiser, Penalty, ReducedRank, Regressor, TensorTrain, TraceRegression, Training, Tucker,
};
use common::*;
use kraus::{LbfgsParams, Problem, Solver, Start, Stopping};
use ndarray::{Array2, Array3, Array4, s};

/// Training and test samples.
struct Data {
    x: Array3<f64>,
    y: Array3<f64>,
    train: usize,
}

impl Data {
    fn of(x: Array3<f64>, w: &Array2<f64>, q: usize, train: usize) -> Self {
        let l = x.dim().0;
        let y = x.to_shape((l, x.len() / l)).unwrap().dot(w);
        Data { x, y: Array3::from_shape_vec((l, q, q), y.into_raw_vec_and_offset().0).unwrap(), train }
    }

    /// Test error of a baseline, relative to E[Y^2].
    fn baseline(&self, model: &dyn Regressor) -> f64 {
        let (x, y) = (&self.x, &self.y);
        let fit = model.fit(x.slice(s![..self.train, .., ..]), y.slice(s![..self.train, .., ..])).unwrap();
        fit.mse(x.slice(s![self.train.., .., ..]), y.slice(s![self.train.., .., ..])).unwrap() / mean_square(y)
    }

    /// Relative test error of PTR at the best of its ranks.
    fn ptr(&self) -> f64 {
        let of = |range| {
            let (x, y) = (self.x.slice(s![range, .., ..]), self.y.slice(s![range, .., ..]));
            (x.to_owned(), y.to_owned())
        };
        let ((x, y), (xt, yt)) = (of(ndarray::Slice::from(..self.train)), of(ndarray::Slice::from(self.train..)));
        let (p, q) = (x.dim().1, y.dim().1);
        let (train, test) =
            (Problem::matrices(x.view(), y.view()).unwrap(), Problem::matrices(xt.view(), yt.view()).unwrap());
        let solver =
            LbfgsParams { restarts: 3, stopping: Stopping::after(300), ..LbfgsParams::default() }.check().unwrap();
        let error = |rank| solver.fit(&train, Start::single(p, q, rank, 7)).unwrap().model.mse(&test).unwrap();
        [1, 2, 4, 8].map(error).into_iter().fold(f64::INFINITY, f64::min) / mean_square(&self.y)
    }

    /// The baseline recovers, PTR does not.
    fn show(&self, model: &dyn Regressor, recovered: f64) {
        let (ours, ptr) = (self.baseline(model), self.ptr());
        println!("{}: {ours:.1e} of E[Y^2], PTR {ptr:.1e}", model.name());
        assert!(ours < recovered, "{} leaves {ours:.1e}", model.name());
        assert!(ptr > 1e-2 && ours < 1e-3 * ptr, "{} {ours:.1e}, PTR {ptr:.1e}", model.name());
    }
}

fn gaussian(seed: u64, l: usize, p: usize) -> Array3<f64> {
    Array3::from_shape_vec((l, p, p), normal(&mut rng(seed), l, p * p).into_raw_vec_and_offset().0).unwrap()
}

fn exact() -> Training {
    Training { optimiser: Optimiser::Lbfgs { iterations: 500 }, seed: 3, ..Training::default() }
}

/// The control: on data of a Kraus map PTR is the one that recovers, and its fit is as good as the others'.
#[test]
fn ptr_recovers_its_own_data() {
    let mut rng = rng(81);
    let a = kraus(&mut rng, 2, 4, 6);
    let x = gaussian(82, 350, 6);
    let mut y = Array3::zeros((350, 4, 4));
    for (x, mut y) in x.outer_iter().zip(y.outer_iter_mut()) {
        a.outer_iter().for_each(|a| y += &a.dot(&x).dot(&a.t()));
    }
    let data = Data { x, y, train: 150 };
    let (ptr, tucker) = (data.ptr(), data.baseline(&Tucker { ranks: [2; 4], training: exact() }));
    println!("PTR {ptr:.1e}, Tucker of ranks 2 {tucker:.1e}");
    assert!(ptr < 1e-20 && tucker > 1e-2);
}

/// W[(i, j), (k, l)] = sum of two A_r[i, k] B_r[j, l].
#[test]
fn tensor_train() {
    let (p, q, mut rng) = (6, 4, rng(83));
    let (a, b) = (normal(&mut rng, 2 * p, q), normal(&mut rng, 2 * p, q));
    let w = Array2::from_shape_fn((p * p, q * q), |(x, y)| {
        (0..2).map(|r| a[[r * p + x / p, y / q]] * b[[r * p + x % p, y % q]]).sum()
    });
    let data = Data::of(gaussian(84, 350, p), &w, q, 150);
    data.show(&TensorTrain::by_sides(p, q, 2, exact()), 1e-20);
}

/// A core of ranks 2 between random factors.
#[test]
fn tucker() {
    let (p, q, mut rng) = (6, 4, rng(85));
    let core = normal(&mut rng, 4, 4);
    let u: Vec<Array2<f64>> = [p, p, q, q].iter().map(|&n| normal(&mut rng, n, 2)).collect();
    let w = Array4::from_shape_fn((p, p, q, q), |(i, j, k, l)| {
        let terms = (0..4).flat_map(|ab| (0..4).map(move |cd| (ab, cd)));
        let term = |(ab, cd): (usize, usize)| {
            core[[ab, cd]] * u[0][[i, ab / 2]] * u[1][[j, ab % 2]] * u[2][[k, cd / 2]] * u[3][[l, cd % 2]]
        };
        terms.map(term).sum()
    });
    let data = Data::of(gaussian(86, 350, p), &w.into_shape_with_order((p * p, q * q)).unwrap(), q, 150);
    data.show(&Tucker { ranks: [2; 4], training: exact() }, 1e-20);
}

/// All outputs are combinations of two numbers.
#[test]
fn reduced_rank() {
    let (p, q, mut rng) = (6, 4, rng(87));
    let w = normal(&mut rng, p * p, 2).dot(&normal(&mut rng, 2, q * q));
    Data::of(gaussian(88, 350, p), &w, q, 150).show(&ReducedRank { rank: 2 }, 1e-25);
}

/// One output, the inner product with a matrix of rank 1 that is not positive, from fewer samples than it has entries.
#[test]
fn nuclear_norm() {
    let (p, mut rng) = (12, rng(89));
    let b = normal(&mut rng, p, 1).dot(&normal(&mut rng, 1, p));
    let w = b.into_shape_with_order((p * p, 1)).unwrap();
    let model = TraceRegression::with(Penalty::Nuclear(Lambda::Ratio(1e-6)));
    Data::of(gaussian(90, 300, p), &w, 1, 100).show(&model, 1e-9);
}

/// Three latent numbers, each with a positive semidefinite loading of X and a loading of Y that is not: no Kraus map does
/// that.
#[test]
fn latent_vectors() {
    let (l, p, q, mut rng) = (110, 8, 5, rng(91));
    let (mut x, mut y) = (Array2::<f64>::zeros((l, p * p)), Array2::<f64>::zeros((l, q * q)));
    let row = |m: Array2<f64>| m.clone().into_shape_with_order((1, m.len())).unwrap();
    for scale in [4.0, 2.0, 1.0] {
        let t = normal(&mut rng, l, 1) * scale;
        let g = normal(&mut rng, p, 2);
        x += &t.dot(&row(g.dot(&g.t())));
        y += &t.dot(&row(normal(&mut rng, q, 2).dot(&normal(&mut rng, 2, q))));
    }
    let x = Array3::from_shape_vec((l, p, p), x.into_raw_vec_and_offset().0).unwrap();
    let y = Array3::from_shape_vec((l, q, q), y.into_raw_vec_and_offset().0).unwrap();
    Data { x, y, train: 60 }.show(&Hopls::validated(10, vec![2, 4, 8], vec![2, 5]), 1e-12);
}
