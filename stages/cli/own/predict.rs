//! `repro predict`: apply a fitted map.

use super::super::text::{count, duration};
use super::arrays::{ArrayInput, piece};
use super::facts::Facts;
use super::{output, times};
use anyhow::{Result, anyhow, ensure};
pub use kraus::regress::Model;
use kraus::regress::Positivity;
use npy::{Dtype, Header};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Apply a fitted map to new matrices
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  repro fit --x X.npy --y Y.npy -o model.npz
  repro predict --model model.npz --x new.npy -o new_Y.npy

new.npy has shape (l, p, p) with the p of the model; new_Y.npy gets shape (l, q, q) and the precision of new.npy. The file is read and
written in pieces, so its size does not matter.")]
pub struct Args {
    /// The model that `repro fit` wrote
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// Inputs, shape (l, p, p)
    #[arg(long, value_name = "FILE")]
    x: String,
    /// Where to write the outputs (.npy)
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    let began = Instant::now();
    output::check_ends(&args.output, &["npy"])?;
    let model = load(&args.model)?;
    let mut x = ArrayInput::open(&args.x)?;
    let (l, p) = x.batch("X")?;
    let (takes, gives) = (times(&[model.p(); 2]), times(&[model.q(); 2]));
    ensure!(
        p == model.p(),
        "{} holds {} matrices and {} takes {takes}; give inputs of that size",
        x.name,
        times(&[p; 2]),
        args.model.display()
    );
    let (step, single) = (piece(x.shape()), x.single());
    let mut outside = 0;
    output::write(&args.output, |out| {
        out.write_all(&Header::new(Dtype::float(single), &[l, model.q(), model.q()]).to_bytes())?;
        for from in (0..l).step_by(step) {
            let block = x.matrices(from..(from + step).min(l))?;
            let (y, left) = model.apply(block.view())?;
            outside += left;
            npy::write_floats(out, single, &y)?;
        }
        Ok(())
    })?;
    let mut facts = Facts::default();
    facts.say("mapped", format!("{}, {takes} -> {gives}, in {}", count(l, "sample"), duration(began.elapsed())), l);
    if let Model::Affine(saved) = &model {
        let then = match saved.map.positivity() {
            Positivity::Output => "and were replaced by the nearest positive semidefinite matrices",
            _ => "and were left as they are",
        };
        match outside {
            0 => facts.say("cone", "no output left it", 0),
            n => facts.say("cone", format!("{n} of {l} outputs had negative eigenvalues {then}"), n),
        }
    }
    facts.say("wrote", args.output.display().to_string(), args.output.display().to_string());
    facts.print(args.json)?;
    Ok(0)
}

/// Reads a model of either kind; the error says which command writes one.
pub fn load(path: &Path) -> Result<Model> {
    output::refuse_target(path)?;
    let explain = |e: kraus::DiskError| match e {
        kraus::DiskError::Io { path, source } => anyhow!("{} cannot be read: {source}", path.display()),
        kraus::DiskError::Corrupt { path, what } => anyhow!("{} is no model of `repro fit`: {what}", path.display()),
        kraus::DiskError::Model { path, source } => anyhow!("{} is no model of `repro fit`: {source}", path.display()),
    };
    Model::load(path).map_err(explain)
}
