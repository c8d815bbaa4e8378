//! `repro`: the program. The paper's stages are the modules here, one file each; what they are built from is in `src/`.

mod adapt;
mod baselines;
mod classify;
mod cli;
mod complete;
mod covariances;
mod defaults;
mod device;
mod evaluate;
mod fetch;
mod files;
mod fill;
mod kernels;
mod mask;
mod matrices;
mod pool;
mod probe;
mod protocol;
mod registry;
mod render;
mod rows;
mod sessions;
mod simulate;
mod source;
mod train;
mod transport;

fn main() -> std::process::ExitCode {
    cli::main()
}
