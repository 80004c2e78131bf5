//! Rules about manifests, documents and fixtures.
//!
//! Manifests are parsed line by line, which works because they all have the same style.

use super::rust::{Source, module_folder};
use super::{Complaint, Tree, complain};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of packages in Cargo.lock, because we are responsible for all code that we build. Before you raise it, look for a
/// dependency that can be removed.
const LOCK_PACKAGES_MAX: usize = 350;

/// Dependencies that only some crates may use: names, or prefixes followed by `*`.
const RESTRICTED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("clap*", &["boswell"]),
    // It only connects the database driver with TLS.
    ("tokio-postgres*", &["memory"]),
    ("tokio*", &["boswell"]),
    ("axum*", &["boswell"]),
    ("rusqlite*", &["memory", "testkit"]),
    ("postgres*", &["memory", "testkit"]),
];

/// Pages that may contain timings that `./bench` did not write, and why.
const TIMED_PAGES: &[&str] = &[
    // `./bench` writes this page, and a test compares it with the figures.
    "docs/dev/benchmarks.md",
    // It compares a directory with a server, which `./bench` does not measure yet.
    "docs/dev/scale.md",
];

/// User names that may follow `/home/`, because they are fictitious.
const FICTITIOUS_USERS: &[&str] = &["ada", "alice", "bob", "demo", "dev", "me", "user", "you"];

/// Top-level directories of build machines.
const BUILD_DIRECTORIES: &[&str] = &["root", "work", "workspace", "builds"];

pub(super) fn check(tree: &Tree, sources: &[Source], out: &mut Vec<Complaint>) {
    for (path, text) in &tree.files {
        workplace(path, text, out);
        if path.ends_with(".md") {
            links(tree, path, text, out);
            speeds(path, text, out);
        }
    }
    lock_ceiling(tree, out);
    dependencies(tree, out);
    verbs(tree, out);
    listed_modules(tree, sources, out);
    fixtures(tree, sources, out);
}

/// Forbids paths that exist only on one developer's machine.
fn workplace(path: &str, text: &str, out: &mut Vec<Complaint>) {
    for (index, line) in text.lines().enumerate() {
        for name in home_names(line) {
            if !FICTITIOUS_USERS.contains(&name) {
                let known = FICTITIOUS_USERS.join(", ");
                let message = format!("a home of `{name}`; made-up people are {known}");
                complain(out, path, index + 1, "workplace", message);
            }
        }
        for folder in BUILD_DIRECTORIES {
            let folder = format!("/{folder}/");
            if line.match_indices(&folder).any(|(at, _)| begins_a_path(line, at)) {
                let message = "the path of a build machine".to_string();
                complain(out, path, index + 1, "workplace", message);
            }
        }
    }
}

/// Returns the names after `/home/`, `/Users/` and `\Users\`, even if the backslash is escaped.
fn home_names(line: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for mark in ["/home/", "/Users/", "\\Users\\"] {
        for (at, _) in line.match_indices(mark) {
            let rest = line[at + mark.len()..].trim_start_matches('\\');
            let end = rest.find(|c: char| !(c.is_alphanumeric() || "._-".contains(c)));
            let name = &rest[..end.unwrap_or(rest.len())];
            let goes_on = rest[name.len()..].starts_with(['/', '\\']);
            if goes_on && !name.is_empty() {
                names.push(name);
            }
        }
    }
    names
}

fn begins_a_path(line: &str, at: usize) -> bool {
    let before = line[..at].chars().next_back();
    !before.is_some_and(|c| c.is_alphanumeric() || "._-~}/$>)*".contains(c))
}

/// Requires that links to files of the repository resolve.
fn links(tree: &Tree, path: &str, text: &str, out: &mut Vec<Complaint>) {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    for (index, line) in text.lines().enumerate() {
        for piece in line.split("](").skip(1) {
            let target = piece.split([')', '#', ' ']).next().unwrap_or("");
            if target.is_empty() || target.contains(':') {
                continue;
            }
            let full = resolve(folder, target);
            let below = format!("{full}/");
            let exists = tree.files.contains_key(&full) || tree.files.keys().any(|file| file.starts_with(&below));
            if !exists {
                let message = format!("the link leads nowhere: `{target}`");
                complain(out, path, index + 1, "link", message);
            }
        }
    }
}

/// Forbids timings that `./bench` did not measure. Design notes are exempt, because they record what was known at the time.
fn speeds(path: &str, text: &str, out: &mut Vec<Complaint>) {
    let is_page = path == "README.md" || path.starts_with("docs/") && !path.starts_with("docs/design/");
    if !is_page || TIMED_PAGES.contains(&path) {
        return;
    }
    let mut is_written = false;
    for (index, line) in text.lines().enumerate() {
        is_written = (is_written || line.contains("written by ./bench")) && !line.contains("until here");
        if !is_written && contains_timing(line) {
            let message = "a figure of speed; `./bench` writes those into `docs/dev/benchmarks.md`".to_string();
            complain(out, path, index + 1, "speed", message);
        }
    }
}

/// Whether a line contains a number with a unit of time or throughput.
fn contains_timing(line: &str) -> bool {
    let words: Vec<&str> = line
        .split([' ', '|', '(', ')'])
        .filter(|word| !word.is_empty())
        .collect();
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let is_unit = |word: &str| {
        matches!(
            word.trim_end_matches(['.', ',', ';', ':']),
            "ms" | "µs" | "MB/s" | "GB/s"
        )
    };
    let is_times = |words: &[&str]| {
        matches!(
            words,
            ["times", "as", "fast" | "long", ..] | ["times", "faster" | "slower", ..]
        )
    };
    (1..words.len()).any(|at| is_number(words[at - 1]) && (is_unit(words[at]) || is_times(&words[at..])))
}

fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

fn lock_ceiling(tree: &Tree, out: &mut Vec<Complaint>) {
    let lock = tree.files.get("Cargo.lock").map_or("", String::as_str);
    let packages = lock.lines().filter(|line| *line == "[[package]]").count();
    if packages > LOCK_PACKAGES_MAX {
        let message = format!("{packages} packages, {LOCK_PACKAGES_MAX} are allowed");
        complain(out, "Cargo.lock", 1, "lock", message);
    }
}

/// One dependency in a manifest.
struct Dependency<'a> {
    manifest: &'a str,
    line: usize,
    name: String,
    /// True if it is listed in `[workspace.dependencies]`, which alone does not mean that a crate uses it.
    is_offer: bool,
}

/// Requires a reason for every dependency, a dependency for every reason, and that restricted dependencies are used only where allowed.
fn dependencies(tree: &Tree, out: &mut Vec<Complaint>) {
    const LIST: &str = "docs/dev/dependencies.md";
    let manifests: Vec<_> = tree
        .files
        .iter()
        .filter(|(path, _)| *path == "Cargo.toml" || path.ends_with("/Cargo.toml"))
        .collect();
    let ours: BTreeSet<&str> = manifests.iter().filter_map(|(_, text)| package_name(text)).collect();
    let named: Vec<_> = manifests
        .iter()
        .flat_map(|(path, text)| named_dependencies(path, text))
        .filter(|dependency| !ours.contains(dependency.name.as_str()))
        .collect();
    let used: BTreeSet<&str> = named
        .iter()
        .filter(|dependency| !dependency.is_offer)
        .map(|dependency| dependency.name.as_str())
        .collect();
    let reasons = reasons(tree.files.get(LIST).map_or("", String::as_str));

    for dependency in &named {
        let Dependency {
            manifest, line, name, ..
        } = dependency;
        if !reasons.contains_key(name.as_str()) {
            let message = format!("`{name}` has no line in `{LIST}` that says why");
            complain(out, manifest, *line, "dependencies", message);
        }
        if dependency.is_offer && !used.contains(name.as_str()) {
            let message = format!("no crate uses `{name}`");
            complain(out, manifest, *line, "dependencies", message);
        }
        if let Some(homes) = crates_allowed_to_use(dependency) {
            let message = format!("`{name}` belongs into {homes} only");
            complain(out, manifest, *line, "home", message);
        }
    }
    for (name, line) in reasons {
        if !named.iter().any(|dependency| dependency.name == name) {
            let message = format!("no manifest names `{name}`");
            complain(out, LIST, line, "dependencies", message);
        }
    }
}

fn package_name(manifest: &str) -> Option<&str> {
    let package = manifest.split("[package]").nth(1)?;
    let line = package.lines().find(|line| line.starts_with("name"))?;
    line.split('"').nth(1)
}

fn named_dependencies<'a>(manifest: &'a str, text: &str) -> Vec<Dependency<'a>> {
    let mut found = Vec::new();
    let mut section = String::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let mut push = |name: &str, is_offer| {
            found.push(Dependency {
                manifest,
                line: index + 1,
                name: name.trim_matches('"').to_string(),
                is_offer,
            });
        };
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']').to_string();
            // `[dependencies.name]` is a table of its own.
            if let Some((before, name)) = section.rsplit_once('.')
                && before.ends_with("dependencies")
            {
                push(name, before == "workspace.dependencies");
            }
        } else if section.ends_with("dependencies") && line.contains('=') && !line.starts_with('#') {
            let name = line.split(['=', '.', ' ']).next().unwrap_or("");
            push(name, section == "workspace.dependencies");
        }
    }
    found
}

/// Returns the crates that may use a dependency if the crate that uses it is not among them.
fn crates_allowed_to_use(dependency: &Dependency<'_>) -> Option<String> {
    let owner = dependency.manifest.strip_prefix("crates/")?.split('/').next()?;
    let fits = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => dependency.name.starts_with(beginning),
        None => dependency.name == pattern,
    };
    let (_, homes) = RESTRICTED_DEPENDENCIES.iter().find(|(pattern, _)| fits(pattern))?;
    (!homes.contains(&owner)).then(|| homes.join(" and "))
}

/// Parses the lines "- `name`: why".
fn reasons(list: &str) -> BTreeMap<&str, usize> {
    list.lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let (name, why) = line.strip_prefix("- `")?.split_once("`: ")?;
            (!why.trim().is_empty()).then_some((name, index + 1))
        })
        .collect()
}

/// Requires that each verb in the README is in the generated reference.
fn verbs(tree: &Tree, out: &mut Vec<Complaint>) {
    const REFERENCE: &str = "docs/cli.md";
    let readme = tree.files.get("README.md").map_or("", String::as_str);
    let reference = tree.files.get(REFERENCE).map_or("", String::as_str);
    let words: Vec<&str> = reference.split(|c: char| !(c == '-' || c.is_alphanumeric())).collect();
    let known: BTreeSet<&str> = words
        .windows(2)
        .filter(|pair| pair[0] == "boswell")
        .map(|pair| pair[1])
        .collect();
    for (line, verb) in shown_verbs(readme) {
        if !known.contains(verb) {
            let message = format!("`boswell {verb}` is not in `{REFERENCE}`");
            complain(out, "README.md", line, "verbs", message);
        }
    }
}

/// Returns the lower-case words after `boswell` or `cargo run … --` in code spans and code blocks.
fn shown_verbs(text: &str) -> Vec<(usize, &str)> {
    let mut verbs = Vec::new();
    let mut in_block = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            continue;
        }
        let spans = line.split('`').enumerate();
        for (_, code) in spans.filter(|(n, _)| in_block || n % 2 == 1) {
            let words: Vec<&str> = code.split_whitespace().collect();
            let is_run = code.trim_start().starts_with("cargo run");
            for pair in words.windows(2) {
                let is_call = pair[0] == "boswell" || (is_run && pair[0] == "--");
                let is_verb = pair[1].chars().all(|c| c.is_ascii_lowercase() || c == '-') && !pair[1].starts_with('-');
                if is_call && is_verb {
                    verbs.push((index + 1, pair[1]));
                }
            }
        }
    }
    verbs
}

/// Requires that each Rust file is declared as a module, because otherwise it is never compiled and its tests never run.
fn listed_modules(tree: &Tree, sources: &[Source], out: &mut Vec<Complaint>) {
    let mut declared = BTreeSet::new();
    for source in sources {
        for (line, code) in source.all_code() {
            let Some(name) = declared_module(code) else {
                continue;
            };
            // `#[path = "…"]` on the previous line names the file.
            let path = source
                .literals
                .iter()
                .find(|literal| literal.line + 1 == line && source.code[line - 2].contains("#[path"));
            let folder = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            declared.insert(match path {
                Some(literal) => resolve(folder, &literal.text),
                None => format!("{}/{name}.rs", module_folder(&source.path)),
            });
        }
    }
    for source in sources {
        let path = source.path.as_str();
        if !is_crate_root(path) && path.starts_with("crates/") && !declared.contains(path) {
            let list = lister(tree, path);
            let message = format!("`{list}` does not list it, so it is never compiled");
            complain(out, path, 1, "unlisted", message);
        }
    }
}

/// Returns the name in `mod name;`.
fn declared_module(code: &str) -> Option<&str> {
    let (before, rest) = code.split_once("mod ")?;
    let is_item = before.trim().is_empty() || before.trim_start().starts_with("pub");
    let name = rest.trim().strip_suffix(';')?;
    is_item.then_some(name.trim())
}

/// Whether cargo discovers the file without a declaration.
fn is_crate_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(
        parts.as_slice(),
        ["crates", _, "build.rs"]
            | ["crates", _, "src", "lib.rs" | "main.rs"]
            | ["crates", _, "src", "bin", ..]
            | ["crates", _, "tests" | "benches" | "examples", _]
            | ["crates", _, "tests" | "benches" | "examples", _, "main.rs"]
    )
}

fn lister(tree: &Tree, path: &str) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    ["main.rs", "lib.rs"]
        .iter()
        .map(|name| format!("{folder}/{name}"))
        .find(|file| tree.files.contains_key(file))
        .unwrap_or_else(|| format!("{folder}.rs"))
}

/// Requires that each fixture is named by a test.
fn fixtures(tree: &Tree, sources: &[Source], out: &mut Vec<Complaint>) {
    let literals: Vec<&str> = sources
        .iter()
        .flat_map(|source| source.literals.iter().map(|literal| literal.text.as_str()))
        .collect();
    for path in tree.files.keys() {
        if let Some(below) = below_fixtures(path)
            && !below.ends_with("README.md")
            && !is_named(tree, path, below, &literals)
        {
            let message = format!("no test names `{below}` or a folder above it");
            complain(out, path, 1, "fixture", message);
        }
    }
}

fn below_fixtures(path: &str) -> Option<&str> {
    path.strip_prefix("fixtures/")
        .or_else(|| Some(path.split_once("/fixtures/")?.1))
}

/// Whether a literal names a fixture by its file name, its stem, or its directory as `fixtures/<folder>`. A literal that names a
/// session's log also names the other parts of the session.
fn is_named(tree: &Tree, path: &str, below: &str, literals: &[&str]) -> bool {
    let name = below.rsplit('/').next().unwrap_or(below);
    let stem = name.split('.').next().unwrap_or(name);
    let by_file = |text: &&str| text.contains(name) || text.rsplit('/').next() == Some(stem);
    if literals.iter().any(by_file) {
        return true;
    }
    let folders = below.match_indices('/').map(|(at, _)| &below[..at]);
    folders.into_iter().any(|folder| {
        let whole = format!("fixtures/{folder}");
        let by_folder = |text: &&str| {
            let text = text.split('*').next().unwrap_or(text).trim_end_matches('/');
            text.ends_with(&whole)
        };
        let before = &path[..path.len() - below.len()];
        let log = format!("{before}{folder}.jsonl");
        literals.iter().any(by_folder)
            || tree.files.contains_key(&log) && is_named(tree, &log, &format!("{folder}.jsonl"), literals)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints_about(files: &[(&str, &str)]) -> Vec<String> {
        let tree = Tree::of(files);
        let mut out = Vec::new();
        check(&tree, &tree.sources(), &mut out);
        out.sort();
        out.iter()
            .map(|c| format!("{}:{} {}", c.path, c.line, c.rule))
            .collect()
    }

    #[test]
    fn home_directories_of_real_users_and_build_machines_are_forbidden() {
        for line in [
            concat!("cd /ho", "me/jane/src"),
            concat!("\"cwd\":\"/Us", "ers/jane.doe/src\""),
            concat!("C:\\\\Us", "ers\\\\jane\\\\src"),
            concat!("see /ro", "ot/.cargo"),
            concat!("(/wo", "rk/main)"),
        ] {
            assert_eq!(complaints_about(&[("a.md", line)]), ["a.md:1 workplace"], "{line}");
        }
        for line in [
            "/home/ada/shop",
            "C:\\Users\\ada\\shop",
            "/home/<name>/",
            concat!("crates/memory/wo", "rk/x"),
            concat!("https://example.org/ro", "ot/x"),
            concat!("~/wo", "rk/x"),
        ] {
            assert!(complaints_about(&[("a.md", line)]).is_empty(), "{line}");
        }
    }

    #[test]
    fn a_broken_link_is_forbidden() {
        let page = (
            "docs/a.md",
            "[b](b.md) [c](../C.md#x) [d](https://d) [e](#e) [f](../docs)",
        );
        let found = complaints_about(&[page, ("C.md", "")]);
        assert_eq!(found, ["docs/a.md:1 link"]);
        assert!(complaints_about(&[page, ("C.md", ""), ("docs/b.md", "")]).is_empty());
    }

    #[test]
    fn a_timing_that_the_bench_did_not_write_is_forbidden() {
        for line in [
            "| `usage` | 25 ms |",
            "it takes 1.5 ms.",
            "at 300 MB/s",
            "11 times as fast",
            "2 times slower",
        ] {
            assert_eq!(
                complaints_about(&[("docs/a.md", line)]),
                ["docs/a.md:1 speed"],
                "{line}"
            );
            assert!(complaints_about(&[("docs/dev/benchmarks.md", line)]).is_empty());
            assert!(complaints_about(&[("docs/design/0001.md", line)]).is_empty());
            let written = format!("<!-- written by ./bench -->\n{line}\n<!-- until here -->");
            assert!(complaints_about(&[("README.md", &written)]).is_empty());
            assert_eq!(
                complaints_about(&[("README.md", &format!("{written}\n{line}"))]),
                ["README.md:4 speed"]
            );
        }
        for line in [
            "in some ms",
            "`duration_ms`",
            "300 MB",
            "three times as fast as it grows",
        ] {
            assert!(complaints_about(&[("docs/a.md", line)]).is_empty(), "{line}");
        }
    }

    #[test]
    fn too_many_packages_in_the_lock_file_are_forbidden() {
        let of = |packages| "[[package]]\n".repeat(packages);
        assert!(complaints_about(&[("Cargo.lock", &of(LOCK_PACKAGES_MAX))]).is_empty());
        let one_more = of(LOCK_PACKAGES_MAX + 1);
        assert_eq!(complaints_about(&[("Cargo.lock", &one_more)]), ["Cargo.lock:1 lock"]);
    }

    const ROOT: &str = "[workspace.dependencies]\nboswell-memory = { path = \"x\" }\nserde = \"1\"\n";
    const MEMORY: &str = "[package]\nname = \"boswell-memory\"\n[dependencies]\nserde.workspace = true\n";

    #[test]
    fn the_list_of_dependencies_and_the_manifests_agree() {
        let manifests = [("Cargo.toml", ROOT), ("crates/memory/Cargo.toml", MEMORY)];
        let with = |list| [manifests[0], manifests[1], ("docs/dev/dependencies.md", list)];
        assert!(complaints_about(&with("- `serde`: derives\n")).is_empty());
        let missing = ["Cargo.toml:3 dependencies", "crates/memory/Cargo.toml:4 dependencies"];
        assert_eq!(complaints_about(&with("")), missing);
        assert_eq!(
            complaints_about(&with("- `serde`: \n")),
            missing,
            "a line needs its reason"
        );
        let gone = complaints_about(&with("- `serde`: derives\n- `gone`: was nice\n"));
        assert_eq!(gone, ["docs/dev/dependencies.md:2 dependencies"]);
    }

    #[test]
    fn a_dependency_that_no_crate_uses_is_reported() {
        let list = ("docs/dev/dependencies.md", "- `serde`: derives\n");
        assert_eq!(
            complaints_about(&[("Cargo.toml", ROOT), list]),
            [
                // Without its manifest, our own crate looks like an external one.
                "Cargo.toml:2 dependencies",
                "Cargo.toml:2 dependencies",
                "Cargo.toml:3 dependencies",
            ]
        );
    }

    #[test]
    fn restricted_dependencies_stay_in_their_crates() {
        let list = (
            "docs/dev/dependencies.md",
            "- `clap`: a\n- `tokio`: b\n- `rusqlite`: c\n",
        );
        for (section, name) in [
            ("[dependencies]", "clap = \"4\""),
            ("[dev-dependencies]", "tokio.workspace = true"),
            ("[target.'cfg(unix)'.dependencies]", "rusqlite = \"1\""),
        ] {
            let text = format!("{section}\n{name}\n");
            let found = complaints_about(&[("crates/transcript/Cargo.toml", &text), list]);
            assert!(
                found.contains(&"crates/transcript/Cargo.toml:2 home".to_string()),
                "{name}"
            );
        }
        let table = "[dependencies.clap]\nversion = \"4\"\n";
        let found = complaints_about(&[("crates/memory/Cargo.toml", table), list]);
        assert!(found.contains(&"crates/memory/Cargo.toml:1 home".to_string()));
        let door = complaints_about(&[("crates/boswell/Cargo.toml", table), list]);
        assert!(!door.iter().any(|line| line.ends_with("home")), "{door:?}");
    }

    #[test]
    fn a_verb_of_the_readme_is_in_the_reference() {
        let readme = "Use `boswell read LOG`.\n```\ncargo run --release -- demo\nboswell doctor\n```\n";
        let whole = "## `boswell read`\n## `boswell demo`\n## `boswell doctor`\n";
        assert!(complaints_about(&[("README.md", readme), ("docs/cli.md", whole)]).is_empty());
        assert_eq!(
            complaints_about(&[("README.md", readme), ("docs/cli.md", "`boswell doctor`\n")]),
            ["README.md:1 verbs", "README.md:3 verbs"]
        );
        assert!(complaints_about(&[("README.md", "boswell is nice, `boswell --help`\n")]).is_empty());
    }

    #[test]
    fn a_test_file_that_main_does_not_list_is_reported() {
        let main = ("crates/boswell/tests/cli/main.rs", "mod read;\n// mod doctor;\n");
        let read = ("crates/boswell/tests/cli/read.rs", "");
        let doctor = ("crates/boswell/tests/cli/doctor.rs", "");
        assert!(complaints_about(&[main, read]).is_empty());
        let expected = ["crates/boswell/tests/cli/doctor.rs:1 unlisted"];
        assert_eq!(complaints_about(&[main, read, doctor]), expected);
    }

    #[test]
    fn a_source_file_without_a_declaration_is_reported() {
        let lib = ("crates/memory/src/lib.rs", "pub mod store;\n");
        let store = ("crates/memory/src/store.rs", "pub(crate) mod frames;\n");
        let frames = ("crates/memory/src/store/frames.rs", "");
        assert!(complaints_about(&[lib, store, frames]).is_empty());
        let lost = ("crates/memory/src/store/lost.rs", "");
        let expected = ["crates/memory/src/store/lost.rs:1 unlisted"];
        assert_eq!(complaints_about(&[lib, store, frames, lost]), expected);
    }

    #[test]
    fn a_fixture_that_no_test_names_is_reported() {
        let log = ("fixtures/claude/2.1.0/torn.jsonl", "");
        let lone = ["fixtures/claude/2.1.0/torn.jsonl:1 fixture"];
        let with = |text| complaints_about(&[log, ("crates/transcript/tests/a.rs", text)]);
        assert_eq!(with("check(\"worn\")"), lone);
        assert_eq!(with("// torn.jsonl"), lone);
        assert_eq!(with("read(\"fixtures\")"), lone);
        assert!(with("check(\"torn\")").is_empty());
        assert!(with("include_str!(\"../x/torn.jsonl\")").is_empty());
        assert!(with("walk(\"../../fixtures/claude\")").is_empty());
        assert!(with("glob!(\"fixtures/claude/2.1.0/*.jsonl\")").is_empty());
    }

    #[test]
    fn a_literal_that_names_a_log_also_names_its_parts() {
        let log = ("fixtures/claude/torn.jsonl", "");
        let part = ("fixtures/claude/torn/subagents/agent-1.jsonl", "");
        let test = |text| ("crates/transcript/tests/a.rs", text);
        assert!(complaints_about(&[log, part, test("check(\"torn\")")]).is_empty());
        assert_eq!(complaints_about(&[log, part, test("")]).len(), 2);
    }
}
