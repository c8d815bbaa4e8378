//! The engine's own cost, printed and not judged: `cargo test --release -p pipeline --test engine -- overhead --nocapture`.

#[test]
fn bench_runs_and_a_second_run_does_nothing() {
    let units = std::env::var("BENCH_UNITS").ok().and_then(|v| v.parse().ok()).unwrap_or(200);
    let bench = pipeline::bench_engine(units, &std::env::temp_dir()).unwrap();
    println!("{bench}");
    assert_eq!(bench.units, units);
}
