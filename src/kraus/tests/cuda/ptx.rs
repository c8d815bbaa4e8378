//! kernels.ptx is what kernels.cu gives, and every architecture takes it. Needs NVIDIA's wheels: set CUDA_WHEELS to the
//! folder they were unpacked to (regenerate.py beside the kernels says how); skips with a line otherwise.

use std::process::Command;

#[test]
fn the_committed_ptx_is_the_regenerated_one_and_assembles() {
    let Some(wheels) = std::env::var_os("CUDA_WHEELS") else {
        return println!(
            "skipped: CUDA_WHEELS does not name a folder with NVRTC and ptxas (backend/cuda/kernels/regenerate.py)"
        );
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/backend/cuda/kernels/regenerate.py");
    let done = Command::new("python3").arg(script).arg(wheels).arg("--assemble").output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    println!("{said}");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    for arch in ["sm_70", "sm_80", "sm_90", "sm_100", "sm_120"] {
        assert!(said.contains(&format!("{arch}: ")), "{arch}");
    }
}
