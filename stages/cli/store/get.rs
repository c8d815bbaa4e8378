//! `repro get`: copies artefacts out of the store under readable names.

use crate::cli::options::View;
use crate::cli::output;
use crate::cli::own::output::write;
use crate::cli::project::Project;
use anyhow::{Result, ensure};
use pipeline::Located;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Copy artefacts out of the store, under readable names
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro get table4                             table4/table4.md, table4/table4.csv and so on
  repro get train -o results                   every unit of a stage: results/train/rank=5,seed=1/model.npz
  repro get train/rank=5,seed=1 model.npz      one file

Each copy is compared with the digest of the result. A file that is there already and has other bytes is not replaced; --force does.")]
pub struct Args {
    /// STAGE, STAGE/UNIT or a pattern with * and ?
    #[arg(value_name = "TARGET")]
    target: String,
    /// Only the artefact of this name
    #[arg(value_name = "ARTEFACT")]
    artefact: Option<String>,
    /// Folder to copy into; it is made if it is not there [default: the current folder]
    #[arg(short, long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    output: PathBuf,
    /// Replace files that have other bytes
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    view: View,
}

/// Run the command.
pub fn run(args: &Args, dir: Option<&Path>) -> Result<u8> {
    let engine = Project::look(dir, &args.view)?.engine()?;
    let found = engine.locate(std::slice::from_ref(&args.target), args.artefact.as_deref())?;
    // All are read and compared before the first is written: a refusal leaves nothing half-copied.
    let mut copies = Vec::new();
    for artefact in &found {
        let to = args.output.join(place(artefact));
        // A FIFO or a device is not read: that could wait for ever.
        let file = std::fs::metadata(&to).is_ok_and(|m| m.is_file());
        let there = file.then(|| std::fs::read(&to)).and_then(Result::ok).map(|bytes| digest(&bytes));
        let same = there.as_ref().is_some_and(|digest| *digest == artefact.digest.to_string());
        let free = there.is_none() && std::fs::symlink_metadata(&to).is_err();
        ensure!(
            same || free || args.force,
            "{} is there already and is not this result; give another folder with -o, or --force to replace it",
            to.display()
        );
        copies.push((artefact, to, same));
    }
    for (artefact, to, same) in copies {
        if !same {
            copy(artefact, &to)?;
        }
        output(&format!("{}\n", to.display()));
    }
    Ok(0)
}

/// `STAGE/UNIT/ARTEFACT`, or `STAGE/ARTEFACT` where the stage has one unit.
fn place(artefact: &Located) -> PathBuf {
    let (stage, unit) = artefact.unit.split_once('/').unwrap_or((&artefact.unit, ""));
    // A slash in an axis value is no folder.
    let unit = unit.replace('/', "_");
    let folder = Path::new(stage);
    if unit.is_empty() { folder.join(&artefact.artefact) } else { folder.join(unit).join(&artefact.artefact) }
}

fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn copy(artefact: &Located, to: &Path) -> Result<()> {
    let bytes = fs_err::read(&artefact.path)?;
    ensure!(
        digest(&bytes) == artefact.digest.to_string(),
        "`{}`: artefact `{}` is corrupt in the store; `repro run '{0}'` mends it",
        artefact.unit,
        artefact.artefact
    );
    if let Some(folder) = to.parent() {
        fs_err::create_dir_all(folder)?;
    }
    write(to, |out| Ok(out.write_all(&bytes)?))
}
