//! `repro`: the program. The paper's stages are the modules here, one file each; what they are built from is in `src/`.

mod adapt;
mod cli;
mod covariances;
mod fetch;
mod files;
mod probe;
mod registry;
mod rows;
mod sessions;
mod simulate;
mod source;
mod transport;

fn main() -> std::process::ExitCode {
    cli::main()
}
