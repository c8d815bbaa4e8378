//! Theorem 4: with probability at least 1 - delta over a sample of size l, for all maps h of Kraus rank r,
//!
//! R(h) <= R^(h) + gamma sqrt(pqr log(8epq/r) log(l/(pqr)) / l) + gamma sqrt(log(1/delta) / (2l)),
//!
//! for a loss that is the mean over the q^2 entries of an entrywise loss bounded by gamma. The square loss is bounded
//! only where the data and the maps are, so gamma is the user's statement about them. Where l <= pqr the second
//! logarithm is not positive and the theorem says nothing: that is an error here, not a number.

/// What theorem 4 is evaluated at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundParams {
    /// Number of samples l.
    pub l: usize,
    /// Rows of the inputs.
    pub p: usize,
    /// Rows of the outputs.
    pub q: usize,
    /// Kraus rank.
    pub rank: usize,
    /// Bound of the entrywise loss.
    pub gamma: f64,
    /// The bound fails with at most this probability.
    pub delta: f64,
}

/// The parts of theorem 4.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// gamma sqrt(pqr log(8epq/r) log(l/(pqr)) / l): grows with the rank.
    pub complexity: f64,
    /// gamma sqrt(log(1/delta) / (2l)).
    pub confidence: f64,
    /// Lemma 3: pqr log(8epq/r), which bounds the pseudo-dimension.
    pub pseudo_dimension: f64,
}

impl Bound {
    /// The bound of the expected loss, given the empirical one.
    pub fn total(&self, empirical: f64) -> f64 {
        empirical + self.complexity + self.confidence
    }
}

/// Where theorem 4 does not apply.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum BoundError {
    /// p, q, r or l is zero, or the rank exceeds p q.
    #[error("theorem 4 needs p, q >= 1 and 1 <= rank <= p q, got p = {p}, q = {q}, rank = {rank}")]
    Sizes {
        /// Rows of the inputs.
        p: usize,
        /// Rows of the outputs.
        q: usize,
        /// Kraus rank.
        rank: usize,
    },
    /// l <= pqr: its logarithm is not positive.
    #[error("theorem 4 needs more than p q rank = {parameters} samples, got {l}; lower the rank or add samples")]
    TooFewSamples {
        /// Number of samples.
        l: usize,
        /// p q r.
        parameters: usize,
    },
    /// gamma is not a positive finite number.
    #[error("theorem 4 needs a loss bounded by a finite gamma > 0, got {gamma}")]
    Gamma {
        /// The value given.
        gamma: f64,
    },
    /// delta is not in (0, 1].
    #[error("theorem 4 needs delta in (0, 1], got {delta}")]
    Delta {
        /// The value given.
        delta: f64,
    },
}

/// Evaluates theorem 4.
///
/// ```
/// use kraus::{BoundParams, bound};
/// let at = |rank| bound(&BoundParams { l: 10_000, p: 20, q: 10, rank, gamma: 1.0, delta: 0.05 });
/// assert!(at(2).unwrap().complexity < at(5).unwrap().complexity);
/// assert!(at(50).is_err()); // 20 * 10 * 50 parameters, as many as samples
/// ```
pub fn bound(at: &BoundParams) -> Result<Bound, BoundError> {
    let BoundParams { l, p, q, rank, gamma, delta } = *at;
    let entries = p.saturating_mul(q);
    if entries == 0 || rank == 0 || rank > entries {
        return Err(BoundError::Sizes { p, q, rank });
    }
    let parameters = entries.saturating_mul(rank);
    if l <= parameters {
        return Err(BoundError::TooFewSamples { l, parameters });
    }
    if !(gamma.is_finite() && gamma > 0.0) {
        return Err(BoundError::Gamma { gamma });
    }
    if !(delta > 0.0 && delta <= 1.0) {
        return Err(BoundError::Delta { delta });
    }
    let (n, d) = (l as f64, parameters as f64);
    // log(8epq/r) > 0 since r <= pq, so the pseudo-dimension is positive.
    let pseudo_dimension = d * linalg::math::ln(8.0 * std::f64::consts::E * entries as f64 / rank as f64);
    let complexity = gamma * (pseudo_dimension * linalg::math::ln(n / d) / n).sqrt();
    let confidence = gamma * (linalg::math::ln(1.0 / delta) / (2.0 * n)).sqrt();
    Ok(Bound { complexity, confidence, pseudo_dimension })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: BoundParams = BoundParams { l: 10_000, p: 20, q: 10, rank: 5, gamma: 1.0, delta: 0.05 };

    #[test]
    fn known_value() {
        // By hand: pqr = 1000; log(8 e 200 / 5) = log 320 + 1 = 6.768320996; log(10000 / 1000) = 2.302585093;
        // 1000 * 6.768320996 * 2.302585093 / 10000 = 1.558463503, its root 1.248384357; log 20 / 20000 = 1.497866e-4, root 0.012238734.
        let b = bound(&AT).unwrap();
        assert!((b.pseudo_dimension - 6768.320996).abs() < 1e-5);
        assert!((b.complexity - 1.248384357).abs() < 1e-8, "{b:?}");
        assert!((b.confidence - 0.012238734).abs() < 1e-8);
        assert!((b.total(0.5) - 1.760623091).abs() < 1e-8);
    }

    #[test]
    fn scales_with_gamma_and_delta_one_is_certain() {
        let (one, two) = (bound(&AT).unwrap(), bound(&BoundParams { gamma: 2.0, delta: 1.0, ..AT }).unwrap());
        assert_eq!(two.complexity, 2.0 * one.complexity);
        assert_eq!(two.confidence, 0.0);
    }

    #[test]
    fn refuses_what_the_theorem_does_not_cover() {
        let err = |p: BoundParams| bound(&p).unwrap_err();
        assert_eq!(err(BoundParams { l: 1000, ..AT }), BoundError::TooFewSamples { l: 1000, parameters: 1000 });
        assert!(bound(&BoundParams { l: 1001, ..AT }).is_ok());
        assert!(matches!(err(BoundParams { rank: 0, ..AT }), BoundError::Sizes { .. }));
        assert!(matches!(err(BoundParams { rank: 201, l: usize::MAX, ..AT }), BoundError::Sizes { .. }));
        assert!(matches!(err(BoundParams { p: usize::MAX, q: usize::MAX, ..AT }), BoundError::TooFewSamples { .. }));
        assert!(matches!(err(BoundParams { gamma: f64::INFINITY, ..AT }), BoundError::Gamma { .. }));
        assert!(matches!(err(BoundParams { delta: 0.0, ..AT }), BoundError::Delta { .. }));
        assert!(matches!(err(BoundParams { delta: f64::NAN, ..AT }), BoundError::Delta { .. }));
    }
}
