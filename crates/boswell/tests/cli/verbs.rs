//! The verbs of the binary, parsed from its help.

use std::collections::BTreeSet;

/// The verbs in `boswell help`.
pub(crate) struct ListedVerbs {
    /// Every verb without subcommands, and every subcommand with its verb: `hooks status`.
    pub(crate) all: BTreeSet<String>,
    pub(crate) subcommands: BTreeSet<String>,
}

/// Returns the verbs in the help texts that `run` returns.
pub(crate) fn listed(run: impl Fn(&str) -> String) -> ListedVerbs {
    let help = run("help");
    let verbs = verbs_below(&help, |heading| {
        !matches!(heading, "Global options:" | "Examples:" | "Options:")
    });
    assert!(
        verbs.contains("sessions") && verbs.contains("mcp") && verbs.contains("hub"),
        "{help}"
    );
    let (mut all, mut subcommands) = (BTreeSet::new(), BTreeSet::new());
    for verb in verbs {
        let below = verbs_below(&run(&format!("help {verb}")), |heading| heading == "Commands:");
        let below: Vec<String> = below
            .into_iter()
            .filter(|one| one != "help")
            .map(|one| format!("{verb} {one}"))
            .collect();
        match below.is_empty() {
            true => _ = all.insert(verb),
            false => all.extend(below.iter().cloned()),
        }
        subcommands.extend(below);
    }
    assert!(subcommands.contains("hooks status"), "{subcommands:?}");
    ListedVerbs { all, subcommands }
}

/// Returns the verbs in a help text: each is indented by two spaces below an accepted heading.
fn verbs_below(help: &str, is_heading: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut is_listing = false;
    let mut verbs = BTreeSet::new();
    for line in help.lines() {
        match line.strip_prefix("  ") {
            None if !line.is_empty() => is_listing = is_heading(line),
            Some(entry) if is_listing && !entry.starts_with(' ') => {
                verbs.extend(entry.split_whitespace().next().map(str::to_owned));
            }
            _ => {}
        }
    }
    verbs
}
