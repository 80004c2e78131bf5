//! The graph of modules: which module of a crate imports which, and which crate imports which.
//!
//! A module is a top-level file or folder of `src/`; each command in `commands/` of `boswell` is a module of its own. The rules: no
//! cycle between the modules of a crate, no command that imports another command, and no import of a crate that [`LAYERS`] does not
//! allow. The graph is computed from `use` items and from paths in code, without tests. A call of a method is not seen, because it
//! names no module.

use super::rust::{Source, is_word};
use super::{Complaint, complain};
use std::collections::{BTreeMap, BTreeSet};

/// Each crate of the workspace and the crates that its product code may import. A new crate needs a line here.
const LAYERS: &[(&str, &[&str])] = &[
    ("transcript", &[]),
    ("memory", &["transcript"]),
    ("render", &["transcript"]),
    ("film", &["transcript", "render"]),
    ("boswell", &["transcript", "memory", "render", "film"]),
    ("testkit", &[]),
];

/// An import between two modules of one crate that is tolerated until it is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KnownEdge {
    pub krate: &'static str,
    pub from: &'static str,
    pub to: &'static str,
}

/// The imports that still form a cycle or join two commands. The list only shrinks: an entry that is no longer needed is a complaint.
#[rustfmt::skip]
pub(super) const KNOWN: &[KnownEdge] = &[
    KnownEdge { krate: "memory", from: "reported_facts", to: "digest" },
    KnownEdge { krate: "memory", from: "outcome", to: "digest" },
    KnownEdge { krate: "memory", from: "signals", to: "digest" },
    KnownEdge { krate: "memory", from: "spool", to: "sweep" },
    KnownEdge { krate: "memory", from: "store", to: "digest" },
    KnownEdge { krate: "render", from: "dress", to: "cards" },
    KnownEdge { krate: "render", from: "markdown", to: "the root" },
    KnownEdge { krate: "transcript", from: "claude", to: "state" },
    KnownEdge { krate: "transcript", from: "codex", to: "state" },
    KnownEdge { krate: "transcript", from: "grok", to: "state" },
    KnownEdge { krate: "transcript", from: "texts", to: "claude" },
    KnownEdge { krate: "transcript", from: "texts", to: "codex" },
    KnownEdge { krate: "transcript", from: "texts", to: "grok" },
];

/// One import: where it is written, and the path it names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Import {
    path: String,
    line: usize,
    name: String,
}

/// The imports of one crate, by importing and imported module.
type Edges = BTreeMap<(String, String), Vec<Import>>;

pub(super) fn check(sources: &[Source], known: &[KnownEdge], out: &mut Vec<Complaint>) {
    let crates: BTreeSet<&str> = sources.iter().filter_map(|s| crate_of(&s.path)).collect();
    for name in &crates {
        let files: Vec<&Source> = sources.iter().filter(|s| crate_of(&s.path) == Some(name)).collect();
        check_layers(name, &crates, &files, out);
        let known: BTreeSet<(&str, &str)> = known
            .iter()
            .filter(|edge| edge.krate == *name)
            .map(|edge| (edge.from, edge.to))
            .collect();
        check_modules(name, &module_edges(&files), &known, out);
    }
}

/// The crate whose library or program a file is part of. A file in `src/bin` is a program of its own, which nothing can import.
fn crate_of(path: &str) -> Option<&str> {
    let (name, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    (rest.starts_with("src/") && !rest.starts_with("src/bin/")).then_some(name)
}

fn check_layers(name: &str, crates: &BTreeSet<&str>, files: &[&Source], out: &mut Vec<Complaint>) {
    let Some((_, allowed)) = LAYERS.iter().find(|(krate, _)| *krate == name) else {
        let message = format!("`{name}` is missing in `LAYERS` of `crates/testkit/src/tidy/graph.rs`");
        let manifest = format!("crates/{name}/Cargo.toml");
        complain(out, &manifest, 1, "layers", message);
        return;
    };
    for source in files {
        let paths = paths_in(source);
        // A module or an imported item may have the name of a crate.
        let is_local = |krate: &str| {
            paths.bound.contains(krate)
                || paths
                    .used
                    .iter()
                    .any(|p| p.is_use && p.segments.len() > 1 && p.last() == krate)
        };
        for path in &paths.used {
            let first = path.segments[0].as_str();
            let is_crate = crates.contains(first) && (path.is_global || !is_local(first));
            if is_crate && path.segments.len() > 1 && first != name && !allowed.contains(&first) {
                let message = format!("`{name}` must not import `{first}`: {}", path.segments.join("::"));
                complain(out, &source.path, path.line, "layers", message);
            }
        }
    }
}

/// Complains about cycles and about commands that import commands, except for the imports in `known`, and about entries of `known`
/// that are not needed.
fn check_modules(name: &str, edges: &Edges, known: &BTreeSet<(&str, &str)>, out: &mut Vec<Complaint>) {
    let is_known = |edge: &(String, String)| known.contains(&(edge.0.as_str(), edge.1.as_str()));
    let component = components(edges.keys());
    let without_known = components(edges.keys().filter(|edge| !is_known(edge)));
    for (edge, imports) in edges {
        let (from, to) = edge;
        let joins_commands = is_command(from) && is_command(to);
        let is_wrong = joins_commands || without_known[from] == without_known[to];
        if is_known(edge) || !is_wrong {
            continue;
        }
        for import in imports {
            let message = if joins_commands {
                format!(
                    "`{from}` imports another command, `{}`: move what both need out of `commands`",
                    import.name
                )
            } else {
                format!(
                    "`{from}` imports `{}`, which is part of a cycle: {}",
                    import.name,
                    cycle(edges, from, to)
                )
            };
            complain(out, &import.path, import.line, "cycle", message);
        }
    }
    for (from, to) in known {
        let edge = (from.to_string(), to.to_string());
        let joins_commands = is_command(from) && is_command(to);
        let is_needed = edges.contains_key(&edge) && (joins_commands || component[&edge.0] == component[&edge.1]);
        if !is_needed {
            let message = format!("the entry `{name}`: `{from}` → `{to}` of `KNOWN` is not needed any more: remove it");
            complain(out, "crates/testkit/src/tidy/graph.rs", 1, "cycle", message);
        }
    }
}

fn is_command(module: &str) -> bool {
    module.starts_with("commands::")
}

/// Returns the shortest path from `to` back to `from`, as text.
fn cycle(edges: &Edges, from: &str, to: &str) -> String {
    let mut ways = vec![vec![from, to]];
    let mut seen = BTreeSet::from([to]);
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let end = way[way.len() - 1];
            for (_, next) in edges.keys().filter(|(start, _)| start == end) {
                let mut way = way.clone();
                way.push(next);
                if next == from {
                    return way.join(" → ");
                }
                if seen.insert(next) {
                    longer.push(way);
                }
            }
        }
        ways = longer;
    }
    format!("{from} → {to}")
}

/// Numbers the modules so that two have the same number if each can be reached from the other.
fn components<'a>(edges: impl Iterator<Item = &'a (String, String)>) -> Components {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in edges {
        next.entry(from).or_default().insert(to);
        next.entry(to).or_default();
    }
    let reach: BTreeMap<&str, BTreeSet<&str>> = next.keys().map(|start| (*start, reachable(&next, start))).collect();
    let mut numbers = Components::default();
    for (number, module) in next.keys().enumerate() {
        let first = reach[module]
            .iter()
            .filter(|other| reach[*other].contains(module))
            .min();
        let number = first.and_then(|first| numbers.0.get(*first).copied()).unwrap_or(number);
        numbers.0.insert(module.to_string(), number);
    }
    numbers
}

fn reachable<'a>(next: &BTreeMap<&'a str, BTreeSet<&'a str>>, start: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = next[start].iter().copied().collect();
    while let Some(module) = open.pop() {
        if found.insert(module) {
            open.extend(&next[module]);
        }
    }
    found
}

/// The number of each module. A module that no import names has the number of no other.
#[derive(Debug, Default)]
struct Components(BTreeMap<String, usize>);

impl std::ops::Index<&String> for Components {
    type Output = usize;

    fn index(&self, module: &String) -> &usize {
        self.0.get(module).unwrap_or(&usize::MAX)
    }
}

/// Returns the imports between the modules of the crate that consists of `files`.
fn module_edges(files: &[&Source]) -> Edges {
    let modules: BTreeSet<Vec<String>> = files.iter().map(|source| module_path(&source.path)).collect();
    let mut edges = Edges::new();
    for source in files {
        let from = node(&module_path(&source.path), &modules);
        for path in paths_in(source).used {
            let Some(target) = resolve(&path, &modules) else {
                continue;
            };
            let to = node(&target, &modules);
            if to != from {
                edges.entry((from.clone(), to)).or_default().push(Import {
                    path: source.path.clone(),
                    line: path.line,
                    name: target.join("::"),
                });
            }
        }
    }
    edges
}

/// The module that a file is: `crates/a/src/b/c.rs` is `b::c`, and the root of a crate has no name.
fn module_path(file: &str) -> Vec<String> {
    let inside = file.split_once("/src/").map_or(file, |(_, inside)| inside);
    let parts: Vec<String> = inside.trim_end_matches(".rs").split('/').map(str::to_string).collect();
    match parts.as_slice() {
        [root] if matches!(root.as_str(), "lib" | "main") => Vec::new(),
        _ => parts,
    }
}

/// The node of the graph that a path is part of.
fn node(path: &[String], modules: &BTreeSet<Vec<String>>) -> String {
    let has = |path: &[String]| modules.iter().any(|module| module.starts_with(path));
    match path {
        [first, second, ..] if first == "commands" && has(&path[..2]) => format!("{first}::{second}"),
        [first, ..] if has(&path[..1]) => first.clone(),
        _ => "the root".to_string(),
    }
}

/// Resolves a path to one that begins at the root of its crate, or returns `None` if it leads out of the crate or its start is not
/// known to be a module.
fn resolve(path: &UsedPath, modules: &BTreeSet<Vec<String>>) -> Option<Vec<String>> {
    let mut target = path.module.clone();
    let mut rest = path.segments.as_slice();
    match rest.first()?.as_str() {
        _ if path.is_global => return None,
        "crate" => target.clear(),
        "self" => {}
        "super" => {
            target.pop();
        }
        // A bare name at the root of the crate may be one of its modules.
        first if target.is_empty() && modules.iter().any(|m| m.first().is_some_and(|m| m == first)) => {
            return (rest.len() > 1).then(|| rest.to_vec());
        }
        _ => return None,
    }
    rest = &rest[1..];
    while rest.first().is_some_and(|segment| segment == "super") {
        target.pop();
        rest = &rest[1..];
    }
    if rest.is_empty() && !path.is_use {
        // `pub(crate)` and `pub(super)` are no imports.
        return None;
    }
    target.extend(rest.iter().filter(|segment| *segment != "self").cloned());
    Some(target)
}

/// A path in code, from its first name to its last.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UsedPath {
    line: usize,
    /// The module in which the path is written.
    module: Vec<String>,
    segments: Vec<String>,
    is_use: bool,
    /// Begins with `::`, so that its first name is a crate.
    is_global: bool,
}

impl UsedPath {
    fn last(&self) -> &str {
        self.segments.last().map_or("", String::as_str)
    }
}

/// The paths of one file, and the names of the modules that it declares.
#[derive(Debug, Default)]
struct Paths {
    used: Vec<UsedPath>,
    bound: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TokenKind {
    Name(String),
    /// `::`
    Colons,
    Other(char),
}

#[derive(Debug, Clone)]
struct Token {
    line: usize,
    kind: TokenKind,
}

/// Splits the product code of a file into names, `::` and single characters.
fn tokens(source: &Source) -> Vec<Token> {
    let mut tokens = Vec::new();
    for (line, code) in source.product_code() {
        let mut rest = code;
        while let Some(first) = rest.chars().next() {
            let width = if is_word(first) {
                let width = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let kind = TokenKind::Name(rest[..width].to_string());
                tokens.push(Token { line, kind });
                width
            } else if rest.starts_with("::") {
                let kind = TokenKind::Colons;
                tokens.push(Token { line, kind });
                2
            } else {
                if !first.is_whitespace() {
                    let kind = TokenKind::Other(first);
                    tokens.push(Token { line, kind });
                }
                first.len_utf8()
            };
            rest = &rest[width..];
        }
    }
    tokens
}

/// Finds every path with at least two names, and the single names inside the braces of a `use`.
fn paths_in(source: &Source) -> Paths {
    let mut scan = PathScan {
        tokens: tokens(source),
        module: module_path(&source.path),
        paths: Paths::default(),
    };
    let mut at = 0;
    let mut depth = 0;
    // The braces of inline modules that are open: at which depth each was opened.
    let mut inline = Vec::new();
    while let Some(token) = scan.tokens.get(at) {
        match &token.kind {
            TokenKind::Other('{') => depth += 1,
            TokenKind::Other('}') => {
                depth -= 1;
                if inline.last() == Some(&depth) {
                    inline.pop();
                    scan.module.pop();
                }
            }
            TokenKind::Name(word) if word == "use" => {
                at = scan.tree(at + 1, &[], UseOrCode::Use);
                continue;
            }
            TokenKind::Name(word) if word == "mod" => {
                if let Some(TokenKind::Name(name)) = scan.kind(at + 1) {
                    let name = name.clone();
                    scan.paths.bound.insert(name.clone());
                    if scan.kind(at + 2) == Some(&TokenKind::Other('{')) {
                        inline.push(depth);
                        scan.module.push(name);
                    }
                    at += 2;
                    continue;
                }
            }
            TokenKind::Name(_) | TokenKind::Colons => {
                at = scan.tree(at, &[], UseOrCode::Code);
                continue;
            }
            TokenKind::Other(_) => {}
        }
        at += 1;
    }
    scan.paths
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UseOrCode {
    Use,
    Code,
}

struct PathScan {
    tokens: Vec<Token>,
    module: Vec<String>,
    paths: Paths,
}

impl PathScan {
    fn kind(&self, at: usize) -> Option<&TokenKind> {
        self.tokens.get(at).map(|token| &token.kind)
    }

    /// Reads the path or the tree of paths that begins at `at`, below `prefix`, and returns the position after it.
    fn tree(&mut self, mut at: usize, prefix: &[String], place: UseOrCode) -> usize {
        let is_use = place == UseOrCode::Use;
        let start = at;
        let is_global = prefix.is_empty() && self.kind(at) == Some(&TokenKind::Colons);
        if is_global {
            at += 1;
        }
        let mut segments = prefix.to_vec();
        loop {
            match self.kind(at) {
                Some(TokenKind::Name(name)) => {
                    segments.push(name.clone());
                    at += 1;
                    let is_longer = self.kind(at) == Some(&TokenKind::Colons)
                        && match self.kind(at + 1) {
                            Some(TokenKind::Name(_)) => true,
                            Some(TokenKind::Other('{' | '*')) => is_use,
                            _ => false,
                        };
                    if !is_longer {
                        break;
                    }
                    at += 1;
                }
                Some(TokenKind::Other('{')) if is_use => return self.group(at + 1, &segments),
                Some(TokenKind::Other('*')) if is_use => {
                    at += 1;
                    break;
                }
                _ => break,
            }
        }
        // `as name` gives the import another name.
        if is_use && self.kind(at) == Some(&TokenKind::Name("as".to_string())) {
            at += 2;
        }
        let is_path = segments.len() > 1 || is_use && !segments.is_empty();
        if is_path {
            self.paths.used.push(UsedPath {
                line: self.tokens[start].line,
                module: self.module.clone(),
                segments,
                is_use,
                is_global,
            });
        }
        at.max(start + 1)
    }

    /// Reads the trees between two braces and returns the position after the closing one.
    fn group(&mut self, mut at: usize, prefix: &[String]) -> usize {
        loop {
            match self.kind(at) {
                None | Some(TokenKind::Other('}')) => return at + 1,
                Some(TokenKind::Other(',')) => at += 1,
                Some(_) => at = self.tree(at, prefix, UseOrCode::Use),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The imports between the modules of a made-up crate, as `from → to`.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<Source> = files.iter().map(|(path, text)| Source::scan(path, text)).collect();
        let sources: Vec<&Source> = sources.iter().collect();
        module_edges(&sources)
            .keys()
            .map(|(from, to)| format!("{from} → {to}"))
            .collect()
    }

    /// The imports of `crates/memory/src/a.rs` with this text, beside the modules `b` and `c`.
    fn edges_of(text: &str) -> Vec<String> {
        edges(&[
            ("crates/memory/src/a.rs", text),
            ("crates/memory/src/b.rs", ""),
            ("crates/memory/src/c/d.rs", ""),
        ])
    }

    fn complaints(files: &[(&str, &str)], known: &[KnownEdge]) -> Vec<String> {
        let sources: Vec<Source> = files.iter().map(|(path, text)| Source::scan(path, text)).collect();
        let mut out = Vec::new();
        check(&sources, known, &mut out);
        out.iter()
            .map(|c| format!("{}:{} {}", c.path, c.line, c.rule))
            .collect()
    }

    #[test]
    fn every_form_of_an_import_is_an_edge() {
        for text in [
            "use crate::b;",
            "use crate::b::X;",
            "use crate::b::*;",
            "use crate::{b};",
            "use crate::{a::Y, b::{self, Z}};",
            "use super::b::X as Y;",
            "use super::{\n    b as y,\n};",
            "pub(crate) use crate::b::X;",
            "fn f() -> crate::b::X {}",
            "fn f() { super::b::f::<u8>() }",
            "fn f(x: &'static crate::b::X) {}",
            "mod inner { use super::super::b::X; }",
            "macro_rules! m { () => { $crate::b::f() } }",
        ] {
            assert_eq!(edges_of(text), ["a → b"], "{text}");
        }
        assert_eq!(edges_of("use crate::{b::X, c::d::{Y, Z}};"), ["a → b", "a → c"]);
        assert_eq!(edges_of("use crate::Item;"), ["a → the root"]);
    }

    #[test]
    fn comments_strings_tests_and_own_parts_are_not_edges() {
        for text in [
            "// use crate::b;",
            "/// [`crate::b::X`]",
            "/* crate::b::f() */",
            "const A: &str = \"crate::b::f()\";",
            "const A: &str = r#\"use crate::b;\"#;",
            "#[cfg(test)]\nmod tests {\n    use crate::b;\n}",
            "pub(crate) fn f() {}",
            "use self::inner::X;",
            "mod inner { use super::X; }",
            "use crate::a::inner::X;",
            "use other::b::X;",
            "b::f();",
            "use ::b::X;",
        ] {
            assert!(edges_of(text).is_empty(), "{text}: {:?}", edges_of(text));
        }
    }

    #[test]
    fn a_path_after_an_inline_module_is_resolved_from_the_file() {
        assert_eq!(edges_of("mod inner { fn f() {} }\nuse super::b::X;"), ["a → b"]);
    }

    #[test]
    fn super_in_a_nested_file_is_its_parent() {
        let files = |text| edges(&[("crates/memory/src/a/x.rs", text), ("crates/memory/src/b.rs", "")]);
        assert!(files("use super::b::X;").is_empty());
        assert_eq!(files("use super::super::b::X;"), ["a → b"]);
    }

    #[test]
    fn the_root_imports_modules_by_their_bare_names() {
        let root = ("crates/memory/src/lib.rs", "mod b;\npub use b::X;\nfn f() { b::f() }\n");
        assert_eq!(edges(&[root, ("crates/memory/src/b.rs", "")]), ["the root → b"]);
    }

    #[test]
    fn a_cycle_is_reported_at_each_of_its_imports() {
        let a = ("crates/memory/src/a.rs", "use crate::b::X;\n");
        let b = ("crates/memory/src/b.rs", "use crate::c::X;\n");
        let c = ("crates/memory/src/c.rs", "fn f() {}\nuse crate::a::X;\n");
        let d = ("crates/memory/src/d.rs", "use crate::a::X;\n");
        assert!(complaints(&[a, b, d], &[]).is_empty());
        let all = [
            "crates/memory/src/a.rs:1 cycle",
            "crates/memory/src/b.rs:1 cycle",
            "crates/memory/src/c.rs:2 cycle",
        ];
        assert_eq!(complaints(&[a, b, c, d], &[]), all);
    }

    #[test]
    fn a_known_import_may_close_a_cycle_until_it_is_gone() {
        let known = [KnownEdge {
            krate: "memory",
            from: "b",
            to: "a",
        }];
        let a = ("crates/memory/src/a.rs", "use crate::b::X;\n");
        let back = ("crates/memory/src/b.rs", "use crate::a::X;\n");
        assert!(complaints(&[a, back], &known).is_empty());
        let not_needed = ["crates/testkit/src/tidy/graph.rs:1 cycle"];
        assert_eq!(complaints(&[a, ("crates/memory/src/b.rs", "")], &known), not_needed);
        let without_cycle = [("crates/memory/src/a.rs", ""), back];
        assert_eq!(complaints(&without_cycle, &known), not_needed);
    }

    #[test]
    fn a_command_must_not_import_another_command() {
        let show = ("crates/boswell/src/commands/show.rs", "use super::read::X;\n");
        let read = ("crates/boswell/src/commands/read.rs", "use crate::ui::X;\n");
        let part = (
            "crates/boswell/src/commands/show/part.rs",
            "use super::X;\nuse crate::commands::show::Y;\n",
        );
        let ui = ("crates/boswell/src/ui.rs", "");
        assert!(complaints(&[read, part, ui], &[]).is_empty());
        let expected = ["crates/boswell/src/commands/show.rs:1 cycle"];
        assert_eq!(complaints(&[show, read, part, ui], &[]), expected);
        let known = [KnownEdge {
            krate: "boswell",
            from: "commands::show",
            to: "commands::read",
        }];
        assert!(complaints(&[show, read, part, ui], &known).is_empty());
    }

    #[test]
    fn a_crate_imports_only_what_its_layer_allows() {
        let memory = ("crates/memory/src/lib.rs", "use transcript::X;\n");
        let transcript = |text| ("crates/transcript/src/lib.rs", text);
        assert!(complaints(&[memory, transcript("use serde::X;\n")], &[]).is_empty());
        let expected = ["crates/transcript/src/lib.rs:1 layers"];
        assert_eq!(
            complaints(&[memory, transcript("use memory::store::X;\n")], &[]),
            expected
        );
        assert_eq!(
            complaints(&[memory, transcript("fn f() { memory::f() }\n")], &[]),
            expected
        );
        assert_eq!(complaints(&[memory, transcript("use ::memory::X;\n")], &[]), expected);
        assert!(
            complaints(
                &[memory, transcript("use crate::memory;\nfn f() { memory::f() }\n")],
                &[]
            )
            .is_empty()
        );
        let new = ("crates/new/src/lib.rs", "");
        assert_eq!(complaints(&[new], &[]), ["crates/new/Cargo.toml:1 layers"]);
    }
}
