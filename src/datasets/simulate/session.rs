//! One session of one subject: sources, events, mixing, and the GDF file made of them.

use ndarray::{Array1, Array2, s};
use rand::Rng;
use rand::seq::SliceRandom;
use rayon::prelude::*;

use super::head::{EOG, MONTAGE, blink_field, distance, electrode_positions, lead_field, point, rotation};
use super::noise::{normal, pink, rhythm, stream};
use super::params::CheckedSim;
use crate::Result;
use crate::bci::{Session, codes};
use crate::gdf::{Event, GdfWriter};

/// A simulated recording.
pub struct Simulated {
    /// (25 channels, samples) in microvolts: 22 EEG, 3 EOG; NaN where samples are lost.
    pub signal: Array2<f64>,
    /// The event table.
    pub events: Vec<Event>,
}

/// Motor sources: angle and azimuth of the patch in degrees, and the class (1 to 4) whose imagery weakens its rhythm.
const MOTOR: [(f64, f64, u8); 5] =
    [(45.0, 182.0, 2), (45.0, -2.0, 1), (12.0, 265.0, 3), (70.0, 175.0, 4), (70.0, 5.0, 4)];
/// Number of background sources.
const BACKGROUND: usize = 10;
/// Lost samples before each run. In the real recordings lost samples separate the runs, too.
const GAP: usize = 100;
/// Number of runs in a session.
const RUNS: usize = 6;

/// Simulates session `session` of subject `subject`.
pub fn session(sim: &CheckedSim, subject: u8, session: Session) -> Simulated {
    let p = sim.params();
    let rate = f64::from(p.rate);
    // One seed per subject and session; the head of a subject is the same in both sessions.
    let head_seed = p.seed.wrapping_mul(1000).wrapping_add(u64::from(subject) * 10);
    let seed = head_seed + 1 + session as u64;
    let trial = (p.trial_seconds * rate) as usize;
    let trials = 4 * p.trials_per_class;
    let per_run = trials.div_ceil(RUNS);
    let starts: Vec<usize> = (0..trials).map(|i| (i / per_run + 1) * GAP + i * trial).collect();
    let samples = trials.div_ceil(per_run) * GAP + trials * trial + GAP;

    let mut rng = stream(seed, 0);
    let mut labels: Vec<u8> = (0..trials).map(|i| (i % 4) as u8 + 1).collect();
    labels.shuffle(&mut rng);
    let rejected: Vec<bool> = (0..trials).map(|_| rng.random::<f64>() < p.rejected).collect();

    let sources = sources(sim, session, head_seed, seed, samples, &starts, &labels);
    let mixing = mixing(sim, head_seed, session);
    let (blink, mut events) = blinks(sim, seed, samples);
    let mut signal = Array2::zeros((MONTAGE.len() + EOG.len(), samples));
    mix(&mixing, &sources, &blink, &mut signal);
    for e in 0..EOG.len() {
        let mut rng = stream(seed, 2000 + e as u64);
        let gain = [3.0, 5.0, 3.0][e];
        signal
            .row_mut(MONTAGE.len() + e)
            .iter_mut()
            .zip(&blink)
            .for_each(|(x, b)| *x = gain * b + 3.0 * normal(&mut rng));
    }
    for run in 0..trials.div_ceil(per_run) {
        let at = run * (GAP + per_run * trial);
        signal.slice_mut(s![.., at..at + GAP]).fill(f64::NAN);
        events.push(event(at + GAP, codes::NEW_RUN, 0));
    }
    for i in 0..trials {
        events.push(event(starts[i], codes::TRIAL_START, (6.0 * rate) as u32));
        events.push(event(
            starts[i] + (2.0 * rate) as usize,
            codes::CUE_LEFT - 1 + u16::from(labels[i]),
            (1.25 * rate) as u32,
        ));
        if rejected[i] {
            events.push(event(starts[i], codes::REJECTED, (6.0 * rate) as u32));
        }
    }
    events.sort_by_key(|e| (e.position, e.code));
    Simulated { signal, events }
}

/// [`session`] as the bytes of a GDF file with 25 channels.
pub fn session_gdf(sim: &CheckedSim, subject: u8, which: Session) -> Result<Vec<u8>> {
    let simulated = session(sim, subject, which);
    let labels: Vec<&str> = MONTAGE.iter().map(|m| m.0).chain(EOG).collect();
    let mut bytes = Vec::new();
    let text = format!("SIMULATED subject {subject} session {which}");
    GdfWriter::new(sim.params().rate, 400.0).recording(&text).write(
        &mut bytes,
        &labels,
        simulated.signal.view(),
        &simulated.events,
    )?;
    Ok(bytes)
}

/// Writes the EEG channels, `M (sum of lead field times source) + blinks`, in blocks of time that fit the cache.
fn mix(mixing: &Array2<f64>, sources: &[(Array1<f64>, Vec<f64>)], blink: &[f64], signal: &mut Array2<f64>) {
    const BLOCK: usize = 4096;
    let n = MONTAGE.len();
    let mut fields = Array2::zeros((n, sources.len()));
    for (mut column, (field, _)) in fields.columns_mut().into_iter().zip(sources) {
        column.assign(&mixing.dot(field));
    }
    let blink_at = blink_field();
    for start in (0..blink.len()).step_by(BLOCK) {
        let end = (start + BLOCK).min(blink.len());
        let block = Array2::from_shape_fn((sources.len(), end - start), |(s, t)| sources[s].1[start + t]);
        let mut eeg = linalg::matmul(fields.view(), block.view());
        for (mut row, at) in eeg.rows_mut().into_iter().zip(&blink_at) {
            row.iter_mut().zip(&blink[start..end]).for_each(|(x, b)| *x += at * b);
        }
        signal.slice_mut(s![..n, start..end]).assign(&eeg);
    }
}

fn event(position: usize, code: u16, duration: u32) -> Event {
    Event { position: position as u64, code, channel: 0, duration }
}

/// Lead field and time course of every source.
fn sources(
    sim: &CheckedSim,
    session: Session,
    head_seed: u64,
    seed: u64,
    samples: usize,
    starts: &[usize],
    labels: &[u8],
) -> Vec<(Array1<f64>, Vec<f64>)> {
    let p = sim.params();
    let rate = f64::from(p.rate);
    let trial = (p.trial_seconds * rate) as usize;
    let mut head = stream(head_seed, 1);
    let mut plans: Vec<(Array1<f64>, Kind)> = Vec::new();
    let mut drift = stream(head_seed, 4);
    for (angle, azimuth, class) in MOTOR {
        let moved = Drift::draw(p.drift, session, &mut drift);
        let (angle, azimuth) = (angle + moved.angle, azimuth + moved.azimuth);
        let place = point(angle + 4.0 * normal(&mut head), azimuth + 4.0 * normal(&mut head), 0.8);
        let strength = p.rhythm * linalg::math::exp(0.2 * normal(&mut head)) * moved.strength;
        let (mu, beta) = (11.0 + 0.7 * normal(&mut head), 21.0 + 1.5 * normal(&mut head));
        plans.push((
            lead_field(&place),
            Kind::Motor { class, frequency: mu, width: 2.0, amplitude: strength, depth: moved.depth },
        ));
        plans.push((
            lead_field(&place),
            Kind::Motor { class, frequency: beta, width: 4.0, amplitude: 0.5 * strength, depth: moved.depth },
        ));
    }
    let alpha = 10.0 + 0.5 * normal(&mut head);
    plans.push((lead_field(&point(75.0, 270.0, 0.75)), Kind::Alpha { frequency: alpha, amplitude: 1.2 * p.rhythm }));
    for _ in 0..BACKGROUND {
        let place = point(80.0 * head.random::<f64>(), 360.0 * head.random::<f64>(), 0.5 + 0.3 * head.random::<f64>());
        let amplitude = p.background * linalg::math::exp(0.3 * normal(&mut head));
        plans.push((lead_field(&place), Kind::Background { amplitude }));
    }
    for c in 0..MONTAGE.len() {
        let mut field = Array1::zeros(MONTAGE.len());
        field[c] = 1.0;
        plans.push((field, Kind::Sensor));
    }
    plans
        .into_par_iter()
        .enumerate()
        .map(|(i, (field, kind))| {
            let mut rng = stream(seed, 100 + i as u64);
            let course = match kind {
                Kind::Sensor => (0..samples).map(|_| p.sensor_noise * normal(&mut rng)).collect(),
                Kind::Background { amplitude } => scaled(pink(&mut rng, samples), amplitude),
                Kind::Alpha { frequency, amplitude } => {
                    scaled(rhythm(&mut rng, samples, frequency, 2.0, rate), amplitude)
                }
                Kind::Motor { class, frequency, width, amplitude, depth } => {
                    let mut course = scaled(rhythm(&mut rng, samples, frequency, width, rate), amplitude);
                    modulate(&mut course, p.separation * depth, class, rate, trial, starts, labels, &mut rng);
                    course
                }
            };
            (field, course)
        })
        .collect()
}

/// The change of a motor patch, and with it of one class, on day two: its place, the strength of its rhythm and how deep the rhythm falls.
struct Drift {
    angle: f64,
    azimuth: f64,
    strength: f64,
    depth: f64,
}

impl Drift {
    /// The drift of one patch; none on day one. `size` 1 moves a patch by about 12 degrees and changes its rhythm by half.
    fn draw(size: f64, session: Session, rng: &mut rand_chacha::ChaCha8Rng) -> Drift {
        let size = if session == Session::E { size } else { 0.0 };
        let [a, z, s, d] = std::array::from_fn(|_| size * normal(rng));
        let (strength, depth) = (linalg::math::exp(0.4 * s), linalg::math::exp(0.5 * d));
        Drift { angle: 12.0 * a, azimuth: 12.0 * z, strength, depth }
    }
}

enum Kind {
    Motor { class: u8, frequency: f64, width: f64, amplitude: f64, depth: f64 },
    Alpha { frequency: f64, amplitude: f64 },
    Background { amplitude: f64 },
    Sensor,
}

fn scaled(mut x: Vec<f64>, by: f64) -> Vec<f64> {
    x.iter_mut().for_each(|v| *v *= by);
    x
}

/// Event-related desynchronisation: the rhythm falls in trials of its class and grows a little in the others; how much varies from
/// trial to trial. The change begins 0.2 s after the cue (which comes at 2 s), is complete 0.7 s after it, and ends from 6.4 s to 6.8 s.
fn modulate(
    course: &mut [f64],
    separation: f64,
    class: u8,
    rate: f64,
    trial: usize,
    starts: &[usize],
    labels: &[u8],
    rng: &mut rand_chacha::ChaCha8Rng,
) {
    for (start, label) in starts.iter().zip(labels) {
        // The strength of the rhythm varies from trial to trial, as with a subject who is more or less awake.
        let strength = linalg::math::exp(0.25 * normal(rng));
        let depth = if *label == class { -separation } else { 0.25 * separation };
        let depth = depth * (1.0 + 0.3 * normal(rng));
        let (begin, full, end) = (2.2 * rate, 2.7 * rate, 6.4 * rate);
        for (t, x) in course[*start..].iter_mut().take(trial).enumerate() {
            let t = t as f64;
            let rise = ((t - begin) / (full - begin)).clamp(0.0, 1.0);
            let fall = (1.0 - (t - end) / (0.4 * rate)).clamp(0.0, 1.0);
            *x *= (strength * (1.0 + depth * rise.min(fall))).max(0.0);
        }
    }
}

/// The mixing matrix M of a session: the identity on day one. On day two the cap sits a little differently and the gel has dried.
///
/// Which way the electrodes turn and which of them get weaker is random; how far is the same for all subjects.
fn mixing(sim: &CheckedSim, head_seed: u64, session: Session) -> Array2<f64> {
    let n = MONTAGE.len();
    let shift = match session {
        Session::T => return Array2::eye(n),
        Session::E => sim.params().shift,
    };
    let mut rng = stream(head_seed, 2);
    let mut draw = || normal(&mut rng).clamp(-2.0, 2.0);
    let places = electrode_positions();
    let mut skew = Array2::<f64>::zeros((n, n));
    let (mut drawn, mut expected) = (0.0, 0.0);
    for i in 0..n {
        for j in 0..i {
            let near = linalg::math::exp(-(distance(&places[i], &places[j]) / 0.5).powi(2));
            let a = near * draw();
            (skew[(i, j)], skew[(j, i)]) = (a, -a);
            (drawn, expected) = (drawn + a * a, expected + near * near);
        }
    }
    let mut m = rotation(&(skew * (0.15 * shift * (expected / drawn).sqrt())));
    let gains: Array1<f64> = (0..n).map(|_| draw()).collect();
    let gains = &gains - gains.sum() / n as f64;
    let size = (gains.dot(&gains) / n as f64).sqrt();
    for (mut row, gain) in m.rows_mut().into_iter().zip(&gains) {
        row *= linalg::math::exp(0.2 * shift * gain / size);
    }
    m
}

/// Blinks: half sines of 0.3 s, and their entries in the event table.
fn blinks(sim: &CheckedSim, seed: u64, samples: usize) -> (Vec<f64>, Vec<Event>) {
    let p = sim.params();
    let rate = f64::from(p.rate);
    let mut rng = stream(seed, 3);
    let mut course = vec![0.0; samples];
    let mut events = Vec::new();
    let count = (samples as f64 / rate / 60.0 * p.blinks) as usize;
    let width = (0.3 * rate) as usize;
    for _ in 0..count {
        let at = rng.random_range(0..samples.saturating_sub(width).max(1));
        let height = 40.0 * linalg::math::exp(0.3 * normal(&mut rng));
        for (i, x) in course[at..].iter_mut().take(width).enumerate() {
            *x += height * linalg::math::sin(std::f64::consts::PI * i as f64 / width as f64);
        }
        events.push(event(at, codes::EYE_MOVEMENT, width as u32));
    }
    (course, events)
}
