//! The filter against scipy, and the whole path from a simulated GDF file to epochs.

use datasets::bci::{Session, simulated};
use datasets::signal::{SignalParams, bandpass_taps, convolve_same};
use datasets::simulate::SimParams;

#[test]
fn equals_scipy_firwin_and_convolve_same() {
    let h = bandpass_taps(301, 8.0, 30.0, 250.0);
    // scipy 1.17.1: firwin(301, [8, 30], pass_zero=False, fs=250, window='hamming').
    for (i, v) in [
        (0, 0.00016129328319374085),
        (1, 5.283369522740283e-05),
        (150, 0.17582222402985073),
        (300, 0.00016129328319374085),
    ] {
        assert!((h[i] - v).abs() < 1e-15, "tap {i}: {} is not {v}", h[i]);
    }
    let noise = |i: u64| ((i * 1103515245 + 12345) % 2147483648) as f64 / 1073741824.0 - 1.0;
    let x: Vec<f64> = (0..2000).map(noise).collect();
    let y = convolve_same(&x, &h);
    // scipy.signal.convolve(x, h, mode='same', method='direct').
    for (i, v) in [
        (0, -0.0990215377704209),
        (1, -0.15995675461968645),
        (149, -0.27024016226551684),
        (150, -0.1801535184136103),
        (777, -0.0557226530268601),
        (1500, -0.11138278432073875),
        (1998, 0.06847657322162277),
        (1999, 0.08779959819885744),
    ] {
        assert!((y[i] - v).abs() < 1e-12, "sample {i}: {} is not {v}", y[i]);
    }
    let energy: f64 = y.iter().map(|v| v * v).sum();
    assert!((energy - 46.145259255528714).abs() < 1e-11);
}

#[test]
fn parameters_are_checked() {
    let good = SignalParams::default();
    assert_eq!(good.check(250.0).unwrap().epoch_samples(), 1000);
    for bad in [
        SignalParams { order: 301, ..good.clone() },
        SignalParams { low: 0.0, ..good.clone() },
        SignalParams { high: 125.0, ..good.clone() },
        SignalParams { low: f64::NAN, ..good.clone() },
        SignalParams { end: 2.5, ..good.clone() },
    ] {
        assert!(bad.check(250.0).is_err(), "{bad:?}");
    }
    assert!(good.check(f64::NAN).is_err());
    assert!(SimParams { separation: 2.0, ..SimParams::default() }.check().is_err());
    assert!(SimParams { trial_seconds: 6.0, ..SimParams::default() }.check().is_err());
}

#[test]
fn simulated_sessions_go_through_the_same_path() {
    let sim = SimParams { trials_per_class: 6, rejected: 0.2, ..SimParams::default() }.check().unwrap();
    let (t, from) = simulated(&sim, 3, Session::T).unwrap();
    let sum = from.checksum;
    assert_eq!(simulated(&sim, 3, Session::T).unwrap().1.checksum, sum, "the same seed gives the same bytes");
    assert_ne!(simulated(&sim, 3, Session::E).unwrap().1.checksum, sum);
    assert_ne!(simulated(&sim, 4, Session::T).unwrap().1.checksum, sum);
    assert_eq!((t.rate, t.trials.len(), t.signal.nrows()), (250.0, 24, 22));
    assert!(t.signal[(0, 0)].is_nan(), "runs are separated by lost samples");
    let (starts, labels) = t.usable();
    assert!(starts.len() < 24 && starts.len() == labels.len());
    let epochs = SignalParams::default().check(t.rate).unwrap().run(t.signal.view(), &starts).unwrap();
    assert_eq!(epochs.dim(), (starts.len(), 22, 1000));
    assert!(epochs.iter().all(|x| x.is_finite()));
    // The same bits on one thread and on many.
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(one.install(|| simulated(&sim, 3, Session::T).unwrap().1.checksum), sum);
}

#[test]
fn imagery_silences_the_rhythm_on_its_side() {
    let sim = SimParams { trials_per_class: 20, separation: 0.8, ..SimParams::default() }.check().unwrap();
    let (r, _) = simulated(&sim, 1, Session::T).unwrap();
    let (starts, labels) = r.usable();
    let epochs = SignalParams::default().check(r.rate).unwrap().run(r.signal.view(), &starts).unwrap();
    let power = |class: u8, channel: usize| {
        let of_class: Vec<usize> = (0..labels.len()).filter(|i| labels[*i] == class).collect();
        let sum: f64 = of_class.iter().map(|i| epochs.slice(ndarray::s![*i, channel, ..]).mapv(|x| x * x).sum()).sum();
        sum / of_class.len() as f64
    };
    // C3 is channel 7, C4 is channel 11: left hand (1) lowers C4, right hand (2) lowers C3.
    assert!(power(1, 11) < 0.8 * power(2, 11), "{} {}", power(1, 11), power(2, 11));
    assert!(power(2, 7) < 0.8 * power(1, 7), "{} {}", power(2, 7), power(1, 7));
}
