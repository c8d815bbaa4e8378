//! What the user reads: help texts and refusals, kept as snapshots so that a change of wording is a decision.

mod common;
use common::{Project, SMALL};

/// Help of every command at a fixed width.
#[test]
fn help() {
    let p = Project::new(SMALL);
    let commands = [
        "",
        "run",
        "status",
        "why",
        "dag",
        "path",
        "log",
        "verify",
        "gc",
        "figures",
        "doctor",
        "bench engine",
        "completions",
    ];
    let mut all = String::new();
    for command in commands {
        let output = p.command(command).arg("--help").env("COLUMNS", "100").output().unwrap();
        assert!(output.status.success(), "{command}");
        let text = String::from_utf8(output.stdout).unwrap();
        // The list of the program's commands grows with the house; what each of ours says is kept here.
        let text = if command.is_empty() { text.split("Commands:").next().unwrap().to_string() } else { text };
        all += &format!("$ repro {command} --help\n{text}\n");
    }
    let tidy: String = all.lines().map(|l| format!("{}\n", l.trim_end())).collect();
    insta::assert_snapshot!(tidy);
}

/// Wrong command lines and wrong files: exit code 2 and a sentence that helps.
#[test]
fn refusals() {
    let p = Project::new(SMALL);
    let mut all = String::new();
    let lines = [
        "run mkae",
        "run make/value=9",
        "run all --profile papr",
        "run all --set make.vale=3",
        "run all --set make",
        "run all --jobs 0",
        "run all --force --force-downstream",
        "run all --backend gpu",
        "why",
        "path sum",
        "frobnicate",
        "-C nowhere status",
    ];
    for line in lines {
        let said = p.repro(line);
        assert_eq!(said.code, 2, "repro {line}\n{}{}", said.out, said.err);
        assert_eq!(said.out, "", "a refusal is no result: repro {line}");
        all += &format!("$ repro {line}\n{}\n", said.err.trim_end());
    }
    let broken = [
        ("unknown key", SMALL.replacen("needs:", "neeeds:", 1)),
        ("unknown kind", SMALL.replacen("kind: probe", "kind: prob", 1)),
        ("missing stage", SMALL.replace("[mix]", "[mux]")),
        ("cycle", SMALL.replace("with: {text: raw}", "needs: [sum]")),
        ("wrong type", SMALL.replace("text: raw", "bytes: many")),
        ("tab", SMALL.replace("  sum:", "\tsum:")),
    ];
    for (name, yaml) in broken {
        p.write_yaml(&yaml);
        let said = p.repro("run all");
        assert_eq!(said.code, 2, "{name}\n{}{}", said.out, said.err);
        all += &format!("# pipeline.yaml with a mistake: {name}\n{}\n", said.err.trim_end());
    }
    assert!(p.starts().is_empty(), "something ran");
    insta::assert_snapshot!(all);
}

/// `--backend cuda` runs on a GPU or ends with the reason: never on the processor without a word.
#[test]
fn cuda_is_used_or_refused_with_its_reason() {
    let p = Project::new(SMALL);
    let said = p.repro("run all --backend cuda");
    if said.code == 0 && cfg!(feature = "cuda") {
        return println!("skipped: there is a GPU");
    }
    assert_eq!((said.code, said.out.as_str()), (2, ""), "{}", said.err);
    assert!(said.err.starts_with("error: --backend cuda: ") && said.err.contains("--backend cpu"), "{}", said.err);
    #[cfg(not(feature = "cuda"))]
    assert!(said.err.contains("built without CUDA"), "{}", said.err);
    assert!(p.starts().is_empty(), "something ran");
}
