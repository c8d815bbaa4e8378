//! The examples run and their own asserts hold.

#[path = "../examples/adapt.rs"]
mod adapt;
#[path = "../examples/mdm.rs"]
mod mdm;

#[test]
fn adapt_runs() {
    adapt::main().unwrap();
}

#[test]
fn mdm_runs() {
    mdm::main().unwrap();
}
