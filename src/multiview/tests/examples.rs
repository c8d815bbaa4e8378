//! The example runs and its own asserts hold.

#[path = "../examples/kernel.rs"]
mod kernel;

#[test]
fn kernel_runs() {
    kernel::main().unwrap();
}
