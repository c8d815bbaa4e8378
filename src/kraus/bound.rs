//! Theorem 4, the generalisation bound: as the paper prints it, and as its proof proves it.
//!
//! With probability at least 1 - delta over a sample of size l, for all maps h of Kraus rank r,
//!
//! R(h) <= R^(h) + complexity + gamma sqrt(log(1/delta) / (2l)),
//!
//! for a loss that is the mean over the q^2 entries of an entrywise loss bounded by gamma. The square loss is bounded
//! only where the data and the maps are, so gamma is the user's statement about them.
//!
//! | [`Version`] | pseudo-dimension d | complexity | says something for |
//! |---|---|---|---|
//! | `AsPrinted` | pqr ln(8epq/r) | gamma sqrt(d ln(l/(pqr)) / l) | l > pqr |
//! | `AsProved` | min(pqr log2(8epq/r), p^2 q^2) | gamma sqrt(2 d ln(el/d) / l) | l > d |
//!
//! Only `AsProved` follows from the paper's proof. Its lemma counts 2^m <= (8em/(pqr))^(pqr) sign patterns, so the logarithm has
//! base 2. The theorem it then cites (Mohri et al., 10.6) has a factor 2 and ln(el/d); the printed theorem drops the factor
//! and puts pqr in the place of d inside the logarithm. As in the paper, d is the pseudo-dimension of the maps and stands
//! for that of the losses.
//!
//! Neither term grows with the rank for ever. The printed one is largest near pqr = l/e and falls to 0 at l = pqr, where a
//! bound should be weakest: another reason not to rest a claim on it. Where a version says nothing the result is an error,
//! not a number.

use linalg::math;

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

/// Which form of theorem 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The formula in the paper's text. Its proof does not give it.
    AsPrinted,
    /// What the paper's proof gives: the theorem.
    AsProved,
}

/// The parts of theorem 4.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The term of the complexity of the maps; see the table of the module.
    pub complexity: f64,
    /// gamma sqrt(log(1/delta) / (2l)).
    pub confidence: f64,
    /// The bound of the pseudo-dimension; see the table of the module.
    pub pseudo_dimension: f64,
}

impl Bound {
    /// The bound of the expected loss, given the empirical one.
    pub fn total(&self, empirical: f64) -> f64 {
        empirical + self.complexity + self.confidence
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::AsPrinted => "as printed",
            Self::AsProved => "as proved",
        })
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
    /// Fewer samples than the version needs: its logarithm is not positive, or the theorem it cites does not hold.
    #[error(
        "theorem 4 {version} needs more than {needed} samples at this rank, got {l}; lower the rank or add samples"
    )]
    TooFewSamples {
        /// Number of samples.
        l: usize,
        /// Samples needed: pqr as printed, the pseudo-dimension as proved.
        needed: usize,
        /// Which form of the theorem.
        version: Version,
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
/// use kraus::{BoundParams, BoundVersion, bound};
/// let at = |rank, version| bound(&BoundParams { l: 10_000, p: 20, q: 10, rank, gamma: 1.0, delta: 0.05 }, version);
/// let printed = |rank| at(rank, BoundVersion::AsPrinted).unwrap().complexity;
/// assert!((printed(5) - 1.248).abs() < 1e-3);
/// assert!((at(5, BoundVersion::AsProved).unwrap().complexity - 1.414).abs() < 1e-3);
/// // The printed term falls once pqr > l/e: more operators, a smaller bound.
/// assert!((printed(20) - 1.404).abs() < 1e-3 && (printed(40) - 0.915).abs() < 1e-3);
/// // At rank 6 the pseudo-dimension as proved exceeds 10000 samples: the theorem says nothing.
/// assert!(at(6, BoundVersion::AsProved).is_err());
/// ```
pub fn bound(at: &BoundParams, version: Version) -> Result<Bound, BoundError> {
    let BoundParams { l, p, q, rank, gamma, delta } = *at;
    let entries = p.saturating_mul(q);
    if entries == 0 || rank == 0 || rank > entries {
        return Err(BoundError::Sizes { p, q, rank });
    }
    if !(gamma.is_finite() && gamma > 0.0) {
        return Err(BoundError::Gamma { gamma });
    }
    if !(delta > 0.0 && delta <= 1.0) {
        return Err(BoundError::Delta { delta });
    }
    let parameters = entries.saturating_mul(rank);
    let (n, d) = (l as f64, parameters as f64);
    // 8epq/r > 1 since r <= pq, so both logarithms are positive.
    let inside = 8.0 * std::f64::consts::E * entries as f64 / rank as f64;
    let (pseudo_dimension, needed, complexity) = match version {
        Version::AsPrinted => {
            let dimension = d * math::ln(inside);
            (dimension, d, gamma * (dimension * math::ln(n / d) / n).sqrt())
        }
        Version::AsProved => {
            let dimension = (d * math::log2(inside)).min(entries as f64 * entries as f64);
            (dimension, dimension, gamma * (2.0 * dimension * (1.0 + math::ln(n / dimension)) / n).sqrt())
        }
    };
    if n <= needed {
        // Saturates for sizes that no sample reaches.
        return Err(BoundError::TooFewSamples { l, needed: needed.ceil() as usize, version });
    }
    let confidence = gamma * (math::ln(1.0 / delta) / (2.0 * n)).sqrt();
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
        let b = bound(&AT, Version::AsPrinted).unwrap();
        assert!((b.pseudo_dimension - 6768.320996).abs() < 1e-5);
        assert!((b.complexity - 1.248384357).abs() < 1e-8, "{b:?}");
        assert!((b.confidence - 0.012238734).abs() < 1e-8);
        assert!((b.total(0.5) - 1.760623091).abs() < 1e-8);
    }

    #[test]
    fn known_value_as_proved() {
        // By hand: log2(8 e 200 / 5) = 6.768320996 / 0.693147181 = 9.764623; d = 9764.623; ln(e 10000 / 9764.623) = 1.023819;
        // 2 * 9764.623 * 1.023819 / 10000 = 1.999441, its root 1.414016.
        let b = bound(&AT, Version::AsProved).unwrap();
        assert!((b.pseudo_dimension - 9764.623).abs() < 1e-2, "{b:?}");
        assert!((b.complexity - 1.414016).abs() < 1e-5, "{b:?}");
        // The dimension of all linear maps bounds it too: p = q = 2 has at most 16.
        let small = bound(&BoundParams { p: 2, q: 2, rank: 4, ..AT }, Version::AsProved).unwrap();
        assert_eq!(small.pseudo_dimension, 16.0);
    }

    #[test]
    fn the_printed_term_falls_again_and_the_proved_one_does_not() {
        let at = |rank, l| BoundParams { rank, l, ..AT };
        let printed = |rank| bound(&at(rank, 10_000), Version::AsPrinted).unwrap().complexity;
        assert!(printed(10) < printed(20) && printed(20) > printed(40) && printed(49) < 0.5 * printed(20));
        let proved = |rank| bound(&at(rank, 100_000), Version::AsProved).unwrap().complexity;
        assert!((1..26).all(|rank| proved(rank) < proved(rank + 1)));
    }

    #[test]
    fn scales_with_gamma_and_delta_one_is_certain() {
        let at = |p: &BoundParams| bound(p, Version::AsPrinted).unwrap();
        let (one, two) = (at(&AT), at(&BoundParams { gamma: 2.0, delta: 1.0, ..AT }));
        assert_eq!(two.complexity, 2.0 * one.complexity);
        assert_eq!(two.confidence, 0.0);
    }

    #[test]
    fn refuses_what_the_theorem_does_not_cover() {
        let err = |p: BoundParams| bound(&p, Version::AsPrinted).unwrap_err();
        let too_few = |needed, version| BoundError::TooFewSamples { l: 1000, needed, version };
        assert_eq!(err(BoundParams { l: 1000, ..AT }), too_few(1000, Version::AsPrinted));
        assert!(bound(&BoundParams { l: 1001, ..AT }, Version::AsPrinted).is_ok());
        let proved = bound(&BoundParams { l: 1000, ..AT }, Version::AsProved).unwrap_err();
        assert_eq!(proved, too_few(9765, Version::AsProved));
        assert!(matches!(err(BoundParams { rank: 0, ..AT }), BoundError::Sizes { .. }));
        assert!(matches!(err(BoundParams { rank: 201, l: usize::MAX, ..AT }), BoundError::Sizes { .. }));
        assert!(matches!(err(BoundParams { p: usize::MAX, q: usize::MAX, ..AT }), BoundError::TooFewSamples { .. }));
        assert!(matches!(err(BoundParams { gamma: f64::INFINITY, ..AT }), BoundError::Gamma { .. }));
        assert!(matches!(err(BoundParams { delta: 0.0, ..AT }), BoundError::Delta { .. }));
        assert!(matches!(err(BoundParams { delta: f64::NAN, ..AT }), BoundError::Delta { .. }));
    }
}
