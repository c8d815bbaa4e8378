//! `repro completions`: scripts for the shell.

use clap::CommandFactory;

/// Write the completion script of a shell to stdout
///
/// Put it where your shell looks for completions.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro completions bash > ~/.local/share/bash-completion/completions/repro
  repro completions zsh > ~/.zfunc/_repro
  repro completions fish > ~/.config/fish/completions/repro.fish")]
pub struct Args {
    /// Which shell
    shell: clap_complete::Shell,
}

/// Run the command.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    // The generator panics when it writes to a closed pipe, so it writes into memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::cli::Cli::command(), "repro", &mut script);
    crate::cli::output(&String::from_utf8_lossy(&script));
    Ok(0)
}
