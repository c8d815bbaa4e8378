//! Writes simulated recordings as GDF files: `simulate FOLDER [SUBJECTS] [PARAMETERS]`, the parameters as JSON, for
//! example `'{"separation": 0.4, "seed": 7}'`.
use datasets::bci::Session;
use datasets::simulate::{SimParams, session_gdf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = std::path::PathBuf::from(args.next().ok_or("give a folder")?);
    let subjects: u8 = args.next().map_or(Ok(1), |a| a.parse())?;
    let params: SimParams = args.next().map_or(Ok(SimParams::default()), |a| serde_json::from_str(&a))?;
    let sim = params.check()?;
    std::fs::create_dir_all(&folder)?;
    for subject in 1..=subjects {
        for session in [Session::T, Session::E] {
            let path = folder.join(format!("A{subject:02}{session}.gdf"));
            std::fs::write(&path, session_gdf(&sim, subject, session)?)?;
            println!("{}", path.display());
        }
    }
    Ok(())
}
