//! `repro predict`: apply a fitted map.

use super::super::text::{count, duration};
use super::arrays::{ArrayInput, piece};
use super::facts::Facts;
use super::{output, times};
use anyhow::{Result, anyhow, ensure};
use kraus::regress::{Positivity, SavedAffine, load_affine};
use kraus::{Fit, Stack};
use ndarray::{Array3, ArrayView3, Axis};
use npy::{Dtype, Header};
use rayon::prelude::*;
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

/// A model that `repro fit` wrote.
pub enum Model {
    /// Completely positive layers.
    Stack(Fit<f64>),
    /// One map with signs and intercept.
    Affine(SavedAffine),
}

impl Model {
    /// Rows of the inputs.
    pub fn p(&self) -> usize {
        match self {
            Model::Stack(fit) => fit.model.p(),
            Model::Affine(saved) => saved.map.map().p(),
        }
    }

    /// Rows of the outputs.
    pub fn q(&self) -> usize {
        match self {
            Model::Stack(fit) => fit.model.q(),
            Model::Affine(saved) => saved.map.map().q(),
        }
    }

    /// The outputs of a batch, and how many left the cone.
    pub fn apply(&self, x: ArrayView3<'_, f64>) -> Result<(Array3<f64>, usize)> {
        match self {
            Model::Stack(fit) => Ok((apply(&fit.model, x)?, 0)),
            Model::Affine(saved) => saved.map.apply(x).map(|y| (y.matrices, y.outside)).map_err(Into::into),
        }
    }
}

/// Reads a model of either kind; the error says which command writes one.
pub fn load(path: &Path) -> Result<Model> {
    output::refuse_target(path)?;
    let explain = |e: kraus::DiskError| match e {
        kraus::DiskError::Io { path, source } => anyhow!("{} cannot be read: {source}", path.display()),
        kraus::DiskError::Corrupt { path, what } => anyhow!("{} is no model of `repro fit`: {what}", path.display()),
        kraus::DiskError::Model { path, source } => anyhow!("{} is no model of `repro fit`: {source}", path.display()),
    };
    match load_affine(path).map_err(explain)? {
        Some(saved) => Ok(Model::Affine(saved)),
        None => kraus::load(path).map(Model::Stack).map_err(explain),
    }
}

/// The outputs of a batch, a few samples per task.
pub fn apply(model: &Stack<f64>, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
    let parts: Result<Vec<Array3<f64>>, kraus::Error> =
        x.axis_chunks_iter(Axis(0), 64).into_par_iter().map(|c| model.apply_batch(c)).collect();
    let parts = parts?;
    Ok(ndarray::concatenate(Axis(0), &parts.iter().map(|p| p.view()).collect::<Vec<_>>())?)
}
