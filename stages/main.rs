//! `repro`: the program. The paper's stages are the modules here, one file each; what they are built from is in `src/`.

mod cli;
mod probe;
mod registry;

fn main() -> std::process::ExitCode {
    cli::main()
}
