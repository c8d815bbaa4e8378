//! The learned map between sessions of real covariances; skipped with a line where they are not there.

use ndarray::{Array1, Array3, Axis};
use ndarray_npy::ReadNpyExt;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use spd::*;
use std::path::PathBuf;

fn session(name: &str) -> Option<(Array3<f64>, Labels)> {
    let at = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/bci").join(format!("{name}.npz"));
    if !at.exists() {
        println!("skipped: ../shared/data/bci/{name}.npz is not there");
        return None;
    }
    let mut zip = zip::ZipArchive::new(std::fs::File::open(at).unwrap()).unwrap();
    let x = Array3::<f64>::read_npy(zip.by_name("covariances.npy").unwrap()).unwrap();
    let y = Array1::<i32>::read_npy(zip.by_name("labels.npy").unwrap()).unwrap();
    Some((x, Labels::new(&y.iter().map(|v| i64::from(*v)).collect::<Vec<_>>()).unwrap()))
}

/// Accuracy of MDM that the unseen fifth of the source trained, by recentring and by the learned map: means over splits.
struct Splits {
    recentred: f64,
    learned: f64,
}

fn unseen_fifth(
    x: &Array3<f64>,
    lx: &Labels,
    y: &Array3<f64>,
    ly: &Labels,
    splits: u64,
    labelled: bool,
    common: &CommonChannels,
) -> Splits {
    let params = MeanParams::default().check().unwrap();
    let mut sum = Splits { recentred: 0.0, learned: 0.0 };
    for split in 0..splits {
        let mut order: Vec<usize> = (0..lx.len()).collect();
        order.shuffle(&mut ChaCha8Rng::seed_from_u64(split));
        let (known, held) = order.split_at(lx.len() * 4 / 5);
        let (source, new) = (x.select(Axis(0), known), x.select(Axis(0), held));
        let (given, labels) = (lx.select(known).unwrap(), lx.select(held).unwrap());
        let accuracy = |train: Array3<f64>| {
            for m in train.outer_iter() {
                assert!(linalg::eigh(m).unwrap().values[0] > 0.0, "an image is not positive definite");
            }
            let mdm = Mdm::fit(train.view(), &labels, Metric::AffineInvariant, &params).unwrap();
            100.0 * mdm.accuracy(y.view(), ly).unwrap() / splits as f64
        };
        let given = labelled.then_some(&given);
        let found =
            adapt(source.view(), y.view(), given, common, &AdaptParams::default(), &mut |_, _, _| true).unwrap();
        sum.learned += accuracy(found.apply(new.view()).unwrap());
        sum.recentred += accuracy(found.recentring.apply(new.view()).unwrap());
    }
    sum
}

/// The promise of `repro adapt --new`: MDM trained on the images of the fifth of session T that the map has not seen, ten splits,
/// is at most a point below recentring on every subject, and with labels of the source above it on the mean.
#[test]
fn the_learned_map_is_no_worse_than_recentring_on_real_covariances() {
    for labelled in [true, false] {
        let (mut gain, mut worst) = (0.0, f64::INFINITY);
        for subject in [1, 3, 7, 8, 9] {
            let names = (format!("A0{subject}T"), format!("A0{subject}E"));
            let (Some((x, lx)), Some((y, ly))) = (session(&names.0), session(&names.1)) else { return };
            let s = unseen_fifth(&x, &lx, &y, &ly, 10, labelled, &CommonChannels::all(22));
            println!("S{subject}, labels {labelled}: learned {:.2}, recentring {:.2}", s.learned, s.recentred);
            gain += (s.learned - s.recentred) / 5.0;
            worst = (s.learned - s.recentred).min(worst);
        }
        println!("labels {labelled}: mean gain {gain:.2}, worst {worst:.2}");
        assert!(worst >= -1.0 && (gain > 0.0 || !labelled), "labels {labelled}: gain {gain}, worst {worst}");
    }
}

/// 22 channels to 15 of them and back: within five points of the map between the same 15 channels.
#[test]
fn other_channels_keep_the_accuracy_on_real_covariances() {
    let keep: Vec<usize> = (0..22).filter(|i| i % 3 != 1).collect();
    let few = |x: &Array3<f64>| {
        let n = keep.len();
        Array3::from_shape_fn((x.dim().0, n, n), |(k, i, j)| x[[k, keep[i], keep[j]]])
    };
    let down: Vec<(usize, usize)> = keep.iter().enumerate().map(|(to, &from)| (from, to)).collect();
    let up: Vec<(usize, usize)> = down.iter().map(|&(a, b)| (b, a)).collect();
    let (down, up) = (CommonChannels::new(down, 22, 15).unwrap(), CommonChannels::new(up, 15, 22).unwrap());
    let mut means = [0.0; 4];
    for subject in [1, 3, 7, 8, 9] {
        let names = (format!("A0{subject}T"), format!("A0{subject}E"));
        let (Some((x, lx)), Some((y, ly))) = (session(&names.0), session(&names.1)) else { return };
        let (x15, y15) = (few(&x), few(&y));
        let run = |x: &Array3<f64>, y: &Array3<f64>, common: &CommonChannels| {
            unseen_fifth(x, &lx, y, &ly, 2, true, common).learned
        };
        let found = [
            run(&x, &y, &CommonChannels::all(22)),
            run(&x15, &y15, &CommonChannels::all(15)),
            run(&x, &y15, &down),
            run(&x15, &y, &up),
        ];
        println!("S{subject}: 22 -> 22, 15 -> 15, 22 -> 15, 15 -> 22: {found:.2?}");
        means.iter_mut().zip(found).for_each(|(m, f)| *m += f / 5.0);
    }
    println!("mean: {means:.2?}");
    assert!(means[2] > means[0] - 5.0 && means[3] > means[0] - 5.0, "{means:?}");
}
