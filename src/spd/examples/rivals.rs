//! The learned map and its rivals on pairs of sessions: `rivals A01T.npz A01E.npz ...`, archives with `covariances` and `labels`.
//!
//! Protocol: the share 0.8 of session T (drawn by seed) and all of session E, without its labels, make the map. MDM is trained
//! on the other 0.2 of T after the map and tested on E. Methods that need labels of the target get those of the first 20 % of E
//! and are tested on the rest.
use ndarray::{Array1, Array3, ArrayView3, Axis};
use ndarray_npy::ReadNpyExt;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use spd::*;
use std::collections::BTreeMap;

type Trials = (Array3<f64>, Vec<i64>);

fn read(path: &str) -> std::result::Result<Trials, Box<dyn std::error::Error>> {
    let mut zip = zip::ZipArchive::new(std::fs::File::open(path)?)?;
    let x = Array3::<f64>::read_npy(zip.by_name("covariances.npy")?)?;
    let y = Array1::<i32>::read_npy(zip.by_name("labels.npy")?)?;
    Ok((x, y.iter().map(|v| i64::from(*v)).collect()))
}

fn percent(train: ArrayView3<'_, f64>, labels: &[i64], test: ArrayView3<'_, f64>, truth: &[i64]) -> Result<f64> {
    let params = MeanParams::default().check()?;
    Ok(100.0 * Mdm::fit(train, labels, Metric::AffineInvariant, &params)?.accuracy(test, truth)?)
}

/// Accuracies of one draw, by method.
fn draw(t: &Trials, e: &Trials, seed: u64, settings: &[(String, AdaptParams)]) -> Result<Vec<(String, f64)>> {
    let params = MeanParams::default().check()?;
    let mut order: Vec<usize> = (0..t.1.len()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let (known, held) = order.split_at((0.8 * t.1.len() as f64).round() as usize);
    let pick = |at: &[usize]| (t.0.select(Axis(0), at), at.iter().map(|&i| t.1[i]).collect::<Vec<_>>());
    let ((x, lx), (new, ln)) = (pick(known), pick(held));
    let (y, ly) = (e.0.view(), &e.1);
    let mut out = vec![("0 nothing".to_owned(), percent(new.view(), &ln, y, ly)?)];
    let all = CommonChannels::all(y.dim().1);
    let recentring = Recentring::fit(x.view(), y, &all, &params)?;
    out.push(("1 recentring".into(), percent(recentring.apply(new.view())?.view(), &ln, y, ly)?));
    let moved = TangentTransport::fit(x.view(), y, &params)?;
    out.push(("2 POT".into(), percent(moved.apply(new.view())?.view(), &ln, moved.target(y)?.view(), ly)?));
    let calibration = (0.2 * ly.len() as f64).round() as usize;
    let (cal, rest) = y.split_at(Axis(0), calibration);
    let (lc, lr) = ly.split_at(calibration);
    let rpa = Procrustes::fit((x.view(), &lx), (cal, lc), &params)?;
    out.push(("3 RPA".into(), percent(rpa.source(new.view())?.view(), &ln, rpa.target(rest)?.view(), lr)?));
    let mdwm = Mdwm::fit((new.view(), &ln), (cal, lc), 0.5, &params)?;
    out.push(("4 MDWM".into(), 100.0 * mdwm.mdm().accuracy(rest, lr)?));
    for (name, setting) in settings {
        let found = adapt(x.view(), y, None, &all, setting, &mut |_, _, _| true)?;
        let name = if found.map.fell_back { format!("{name}") } else { name.clone() };
        out.push((name, percent(found.apply(new.view())?.view(), &ln, y, ly)?));
    }
    Ok(out)
}

/// Reads the files and prints the table.
pub fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a.ends_with(".npz")).collect();
    let draws: u64 = std::env::var("DRAWS").ok().and_then(|v| v.parse().ok()).unwrap_or(10);
    let mut settings = vec![("5 ours".to_owned(), AdaptParams::default())];
    if std::env::var("GRID").is_ok() {
        settings.clear();
        for (rank, penalty, loss, share) in grid() {
            let map = MapParams { rank, penalty, loss, ..MapParams::default() };
            let mut setting =
                AdaptParams { map: MapChoice::Recentred(map, RankChoice::Given), ..AdaptParams::default() };
            setting.pairs.regularisation = Regularisation::Relative(share);
            settings.push((format!("r{rank} p{penalty} {loss:?} {share}"), setting));
        }
    }
    let mut means: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for pair in args.chunks_exact(2) {
        let (mut t, mut e) = (read(&pair[0])?, read(&pair[1])?);
        if std::env::var("TWO").is_ok() {
            for s in [&mut t, &mut e] {
                let keep: Vec<usize> = (0..s.1.len()).filter(|&i| s.1[i] <= 2).collect();
                *s = (s.0.select(Axis(0), &keep), keep.iter().map(|&i| s.1[i]).collect());
            }
        }
        let whole = percent(t.0.view(), &t.1, e.0.view(), &e.1)?;
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        for seed in 0..draws {
            for (name, value) in draw(&t, &e, seed, &settings)? {
                *sums.entry(name).or_default() += value / draws as f64;
            }
        }
        print!("{} {} trials, no adaptation {whole:.2}:", pair[0], t.1.len());
        for (name, value) in &sums {
            print!(" [{name}] {value:.2}");
            means.entry(name.clone()).or_default().push(*value);
        }
        println!();
    }
    for (name, values) in means {
        println!(
            "{name:40} mean {:.2}  worst against recentring see above",
            values.iter().sum::<f64>() / values.len() as f64
        );
    }
    Ok(())
}

fn grid() -> Vec<(usize, f64, MapLoss, f64)> {
    let mut out = Vec::new();
    for rank in [1, 5] {
        for penalty in [0.03, 0.1, 0.3] {
            for loss in [MapLoss::LogEuclidean, MapLoss::AffineInvariant] {
                out.push((rank, penalty, loss, 0.05));
            }
        }
    }
    out
}
