//! Simulated motor-imagery EEG, for the BCI experiment when no real recording is available.
//!
//! ```text
//! x(t) = M_s ( L s(t) + noise(t) ) + blinks(t)
//! ```
//!
//! Radial dipoles `s` under a 22-electrode cap project through the lead field `L` of an infinite homogeneous conductor. The motor
//! strip has mu (about 11 Hz) and beta (about 21 Hz) rhythms. After the cue they fall at the place of the imagined movement (left
//! hand: right side, right hand: left side, feet: the middle, tongue: low on both sides). Background sources have 1/f spectra, the
//! occipital source has an alpha rhythm. Session T has `M_T = 1`. Session E has `M_E = diag(gain) expm(skew)`: a rotation of nearby
//! electrodes and a change of gains (the shift). In session E each motor patch has also moved and changed by itself, which depends on
//! the class (the drift). Domain adaptation has to undo both.
//!
//! The sizes of shift and drift are the same for all subjects; only their directions are random. They were not chosen by the paper's
//! table, but so that transport (FullAdapt over NoAdapt) gains about as much as on real covariances of five subjects of BCI
//! Competition IV 2a (3.1 points on average, from -1.4 to 10.4). With a drift of 0.04 and the shifts 0.3, 0.35 and 0.4, five subjects
//! and five seeds gained 2.0, 2.8 and 4.0 points on average; with a shift of 0.35 the gains lie between -1.1 and 10.3.
//!
//! The result is a genuine GDF file ([`session_gdf`]) that is read with the same code as the real recordings.
//! This is a stand-in, not a model of any subject: everything made from it must say SIMULATED.

mod head;
mod noise;
mod params;
mod session;

pub use head::{EOG, MONTAGE, electrode_positions};
pub use params::{CheckedSim, SimParams};
pub use session::{Simulated, session, session_gdf};
