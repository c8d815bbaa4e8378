//! Builds the stand-in driver and cuBLAS and loads them, so that the real backend runs without a GPU.
//!
//! They are found because `dlopen("libcuda.so")` returns a library of that SONAME that is already loaded. Without a C++
//! compiler nothing can be built: tests then skip with a printed line.

use std::ffi::{CString, c_char, c_int, c_long, c_void};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock};

#[link(name = "dl")]
unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// The files that the libraries are made of.
const SOURCES: [&str; 5] = ["standin.h", "device.h", "driver.cpp", "fibers.cpp", "blas.cpp"];

/// kernels.cu, or the file that the script of planted bugs names.
fn kernels() -> PathBuf {
    std::env::var_os("STANDIN_KERNELS").map_or_else(|| Path::new(ROOT).join("cuda/kernels.cu"), PathBuf::from)
}

fn compile(folder: &Path, args: &[&str]) {
    let cxx = std::env::var("CXX").unwrap_or("c++".into());
    let done = Command::new(cxx).current_dir(folder).args(args).output().unwrap();
    assert!(done.status.success(), "{args:?}\n{}", String::from_utf8_lossy(&done.stderr));
}

/// Builds libcuda.so and libcublas.so once per content, and one of each that lacks a symbol, in `broken/`.
fn build() -> PathBuf {
    let source = Path::new(ROOT).join("tests/standin");
    let ptx = std::fs::read_to_string(Path::new(ROOT).join("cuda/kernels.ptx")).unwrap();
    let mut hash = DefaultHasher::new();
    (std::fs::read(kernels()).unwrap(), &ptx).hash(&mut hash);
    SOURCES.iter().for_each(|f| std::fs::read(source.join(f)).unwrap().hash(&mut hash));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("standin-{:x}", hash.finish()));
    if folder.join("done").exists() {
        return folder;
    }
    std::fs::create_dir_all(folder.join("broken")).unwrap();
    let names = ptx.lines().filter_map(|l| l.split_once(".entry ")?.1.split('(').next());
    let twins: String = names.map(|name| format!("    TWIN({name})\n")).collect();
    let text = format!(
        "#include \"device.h\"\n#include \"{}\"\nconst std::vector<Twin>& twins() {{\n  static const std::vector<Twin> all = \
         {{\n{twins}  }};\n  return all;\n}}\n",
        kernels().display()
    );
    std::fs::write(folder.join("twins.cpp"), text).unwrap();
    // Contraction is off, as in the PTX.
    let include = format!("-I{}", source.display());
    let flags = ["-std=c++17", "-O1", "-fPIC", "-Wall", "-Werror", "-ffp-contract=off", include.as_str(), "-c"];
    for file in ["driver.cpp", "fibers.cpp", "blas.cpp"] {
        compile(&folder, &[&flags[..], &[source.join(file).to_str().unwrap()]].concat());
    }
    compile(&folder, &[&flags[..], &["twins.cpp"]].concat());
    for (at, hidden) in [(".", ["none", "none"]), ("broken", ["cuLaunchKernel", "cublasDgemmStridedBatched"])] {
        let place = folder.join(at);
        for (library, objects, hidden) in
            [("libcuda.so", "driver.o fibers.o twins.o", hidden[0]), ("libcublas.so", "blas.o", hidden[1])]
        {
            std::fs::write(folder.join("hide"), format!("{{ local: {hidden}; }};\n")).unwrap();
            let (soname, out) = (format!("-Wl,-soname,{library}"), place.join(library));
            let mut args = vec!["-shared", "-Wl,--version-script=hide", soname.as_str(), "-o", out.to_str().unwrap()];
            args.extend(objects.split(' '));
            compile(&folder, &args);
        }
    }
    std::fs::write(folder.join("done"), "").unwrap();
    folder
}

fn load(path: &Path) -> *mut c_void {
    let path = CString::new(path.to_str().unwrap()).unwrap();
    // RTLD_NOW | RTLD_GLOBAL: cuBLAS finds the driver's functions.
    // SAFETY: our own libraries, whose initialisers do nothing.
    let library = unsafe { dlopen(path.as_ptr(), 2 | 0x100) };
    assert!(!library.is_null(), "{path:?}");
    library
}

/// The loaded stand-in.
pub struct Standin {
    driver: usize,
    _one_at_a_time: MutexGuard<'static, ()>,
}

/// What to load.
#[derive(Clone, Copy, PartialEq)]
pub enum Load {
    Whole,
    WithoutBlas,
    BrokenDriver,
    BrokenBlas,
}

static ONE: Mutex<()> = Mutex::new(());

/// Builds once per process; `None`, and a line, where there is no C++ compiler.
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

/// Builds and loads, once per process; tests that hold it run one at a time.
pub fn open(what: Load) -> Option<Standin> {
    static LOADED: OnceLock<usize> = OnceLock::new();
    let guard = ONE.lock().unwrap_or_else(|e| e.into_inner());
    let folder = prepare()?;
    let driver = *LOADED.get_or_init(|| {
        let at = |broken: bool, name: &str| if broken { folder.join("broken").join(name) } else { folder.join(name) };
        let driver = load(&at(what == Load::BrokenDriver, "libcuda.so"));
        if what != Load::WithoutBlas {
            load(&at(what == Load::BrokenBlas, "libcublas.so"));
        }
        driver as usize
    });
    Some(Standin { driver, _one_at_a_time: guard })
}

impl Standin {
    fn ask(&self, name: &str) -> i64 {
        let name = CString::new(name).unwrap();
        // SAFETY: the functions take nothing and return a long.
        unsafe {
            let function = dlsym(self.driver as *mut c_void, name.as_ptr());
            assert!(!function.is_null(), "{name:?}");
            std::mem::transmute::<*mut c_void, extern "C" fn() -> c_long>(function)()
        }
    }

    /// Allocations, streams, contexts, modules and handles that nobody has given back.
    pub fn live(&self) -> i64 {
        self.ask("standin_live")
    }

    /// Allocations asked for so far.
    pub fn allocations(&self) -> i64 {
        self.ask("standin_allocations")
    }

    /// Kernels launched so far.
    pub fn launches(&self) -> i64 {
        self.ask("standin_launches")
    }
}
