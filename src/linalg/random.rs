//! Normal random numbers that have the same bits on every machine.

use rand::{Rng, RngCore};
use rand_distr::Distribution;

/// The standard normal distribution: the numbers of [`rand_distr::StandardNormal`], with a logarithm of our own.
///
/// Three numbers in ten thousand lie in the tail beyond 3.65, where the library takes the logarithm of a uniform number. That
/// logarithm comes from the C library and differs between machines in its last bit. Here it is taken again, by
/// [`crate::math::ln`], from the same uniform number.
///
/// ```
/// use rand::SeedableRng;
/// use rand_distr::Distribution;
/// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(0);
/// let x: f64 = linalg::random::StandardNormal.sample(&mut rng);
/// assert!(x.abs() < 10.0);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct StandardNormal;

/// Where the tail begins, in the ziggurat with 256 layers (J. A. Doornik, An improved ziggurat method, 2005).
const TAIL: f64 = 3.654_152_885_361_009;

/// A generator that remembers the last two numbers it gave.
struct Remember<'a, R: ?Sized> {
    rng: &'a mut R,
    last: [u64; 2],
}

impl<R: RngCore + ?Sized> RngCore for Remember<'_, R> {
    fn next_u32(&mut self) -> u32 {
        self.rng.next_u32()
    }
    #[inline]
    fn next_u64(&mut self) -> u64 {
        self.last = [self.last[1], self.rng.next_u64()];
        self.last[1]
    }
    fn fill_bytes(&mut self, to: &mut [u8]) {
        self.rng.fill_bytes(to);
    }
}

impl Distribution<f64> for StandardNormal {
    #[inline]
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let mut remember = Remember { rng, last: [0; 2] };
        let x: f64 = rand_distr::StandardNormal.sample(&mut remember);
        if x.abs() <= TAIL {
            return x;
        }
        // The last two numbers were drawn for the tail; the first of them, as a uniform number, decides how far out.
        let uniform = f64::from_bits((remember.last[0] >> 12) | 1f64.to_bits()) - (1.0 - f64::EPSILON / 2.0);
        let beyond = crate::math::ln(uniform) / TAIL;
        if x < 0.0 { beyond - TAIL } else { TAIL - beyond }
    }
}

impl Distribution<f32> for StandardNormal {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> f32 {
        let x: f64 = self.sample(rng);
        x as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn numbers_are_those_of_the_library_up_to_the_rounding_of_a_logarithm() {
        let (mut ours, mut theirs) = (ChaCha8Rng::seed_from_u64(3), ChaCha8Rng::seed_from_u64(3));
        let mut tail = 0;
        for _ in 0..200_000 {
            let (a, b): (f64, f64) = (StandardNormal.sample(&mut ours), rand_distr::StandardNormal.sample(&mut theirs));
            assert!((a - b).abs() <= 1e-15 * b.abs(), "{a} {b}");
            tail += usize::from(a.abs() > TAIL);
        }
        // Beyond 3.65 lie 0.026 % of all numbers.
        assert!((30..80).contains(&tail), "{tail}");
    }
}
