//! `repro`: the program. `kinds/` holds the stage kinds that pipeline.yaml names, `shared/` what several kinds use, `cli/` the
//! commands, `build/` the build script that fingerprints the kinds. The libraries they are built from are in `src/`.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod cli;
mod kinds;
mod shared;

fn main() -> std::process::ExitCode {
    cli::main()
}
