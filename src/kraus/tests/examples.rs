//! The examples run and their own asserts hold.

#[path = "../examples/complete.rs"]
mod complete;
#[path = "../examples/fit_predict.rs"]
mod fit_predict;
#[path = "../examples/inspect.rs"]
mod inspect;
#[path = "../examples/stream.rs"]
mod stream;

#[test]
fn fit_predict_runs() {
    fit_predict::main().unwrap();
}

#[test]
fn stream_runs() {
    stream::main().unwrap();
}

#[test]
fn complete_runs() {
    complete::main().unwrap();
}

#[test]
fn inspect_runs() {
    inspect::main().unwrap();
}
