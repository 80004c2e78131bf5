//! The verbs of the binary, as its help lists them.

use std::collections::BTreeSet;

/// What `boswell help` lists.
pub(crate) struct ListedVerbs {
    /// Every verb without subcommands, and every subcommand with its verb: `hooks status`.
    pub(crate) all: BTreeSet<String>,
    pub(crate) subcommands: BTreeSet<String>,
}

/// Returns the verbs that `run` lists when it is asked for help.
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

/// Returns the verbs that a help text lists, each after two spaces below one of these headings.
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
