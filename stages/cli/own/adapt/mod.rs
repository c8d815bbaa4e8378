//! `repro adapt`: learn a map of SPD matrices from one domain (a session, a device) to another, and apply it.
//!
//! The procedure is `spd::adapt`; here are the arguments (`args`), the files and what is printed. `sources` reads and checks,
//! `summary` prints, `plot` draws.

mod args;
mod plot;
mod sources;
mod summary;

use super::super::text::duration;
use super::arrays::{ArrayInput, piece};
use super::facts::Facts;
use super::output::{self, Member};
use anyhow::{Result, bail, ensure};
pub use args::Args;
use kraus::{Fit, KrausMap, Stack};
use ndarray::{Array3, Axis, concatenate};
use npy::{Dtype, Header};
use sources::{Domain, Domains};
use spd::{Adaptation, adapt};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    let began = Instant::now();
    args.check()?;
    let Domains { sources, target, common, reduction } = Domains::read(args)?;
    let params = args.params();
    let mut facts = Facts::default();
    summary::domains(&mut facts, &sources, &target, &common, reduction.as_ref());
    let mut found: Vec<Adaptation> = Vec::new();
    for source in &sources {
        let learned = adapt(
            source.matrices.view(),
            target.matrices.view(),
            source.labels.as_ref(),
            &common,
            &params,
            &mut |_, _, _| true,
        );
        found.push(learned.map_err(|e| anyhow::anyhow!("{} to {}: {e}", source.name, target.name))?);
    }
    summary::maps(&mut facts, args, &sources, &target, &found)?;
    let mapped = images(&sources, &found, |source, found| found.apply(source.matrices.view()))?;
    let transported = images(&sources, &found, |_, found| Ok(found.pairs.mapped.clone()))?;
    let mut members = vec![
        ("mapped".to_owned(), Member::Floats(mapped.clone().into_dyn())),
        ("transported".to_owned(), Member::Floats(transported.into_dyn())),
    ];
    for (k, one) in found.iter().enumerate() {
        let name = if found.len() == 1 { "plan".to_owned() } else { format!("plan{k}") };
        members.push((name, Member::Floats(one.pairs.plan.plan.clone().into_dyn())));
    }
    if let Some(reduction) = &reduction {
        members.push(("basis".to_owned(), Member::Floats(reduction.basis().clone().into_dyn())));
    }
    let mut written: Vec<PathBuf> = Vec::new();
    let result = (|| -> Result<()> {
        if let (Some(path), [one]) = (&args.model, found.as_slice()) {
            let map = KrausMap::new(one.map.map.kraus()?)?;
            let model = Stack::new(vec![map], kraus::Gamma::None)?;
            kraus::save(path, &Fit { model, history: Default::default(), last: None })?;
            written.push(path.clone());
        }
        if let (Some(file), [one]) = (&args.new, found.as_slice()) {
            let new = stream(args, file, one, reduction.as_ref(), &mut facts)?;
            if let Some(path) = &args.new_output {
                written.push(path.clone());
            }
            if let Some(new) = new {
                members.push(("new".to_owned(), Member::Floats(new.into_dyn())));
            }
        }
        if let Some(path) = &args.plot {
            plot::draw(path, &sources, &target, &mapped)?;
            written.push(path.clone());
        }
        let (names, arrays): (Vec<String>, Vec<Member>) = members.into_iter().unzip();
        output::npz(&args.output, &names.iter().map(String::as_str).zip(arrays).collect::<Vec<_>>())
    })();
    if let Err(e) = result {
        // All or nothing; the first error is the one to report.
        written.iter().for_each(|path| drop(std::fs::remove_file(path)));
        return Err(e);
    }
    facts.say("time", duration(began.elapsed()), began.elapsed().as_secs_f64());
    facts.say("wrote", args.output.display().to_string(), args.output.display().to_string());
    facts.print(args.json)?;
    Ok(0)
}

/// One batch per source, one after the other.
fn images(
    sources: &[Domain],
    found: &[Adaptation],
    of: impl Fn(&Domain, &Adaptation) -> Result<Array3<f64>, spd::Error>,
) -> Result<Array3<f64>> {
    let parts = sources.iter().zip(found).map(|(s, f)| of(s, f)).collect::<Result<Vec<_>, _>>()?;
    Ok(concatenate(Axis(0), &parts.iter().map(|p| p.view()).collect::<Vec<_>>())?)
}

/// Maps the matrices of `file` in pieces: into --new-output, or into one array.
fn stream(
    args: &Args,
    file: &str,
    found: &Adaptation,
    reduction: Option<&spd::Reduction>,
    facts: &mut Facts,
) -> Result<Option<Array3<f64>>> {
    let mut new = ArrayInput::open(file)?;
    let (l, n) = new.batch("the new matrices")?;
    let p = reduction.map_or(found.map.map.sizes().0, |r| r.basis().nrows());
    ensure!(n == p, "{file} holds {n} x {n} matrices and {} holds {p} x {p}; both must agree", args.source[0]);
    let (step, single, q) = (piece(new.shape()), new.single(), found.map.map.sizes().1);
    let trained_on = found.surroundings()?;
    let mut outside = 0;
    let mut each = |from: usize| -> Result<Array3<f64>> {
        let block = new.matrices(from..(from + step).min(l))?;
        let block = match reduction {
            Some(reduction) => reduction.apply(block.view())?,
            None => block,
        };
        outside += match trained_on.outside(block.view()) {
            Ok(count) => count,
            Err(spd::Error::NotPositiveDefinite { index, .. }) => bail!(
                "{file}: matrix {} is not positive definite or of deficient rank; use a shrinkage covariance, --reduce, or drop it",
                from + index
            ),
            Err(e) => return Err(e.into()),
        };
        Ok(found.apply(block.view())?)
    };
    let images = match &args.new_output {
        Some(path) => {
            output::write(path, |out| {
                out.write_all(&Header::new(Dtype::float(single), &[l, q, q]).to_bytes())?;
                (0..l).step_by(step).try_for_each(|from| Ok(npy::write_floats(out, single, &each(from)?)?))
            })?;
            None
        }
        None => {
            let mut all = Array3::zeros((l, q, q));
            for from in (0..l).step_by(step) {
                let block = each(from)?;
                all.slice_mut(ndarray::s![from..from + block.dim().0, .., ..]).assign(&block);
            }
            Some(all)
        }
    };
    summary::new(facts, l, outside);
    Ok(images)
}
