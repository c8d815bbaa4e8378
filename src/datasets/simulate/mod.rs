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
//! The strengths of shift and drift are one for all subjects: only directions are random. They were chosen so that transport (FullAdapt
//! over NoAdapt) gains about what it gains on real covariances of five subjects of BCI Competition IV 2a (3.1 points on average, -1.4 to
//! 10.4), not by the paper's table. Of the shifts 0.3, 0.35 and 0.4 with a drift of 0.04, five subjects and five seeds gained 2.0, 2.8 and
//! 4.0 points on average; with 0.35 the gains lie between -1.1 and 10.3.
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
