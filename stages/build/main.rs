//! The build script: writes the code fingerprint of every stage kind, and the compiler's version, into the program.

mod fingerprint;

use std::fmt::Write;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let workspace = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    for watched in ["stages", "src", "Cargo.lock", "Cargo.toml"] {
        println!("cargo:rerun-if-changed={watched}");
    }
    let prints = fingerprint::compute(&workspace)?;
    for file in &prints.included {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    let mut code = String::from("&[\n");
    for (kind, sources) in &prints.kinds {
        writeln!(code, "({kind:?}, &[")?;
        for (source, digest) in sources {
            writeln!(code, "  ({source:?}, {digest:?}),")?;
        }
        writeln!(code, "]),")?;
    }
    code.push_str("]\n");
    std::fs::write(PathBuf::from(std::env::var("OUT_DIR")?).join("fingerprints.rs"), code)?;
    let rustc = std::process::Command::new(std::env::var("RUSTC")?).arg("--version").output()?;
    println!("cargo:rustc-env=REPRO_RUSTC={}", String::from_utf8_lossy(&rustc.stdout).trim());
    Ok(())
}
