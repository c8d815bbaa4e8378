//! `repro inspect`: what a file holds. Models, arrays and recordings each have their page.

mod arrays;
mod model;
mod recording;

use super::arrays::conversion;
use super::facts::Facts;
use anyhow::{Result, bail};
use std::path::PathBuf;

/// Show what a file holds: a fitted model, arrays (.npy, .npz, .mat) or a recording (.gdf)
///
/// Of a model: shapes, spectrum of the Choi matrix, trace preservation, history. The eigenvalues of the Choi matrix are the squared sizes of
/// orthogonal Kraus operators: how many are not small is the rank that the data really used. A map preserves the trace where
/// sum_k A_k^T A_k is the identity. Of arrays: shapes, types and ranges. Of a recording: channels, rates, length and how often each event occurs.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro inspect model.npz
  repro inspect model.npz --plot     with the spectrum and the loss as small plots
  repro inspect A01T.gdf             channels and events, before `repro covariances`
  repro inspect data.mat --json      for scripts")]
pub struct Args {
    /// A model that `repro fit` wrote, or a .npy, .npz, .mat or .gdf file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Of a model: draw the spectrum and the loss
    #[arg(long)]
    plot: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "plot")]
    json: bool,
}

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    let name = args.file.display().to_string();
    if let Some(conversion) = conversion(&name) {
        bail!("{conversion}");
    }
    let lower = name.to_ascii_lowercase();
    let mut facts = Facts::default();
    if lower.ends_with(".gdf") {
        recording::show(&args.file, &mut facts)?;
    } else if lower.ends_with(".npy") {
        arrays::npy(&name, &mut facts)?;
    } else if lower.ends_with(".mat") {
        arrays::mat(&name, &mut facts)?;
    } else if lower.ends_with(".npz") && !arrays::is_model(&name)? {
        arrays::npz(&name, &mut facts)?;
    } else {
        return model::show(&args.file, args.plot, args.json);
    }
    facts.print(args.json)?;
    Ok(0)
}
