//! Simulated motor-imagery EEG: what the BCI branch runs on when no real recording can be had.
//!
//! ```text
//! x(t) = M_s ( L s(t) + noise(t) ) + blinks(t)
//! ```
//!
//! Radial dipoles `s` under a 22-electrode cap project through the lead field `L` of an infinite homogeneous conductor. The motor
//! strip carries mu (about 11 Hz) and beta (about 21 Hz) rhythms that fall after the cue where the imagined movement
//! lives (left hand: right side, right hand: left side, feet: the middle, tongue: low on both sides). Background sources have 1/f spectra,
//! the occipital one an alpha rhythm. Session T is recorded with `M_T = 1`; session E with
//! `M_E = diag(gain) expm(skew)`, a rotation of nearby electrodes and a change of gains, and its motor patches have moved and changed,
//! each on its own, so that the drift depends on the class: the shift that domain adaptation has to undo.
//!
//! The strength of the shift is one for all subjects. It was set from a few runs in which recentring gained 3 to 7 points
//! on three subjects (on real covariances of BCI Competition IV 2a, left against right hand: about 3), not by the paper's table. It was not
//! calibrated over several seeds.
//!
//! The result is a genuine GDF file ([`session_gdf`]) that is read back through the same path as the real recordings.
//! This is a stand-in, not a model of any subject: everything made from it must say SIMULATED.

mod head;
mod noise;
mod params;
mod session;

pub use head::{EOG, MONTAGE, electrode_positions};
pub use params::{CheckedSim, SimParams};
pub use session::{Simulated, session, session_gdf};
