//! `repro completions`: scripts for the shell. They know commands and flags from the parser, and ask the program for stages
//! and units where a target is expected.

use crate::cli::options::Choose;
use crate::cli::project;
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::Path;

/// Write the completion script of a shell to stdout
///
/// Put it where your shell looks for completions. In a project it completes stages and units, too.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro completions bash > ~/.local/share/bash-completion/completions/repro
  repro completions zsh > ~/.zfunc/_repro
  repro completions fish > ~/.config/fish/completions/repro.fish")]
pub struct Args {
    /// Which shell
    shell: Shell,
}

/// Commands whose words are targets.
const WITH_TARGETS: &str = "run why path get log verify figures pull";

const BASH: &str = r#"
_repro_targets() {
    local command="" word
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case $word in -*) ;; *) command=$word; break ;; esac
    done
    case " COMMANDS " in
        *" $command "*)
            if [[ -n $command && ${COMP_WORDS[COMP_CWORD]} != -* && ${COMP_WORDS[COMP_CWORD-1]} != --* ]]; then
                # `=` splits words in bash: the unit is taken from the line, and what stands before the word is cut off again.
                local line=${COMP_LINE:0:COMP_POINT} whole
                whole=${line##* }
                local cut=${whole%"${COMP_WORDS[COMP_CWORD]}"}
                [[ ${COMP_WORDS[COMP_CWORD]} == = ]] && cut=$whole
                COMPREPLY=()
                while IFS= read -r word; do COMPREPLY+=("${word#"$cut"}"); done < <(repro list-targets -- "$whole" 2>/dev/null)
                return 0
            fi ;;
    esac
    _repro "$@"
}
complete -F _repro_targets -o nosort -o bashdefault -o default repro
"#;

const ZSH: &str = r#"
functions[_repro_static]=$functions[_repro]
_repro() {
    local -a commands=(COMMANDS)
    if (( CURRENT > 2 )) && (( ${commands[(Ie)${words[2]}]} )) && [[ $PREFIX != -* ]]; then
        compadd -- ${(f)"$(repro list-targets -- "$PREFIX" 2>/dev/null)"}
    else
        _repro_static "$@"
    fi
}
"#;

const FISH: &str = r#"
complete -c repro -n "__fish_seen_subcommand_from COMMANDS" -f -a "(repro list-targets -- (commandline -ct) 2>/dev/null)"
"#;

/// Run the command.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    // The generator panics when it writes to a closed pipe, so it writes into memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::cli::Cli::command(), "repro", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    let with = |text: &str| text.replace("COMMANDS", WITH_TARGETS);
    match args.shell {
        Shell::Bash => script += &with(BASH),
        Shell::Fish => script += &with(FISH),
        // Its last statement starts the function when zsh loads the file, so ours must stand before it.
        Shell::Zsh => {
            let end = script.rfind("\nif [ \"$funcstack[1]\"").unwrap_or(script.len());
            script.insert_str(end, &with(ZSH));
        }
        _ => {}
    }
    crate::cli::output(&script);
    Ok(0)
}

/// List targets for the completion of a shell
#[derive(clap::Args, Debug)]
pub struct TargetArgs {
    /// What is typed so far
    #[arg(default_value = "")]
    start: String,
}

/// More lines than this help nobody.
const MOST: usize = 500;

/// `repro list-targets`: stages; behind a slash the units of the stage. Says nothing where there is no project.
pub fn targets(args: &TargetArgs, dir: Option<&Path>) -> anyhow::Result<u8> {
    let Ok(plan) = project::find(dir).and_then(|folder| project::plan(&folder, &Choose::default())) else {
        return Ok(0);
    };
    let stages = plan.stages.iter().map(|s| s.name.as_str()).chain(["all"]);
    let units = plan.units.iter().filter(|_| args.start.contains('/')).map(|u| u.id.as_str());
    let mut found: Vec<&str> = stages.chain(units).filter(|name| name.starts_with(&args.start)).collect();
    found.dedup();
    found.truncate(MOST);
    crate::cli::output(&found.iter().map(|name| format!("{name}\n")).collect::<String>());
    Ok(0)
}
