//! Builds the stand-in libcuda.so and libcublas.so with the C++ compiler, once per content.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The files that the libraries are made of, besides the kernels.
const SOURCES: [&str; 5] = ["standin.h", "device.h", "driver.cpp", "fibers.cpp", "blas.cpp"];

/// The crate's folder, whether this file is part of its tests or of the program's.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    if here.join("backend/cuda").exists() { here.into() } else { here.join("src/kraus") }
}

/// kernels.cu, or the file that the script of planted bugs names.
fn kernels() -> PathBuf {
    std::env::var_os("STANDIN_KERNELS").map_or_else(|| root().join("backend/cuda/kernels/kernels.cu"), PathBuf::from)
}

fn compile(folder: &Path, args: &[&str]) {
    let cxx = std::env::var("CXX").unwrap_or("c++".into());
    let done = Command::new(cxx).current_dir(folder).args(args).output().unwrap();
    assert!(done.status.success(), "{args:?}\n{}", String::from_utf8_lossy(&done.stderr));
}

/// A folder of that name with what `make` puts there; made elsewhere and moved, so that it is whole or not there.
fn folder(name: &str, hash: u64, make: impl FnOnce(&Path)) -> PathBuf {
    let done = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{hash:x}"));
    if !done.exists() {
        let scratch = done.with_extension(std::process::id().to_string());
        std::fs::create_dir_all(&scratch).unwrap();
        make(&scratch);
        // Another process may have been faster.
        if std::fs::rename(&scratch, &done).is_err() {
            assert!(done.exists(), "{done:?}");
            std::fs::remove_dir_all(&scratch).unwrap();
        }
    }
    done
}

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// libcuda.so and libcublas.so, and one of each that lacks a symbol, in `broken/`.
fn build() -> PathBuf {
    let source = root().join("tests/standin");
    let sources = hash(SOURCES.map(|f| std::fs::read(source.join(f)).unwrap()));
    // Contraction is off, as in the PTX.
    let include = format!("-I{}", source.display());
    // A planted bug may leave a variable unused.
    let strict = if std::env::var_os("STANDIN_KERNELS").is_some() { "-w" } else { "-Werror" };
    let flags = ["-std=c++17", "-O1", "-fPIC", "-Wall", strict, "-ffp-contract=off", include.as_str(), "-c"];
    let objects = folder("standin-objects", sources, |at| {
        for file in ["driver.cpp", "fibers.cpp", "blas.cpp"] {
            compile(at, &[&flags[..], &[source.join(file).to_str().unwrap()]].concat());
        }
    });
    let ptx = std::fs::read_to_string(root().join("backend/cuda/kernels/kernels.ptx")).unwrap();
    let names = ptx.lines().filter_map(|l| l.split_once(".entry ")?.1.split('(').next());
    let twins: String = names.map(|name| format!("    TWIN({name})\n")).collect();
    let all = format!("  static const std::vector<Twin> all = {{\n{twins}  }};\n  return all;\n");
    let include = format!("#include \"device.h\"\n#include \"{}\"\n", kernels().display());
    let text = format!("{include}const std::vector<Twin>& twins() {{\n{all}}}\n");
    folder("standin", hash((sources, std::fs::read(kernels()).unwrap(), &text)), |at| {
        std::fs::write(at.join("twins.cpp"), text).unwrap();
        compile(at, &[&flags[..], &["twins.cpp"]].concat());
        let object = |name: &str| objects.join(name).to_str().unwrap().to_string();
        for (place, hidden) in [(".", ["none", "none"]), ("broken", ["cuLaunchKernel", "cublasDgemmStridedBatched"])] {
            let place = at.join(place);
            std::fs::create_dir_all(&place).unwrap();
            // cuBLAS needs the driver, which a program finds beside it.
            let driver = vec![object("driver.o"), object("fibers.o"), "twins.o".into()];
            let blas = vec![object("blas.o"), format!("-L{}", place.display()), "-lcuda".into()];
            for (library, parts, hidden) in [("libcuda.so", driver, hidden[0]), ("libcublas.so", blas, hidden[1])] {
                std::fs::write(at.join("hide"), format!("{{ local: {hidden}; }};\n")).unwrap();
                let (soname, out) = (format!("-Wl,-soname,{library}"), place.join(library));
                let mut args = vec!["-shared", "-Wl,--version-script=hide", &soname, "-o", out.to_str().unwrap()];
                args.extend(parts.iter().map(String::as_str));
                compile(at, &args);
            }
        }
    })
}

/// The folder of the libraries; `None`, and a line, where there is no C++ compiler. Builds once per process.
pub fn prepare() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let cxx = std::env::var("CXX").unwrap_or("c++".into());
        if Command::new(cxx).arg("--version").output().is_ok_and(|o| o.status.success()) {
            return Some(build());
        }
        println!("skipped: no C++ compiler (c++, or CXX) to build the stand-in driver with");
        None
    };
    BUILT.get_or_init(build).clone()
}
