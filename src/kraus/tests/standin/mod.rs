//! Loads the stand-in driver and cuBLAS, so that the real backend runs without a GPU.
//!
//! They are found because `dlopen("libcuda.so")` returns a library of that SONAME that is already loaded. Without a C++
//! compiler nothing can be built: tests then skip with a printed line.

mod build;

pub use build::prepare;
use std::ffi::{CString, c_char, c_int, c_long, c_void};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock};

#[link(name = "dl")]
unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
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

    /// Kernels launched so far, one by one.
    pub fn launches(&self) -> i64 {
        self.ask("standin_launches")
    }

    /// Graphs replayed so far.
    pub fn replays(&self) -> i64 {
        self.ask("standin_replays")
    }

    /// Allocations that did not fit, so far.
    pub fn refusals(&self) -> i64 {
        self.ask("standin_refusals")
    }

    /// The most bytes in use since the last call.
    pub fn peak(&self) -> i64 {
        self.ask("standin_peak")
    }

    /// Sets one of its habits.
    pub fn set(&self, name: &str, value: i64) {
        // SAFETY: tests that hold a stand-in run one at a time, and it reads the environment in this thread.
        unsafe { std::env::set_var(name, value.to_string()) }
    }

    /// Takes it back.
    pub fn unset(&self, name: &str) {
        // SAFETY: as above.
        unsafe { std::env::remove_var(name) }
    }
}
