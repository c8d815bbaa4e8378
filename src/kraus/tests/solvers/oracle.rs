//! Our L-BFGS against argmin's: the same minima from the same starts, at no more evaluations.

use argmin::core::{CostFunction, Error, Executor, Gradient};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use kraus::simulate::{Recipe, Split};
use kraus::{KrausMap, MinimiseParams, Problem, Stack, loss_and_gradient, minimise};
use std::cell::Cell;

/// A function with its gradient; counts the calls of each.
struct Function<F> {
    f: F,
    values: Cell<usize>,
    gradients: Cell<usize>,
}

impl<F: Fn(&[f64], &mut [f64]) -> f64> CostFunction for Function<F> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        self.values.set(self.values.get() + 1);
        Ok((self.f)(x, &mut vec![0.0; x.len()]))
    }
}

impl<F: Fn(&[f64], &mut [f64]) -> f64> Gradient for Function<F> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        self.gradients.set(self.gradients.get() + 1);
        let mut g = vec![0.0; x.len()];
        (self.f)(x, &mut g);
        Ok(g)
    }
}

/// Both minima: ours, argmin's, and the evaluations of each.
fn both(f: impl Fn(&[f64], &mut [f64]) -> f64 + Copy, start: &[f64]) -> (f64, f64, usize, usize) {
    let ours = minimise(f, start.to_vec(), &MinimiseParams::default());
    let function = Function { f, values: Cell::new(0), gradients: Cell::new(0) };
    let line_search = MoreThuenteLineSearch::new().with_c(1e-4, 0.9).unwrap();
    let solver: LBFGS<_, Vec<f64>, Vec<f64>, f64> = LBFGS::new(line_search, 30).with_tolerance_grad(1e-9).unwrap();
    let run = Executor::new(&function, solver).configure(|s| s.param(start.to_vec()).max_iters(2000)).run().unwrap();
    let theirs = run.state().get_best_cost();
    (ours.f, theirs, ours.evaluations, function.gradients.get())
}

impl<F: Fn(&[f64], &mut [f64]) -> f64> CostFunction for &Function<F> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        (**self).cost(x)
    }
}

impl<F: Fn(&[f64], &mut [f64]) -> f64> Gradient for &Function<F> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        (**self).gradient(x)
    }
}

#[test]
fn rosenbrock_in_ten_dimensions() {
    let f = |x: &[f64], g: &mut [f64]| {
        g.fill(0.0);
        let mut value = 0.0;
        for i in 0..x.len() - 1 {
            let (a, b) = (1.0 - x[i], x[i + 1] - x[i] * x[i]);
            value += a * a + 100.0 * b * b;
            g[i] += -2.0 * a - 400.0 * x[i] * b;
            g[i + 1] += 200.0 * b;
        }
        value
    };
    let (ours, theirs, evaluations, their_evaluations) =
        both(f, &[-1.2, 1.0, -1.2, 1.0, -1.2, 1.0, -1.2, 1.0, -1.2, 1.0]);
    println!("ours {ours:e} in {evaluations}, argmin {theirs:e} in {their_evaluations}");
    assert!(ours < 1e-20 && (ours - theirs).abs() < 1e-10, "{ours:e} {theirs:e}");
}

#[test]
fn a_kraus_map_with_noise() {
    let train = Recipe { p: 5, q: 3, rank: 2, noise: 0.3, seed: 4 }.samples::<f64>(Split::Train, 0..60);
    let problem = Problem::matrices(train.x.view(), train.y.view()).unwrap();
    let f = |x: &[f64], g: &mut [f64]| {
        let ops = ndarray::Array3::from_shape_vec((2, 3, 5), x.to_vec()).unwrap();
        let (loss, gradient) = loss_and_gradient(&Stack::from(KrausMap::new(ops).unwrap()), &problem).unwrap();
        g.copy_from_slice(&gradient);
        loss
    };
    for seed in 0..4 {
        let start = Stack::from(KrausMap::<f64>::glorot(2, 3, 5, seed).unwrap()).to_vec();
        let (ours, theirs, evaluations, their_evaluations) = both(f, &start);
        println!("seed {seed}: ours {ours:.15e} in {evaluations}, argmin {theirs:.15e} in {their_evaluations}");
        // A local minimum may be another one for another line search; then ours must not be the worse one.
        assert!(ours <= theirs * (1.0 + 1e-9), "{ours:e} {theirs:e}");
    }
}
