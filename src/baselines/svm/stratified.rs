//! Stratified splits by seed: in both parts the classes have the shares that they have in the whole.

use crate::{Error, Result};
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

fn rng(seed: u64, split: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(2 * split + stream);
    rng
}

/// The samples of each class, in shuffled order.
fn by_class(labels: &[usize], samples: &[usize], rng: &mut ChaCha8Rng) -> Vec<Vec<usize>> {
    let classes = samples.iter().map(|&i| labels[i] + 1).max().unwrap_or(0);
    let mut groups = vec![Vec::new(); classes];
    samples.iter().for_each(|&i| groups[labels[i]].push(i));
    groups.iter_mut().for_each(|group| group.shuffle(rng));
    groups
}

/// Training samples (the share `train` of each class) and test samples. Every class has at least one sample in each part.
pub(crate) fn train_and_test(labels: &[usize], train: f64, seed: u64, split: u64) -> Result<(Vec<usize>, Vec<usize>)> {
    if !(train > 0.0 && train < 1.0) {
        return Err(Error::parameter("train", format!("must lie strictly between 0 and 1, got {train}")));
    }
    let samples: Vec<usize> = (0..labels.len()).collect();
    let groups = by_class(labels, &samples, &mut rng(seed, split, 0));
    if groups.len() < 2 || groups.iter().any(|group| group.len() < 2) {
        return Err(Error::parameter("labels", "at least two classes of at least two samples each are needed"));
    }
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for group in groups {
        let cut = ((group.len() as f64 * train).round() as usize).clamp(1, group.len() - 1);
        first.extend_from_slice(&group[..cut]);
        second.extend_from_slice(&group[cut..]);
    }
    Ok((first, second))
}

/// Pairs (training, held out). Every sample is held out once; the samples of each class go to the folds in turn.
pub(crate) fn folds(
    labels: &[usize],
    samples: &[usize],
    count: usize,
    seed: u64,
    split: u64,
) -> Vec<(Vec<usize>, Vec<usize>)> {
    let dealt: Vec<usize> = by_class(labels, samples, &mut rng(seed, split, 1)).concat();
    let part = |fold: usize, held: bool| {
        let picked = dealt.iter().enumerate().filter(move |(k, _)| (k % count == fold) == held);
        picked.map(|(_, &i)| i).collect::<Vec<_>>()
    };
    let pairs = (0..count).map(|fold| (part(fold, false), part(fold, true)));
    pairs.filter(|(inner, held)| !inner.is_empty() && !held.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_keeps_its_share_and_no_sample_is_lost() {
        let labels: Vec<usize> = (0..60).map(|i| i % 3).collect();
        let (train, test) = train_and_test(&labels, 0.4, 5, 1).unwrap();
        for class in 0..3 {
            assert_eq!(train.iter().filter(|&&i| labels[i] == class).count(), 8);
        }
        let mut all = [train.clone(), test].concat();
        all.sort_unstable();
        assert_eq!(all, (0..60).collect::<Vec<_>>());
        assert_ne!(train, train_and_test(&labels, 0.4, 5, 2).unwrap().0, "splits differ");
        assert_eq!(train, train_and_test(&labels, 0.4, 5, 1).unwrap().0, "the seed decides");

        let mut held: Vec<usize> = folds(&labels, &train, 4, 5, 1).into_iter().flat_map(|f| f.1).collect();
        let mut sorted = train;
        held.sort_unstable();
        sorted.sort_unstable();
        assert_eq!(held, sorted);
    }
}
