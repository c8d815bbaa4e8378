//! Charts: what a figure shows (curves, points, matrices), its axes and its style, and the layout of panels and legend.
//!
//! A chart is described by plain data ([`figure`]) and drawn with plotters' chart API on a recording backend
//! ([`crate::drawing::backend`]). Ours are, beside the description:
//!
//! | ours | because |
//! |---|---|
//! | [`axis`]: ends and words of labels | plotters takes ends as given, and writes 1e-5 where readers expect 10⁻⁵ |
//! | `elements`: markers with a rim, large matrices as one picture | plotters has three markers and no picture that scales |
//! | `layout`: places of panels | plotters neither measures labels nor aligns the plotting areas of neighbours |
//! | `legend`: below the panels | plotters' legend lies inside the plotting area and covers data |

pub mod axis;
mod bars;
mod elements;
pub mod figure;
mod heat;
mod layout;
mod legend;
pub mod style;
mod xy;
