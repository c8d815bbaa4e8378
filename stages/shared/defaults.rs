//! Default values of parameters. Serde wants them as functions, so a number names its value here:
//! `#[serde(default = "number::<7>")]` is 7, and `#[serde(default = "ratio::<1, 1000>")]` is 0.001.
//! A default that is a list is a function of its kind's file.

/// A count.
pub fn number<const N: usize>() -> usize {
    N
}

/// A quotient. The division rounds correctly, so `ratio::<1, 1000>` has the bits of `1e-3`.
pub fn ratio<const NUMERATOR: u64, const DENOMINATOR: u64>() -> f64 {
    NUMERATOR as f64 / DENOMINATOR as f64
}

#[cfg(test)]
mod tests {
    use super::ratio;

    #[test]
    fn a_quotient_has_the_bits_of_the_literal() {
        let found = [ratio::<1, 1000>(), ratio::<8, 10>(), ratio::<3, 10>(), ratio::<1, 100_000_000>()];
        assert_eq!(found.map(f64::to_bits), [1e-3, 0.8, 0.3, 1e-8].map(f64::to_bits));
    }
}
