//! `repro schema`: pipeline.yaml as a JSON Schema.

/// Print the JSON Schema of pipeline.yaml, for editors
///
/// Editors with a YAML language server complete and check pipeline.yaml with it: the first line of ours names the copy in
/// the repository, stages/pipeline.schema.json, which a test keeps equal to this output.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  repro schema > stages/pipeline.schema.json     after a kind got a new parameter")]
pub struct Args {}

/// The schema as text, with a line end.
pub fn text() -> anyhow::Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(&pipeline::schema::schema(&crate::kinds::kinds()))?))
}

/// Run the command.
pub fn run(_: &Args) -> anyhow::Result<u8> {
    crate::cli::output(&text()?);
    Ok(0)
}
