//! Transfer between two domains of SPD matrices (sessions, subjects, devices): the learned map and its rivals.
//!
//! | file | method | needs labels of the target |
//! |---|---|---|
//! | `recentre` | recentring: both means go to one point | no |
//! | `procrustes` | Riemannian Procrustes analysis: recentring, scaling, rotation of the class means | yes |
//! | `mdwm` | minimum distance to weighted mean: class means of both domains, mixed | yes |
//! | `tangent_transport` | exact transport of tangent vectors with POT's rule for new matrices | no |
//! | `pairs` | entropic transport: pairs (source, mapped source) that a map can be learned from | no |
//! | `learned` | a Kraus map learned from such pairs, started at recentring; `output_loss` is its objective | no |
//! | `paper_map` | the paper's way to learn the map: Adam on the square loss | no |
//! | `class_filter` | a pinching that keeps what tells the classes of the source apart | no, those of the source |
//! | `adapt` | the whole procedure behind `repro adapt` and the stages | no |
//! | `positive_map` | the form of all learned maps: Kraus operators and measurements | |
//!
//! Matrices of the source are mapped, those of the target stay as they are. A classifier is then trained on the mapped source.

mod adapt;
mod class_filter;
mod learned;
mod mdwm;
mod output_loss;
mod pairs;
mod paper_map;
mod positive_map;
mod procrustes;
mod recentre;
mod tangent_transport;

pub use adapt::{AdaptParams, Adaptation, MapChoice, RankChoice, Step, Surroundings, adapt};
pub use class_filter::{ClassFilter, FilterParams, class_filter};
pub use learned::{LearnedMap, MapLoss, MapParams, learn_map};
pub use mdwm::Mdwm;
pub use pairs::{CostIn, Pairs, PairsParams, Regularisation, transport_pairs};
pub use paper_map::{PaperMapParams, Scaling, Trainer, learn_paper_map, learn_paper_map_by};
pub use positive_map::PositiveMap;
pub use procrustes::Procrustes;
pub use recentre::{CommonChannels, Recentring};
pub use tangent_transport::TangentTransport;
