//! Sixteen or eight small matrices at once, one per lane of a vector.
//!
//! | file | what it holds |
//! |---|---|
//! | `lane` | the layout of a batch and the operations on its rows |
//! | `product` | the public products, and putting samples into lanes |
//! | `product_tile`, `gradient_tile` | their register tiles |
//! | `pack` | copies of rows into lanes |
//! | `jacobi` | eigenvalues and singular values of all matrices of a batch |
//! | `null_space` | the vectors of vanishing singular values |
//! | `clamp` | clamped spectra and their derivative |
//! | `eight` | the vector of eight numbers for algorithms of other crates, and how matrices are put into its lanes |

mod clamp;
mod eight;
mod gradient_tile;
mod jacobi;
mod lane;
mod null_space;
mod pack;
mod product;
mod product_tile;

pub use clamp::Clamp;
pub(crate) use clamp::{backward_body, forward_body};
pub use eight::{F64x8, pack_eight, pack_lane, unpack_lane};
pub(crate) use gradient_tile::{LaneSum, lane_sum};
pub use lane::{LANES, Lane};
pub(crate) use pack::lane_pack;
pub(crate) use product::lane_residual_body;
pub use product::{Store, lane_gemm, lane_gradient, lane_mirror, lane_put, lane_residual};
pub(crate) use product_tile::lane_product;
