//! `repro man`: manual pages.

use anyhow::Context as _;
use clap::CommandFactory;
use std::path::PathBuf;

/// Write the manual pages into a folder
///
/// One page for the program and one for each command, as `man` reads them.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  repro man ~/.local/share/man/man1 && man repro-run")]
pub struct Args {
    /// The folder; it is made where it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Run the command.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    fs_err::create_dir_all(&args.folder)?;
    clap_mangen::generate_to(crate::cli::Cli::command(), &args.folder)
        .with_context(|| format!("the manual pages could not be written into {}", args.folder.display()))?;
    Ok(0)
}
