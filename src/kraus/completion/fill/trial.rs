//! One draw of hidden entries, and what every model of the path makes of them.

use super::super::partial::Partial;
use super::entries::{LARGE, mean_of, target_of, with_diagonal};
use super::shrink::Iterate;
use super::walk::{Walk, lowered};
use super::{SOFT, Watch, hide};
use crate::error::Result;
use estimator::Mask;
use ndarray::{Array2, ArrayView2, Ix2};
use std::collections::BTreeMap;

/// A path ends when the error has risen to this multiple of the least.
const RISEN: f64 = 1.03;

/// One penalty of one family.
pub(super) struct Step {
    /// With the diagonal by rule.
    pub own: Wrong,
    /// As the shrinkage leaves it.
    pub plain: Wrong,
    state: Iterate,
}

/// One draw.
pub(super) struct Trial<'a> {
    partial: &'a Partial,
    /// What is left to fit to.
    reduced: Partial,
    hidden: Mask<Ix2>,
    /// The steps by their place in the path: without the diagonal, with it.
    families: [BTreeMap<usize, Step>; 2],
}

impl<'a> Trial<'a> {
    /// Draws and walks both paths. `draw` is the seed and the number of the draw.
    pub fn run(partial: &'a Partial, path: &[f64], top: f64, draw: (u64, u64), watch: Watch<'_>) -> Result<Self> {
        let hidden = hide::entries(partial, draw.0.wrapping_add(draw.1 << 32));
        let reduced = partial.without(&hidden)?;
        let mut out = Self { partial, reduced, hidden, families: Default::default() };
        for diagonal in [false, true] {
            out.walk(path, top, diagonal, watch)?;
        }
        Ok(out)
    }

    fn walk(&mut self, path: &[f64], top: f64, diagonal: bool, watch: Watch<'_>) -> Result<()> {
        let n = self.partial.n();
        let (target, mut walk) = (target_of(&self.reduced, diagonal)?, Walk::new(n));
        let (mut from, mut least) = (0, f64::INFINITY);
        if n > LARGE
            && diagonal
            && let Some((k, state)) = self.best(0)
        {
            (from, walk.state) = (k.saturating_sub(1), state.clone());
        }
        for (k, share) in path.iter().enumerate().skip(from) {
            let name = if diagonal { SOFT } else { "diagonal apart" };
            watch(&format!("validation, {name}"), k as f64 / path.len() as f64)?;
            walk.step(&target, top * share)?;
            let plain = self.wrong(walk.state.z.view());
            let own = self.wrong(with_diagonal(&self.reduced, &walk.state.z).view());
            let judged = if diagonal { own.typical().min(plain.typical()) } else { own.typical() };
            self.families[usize::from(diagonal)].insert(k, Step { own, plain, state: walk.state.clone() });
            least = least.min(own.typical());
            if judged > RISEN * least {
                break;
            }
        }
        Ok(())
    }

    /// The best step of a family: its place and the iteration there.
    fn best(&self, family: usize) -> Option<(usize, &Iterate)> {
        let steps = self.families[family].iter();
        let best = steps.min_by(|a, b| a.1.own.typical().total_cmp(&b.1.own.typical()));
        best.map(|(k, step)| (*k, &step.state))
    }

    /// Where a fit to everything may start that is to end at step `last`: the best step, if that is not behind it.
    pub fn start(&self, family: usize, last: usize) -> Option<(usize, &Iterate)> {
        self.best(family).map(|(k, state)| (k.min(last), state))
    }

    /// The errors of all trials at each step that all of them reached.
    pub fn steps(trials: &[Self], family: usize, error: impl Fn(&Step) -> Wrong) -> Vec<(usize, Wrong)> {
        let places = trials[0].families[family].keys();
        let at = |k: usize| trials.iter().map(|t| t.families[family].get(&k).map(&error)).sum::<Option<Wrong>>();
        places.filter_map(|&k| Some((k, at(k)?))).collect()
    }

    /// The error of a step refined with a share of its penalty.
    pub fn lowered(&self, diagonal: bool, k: usize, lambda: f64, share: f64) -> Result<Option<Wrong>> {
        let target = target_of(&self.reduced, diagonal)?;
        let Some(step) = self.families[usize::from(diagonal)].get(&k) else { return Ok(None) };
        let found = lowered(&target, &step.state, lambda, share);
        Ok(found.map(|(z, _, _)| self.wrong(with_diagonal(&self.reduced, &z).view())))
    }

    /// The error of the mean of what is left.
    pub fn mean(&self) -> Wrong {
        let n = self.partial.n();
        self.wrong(Array2::from_elem((n, n), mean_of(&self.reduced)).view())
    }

    /// How wrong a prediction of the hidden entries is.
    fn wrong(&self, m: ArrayView2<'_, f64>) -> Wrong {
        let mut out = Wrong::default();
        for ((at, hidden), v) in self.hidden.flags().indexed_iter().zip(&m) {
            if *hidden {
                let truth = self.partial.values()[at];
                let off = v - truth;
                out =
                    out + Wrong { square: off * off, squares: truth * truth, length: off.abs(), lengths: truth.abs() };
            }
        }
        out
    }
}

/// How wrong a prediction of hidden entries is, as sums over them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wrong {
    square: f64,
    squares: f64,
    length: f64,
    lengths: f64,
}

impl Wrong {
    /// ||m - truth|| / ||truth||: what is reported.
    pub fn relative(&self) -> f64 {
        share(self.square, self.squares).sqrt()
    }

    /// sum |m - truth| / sum |truth|: what chooses. Where two samples share something that no third has, their entry cannot be predicted, and
    /// one such entry among the hidden ones would choose by its square alone.
    pub fn typical(&self) -> f64 {
        share(self.length, self.lengths)
    }
}

/// Nothing hidden: no error is known.
fn share(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { f64::NAN }
}

impl std::ops::Add for Wrong {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            square: self.square + other.square,
            squares: self.squares + other.squares,
            length: self.length + other.length,
            lengths: self.lengths + other.lengths,
        }
    }
}

impl std::iter::Sum for Wrong {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| sum + one)
    }
}
