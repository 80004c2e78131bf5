//! Runs the tidy test over this checkout. `testkit::tidy` contains the rules and their tests.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_repository_is_tidy() {
    let complaints = testkit::tidy::check(&root());
    let lines: Vec<String> = complaints.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn the_readme_starts_with_the_run_and_the_test_command() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    let commands: Vec<&str> = readme
        .lines()
        .skip_while(|line| !line.starts_with("```"))
        .skip(1)
        .take_while(|line| !line.starts_with("```"))
        .collect();
    assert!(
        commands
            .iter()
            .any(|line| line.starts_with("cargo run --release -- demo")),
        "the first block runs the main job: {commands:?}"
    );
    assert!(
        commands.iter().any(|line| line.starts_with("./test")),
        "the first block runs all tests: {commands:?}"
    );
    for script in ["test", ".ci/run"] {
        assert!(is_executable(&root().join(script)), "{script} can be run");
    }
}

#[test]
fn every_test_that_the_security_page_names_exists() {
    let page = std::fs::read_to_string(root().join("docs/security.md")).expect("there is a page on security");
    let mut tests = String::new();
    for file in walkdir::WalkDir::new(root().join("crates")).into_iter().flatten() {
        if file.path().extension().is_some_and(|ending| ending == "rs") {
            tests += &std::fs::read_to_string(file.path()).unwrap_or_default();
        }
    }
    // Test names are sentences, so they are the only names on the page with more than two underscores.
    let is_name =
        |word: &&str| word.matches('_').count() > 2 && word.chars().all(|c| c == '_' || c.is_ascii_lowercase());
    let named: Vec<&str> = page.split('`').filter(is_name).collect();
    let missing: Vec<&&str> = named
        .iter()
        .filter(|name| !tests.contains(&format!("fn {name}(")))
        .collect();
    assert!(named.len() > 40 && missing.is_empty(), "{missing:?}");
}

/// Paths, types and functions in code spans of ARCHITECTURE.md. A span with any other form is not checked.
#[test]
fn every_name_in_the_architecture_exists() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("there is an ARCHITECTURE.md");
    let mut code = String::new();
    let mut files = Vec::new();
    for file in walkdir::WalkDir::new(root().join("crates")).into_iter().flatten() {
        files.push(file.path().to_string_lossy().replace('\\', "/"));
        if file.path().extension().is_some_and(|extension| extension == "rs") {
            code += &std::fs::read_to_string(file.path()).unwrap_or_default();
        }
    }
    // Code blocks are diagrams.
    let prose: String = page.split("```").step_by(2).collect();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let declares = |keyword: &str, name: &str| {
        let needle = format!("{keyword} {name}");
        code.match_indices(&needle)
            .any(|(at, _)| !code[at + needle.len()..].starts_with(is_word))
    };
    let exists = |span: &str| {
        let name = span.rsplit("::").next().unwrap_or(span);
        if span.contains(['/', '.']) {
            let is_known_file = files.iter().any(|file| file.ends_with(&format!("/{span}")));
            is_known_file || root().join(span).exists()
        } else if name.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
            // A constant, or an environment variable.
            declares("const", name) || code.contains(&format!("\"{name}\""))
        } else if name.starts_with(|c: char| c.is_ascii_uppercase()) {
            ["struct", "enum", "trait", "type"]
                .iter()
                .any(|keyword| declares(keyword, name))
        } else {
            !span.contains("::") || declares("fn", name) || declares("mod", name)
        }
    };
    let is_name = |span: &&str| {
        let is_path_or_name = span.chars().all(|c| is_word(c) || "/.:-".contains(c));
        is_path_or_name && !span.starts_with('-')
    };
    let names: Vec<&str> = prose.split('`').skip(1).step_by(2).filter(is_name).collect();
    let missing: Vec<&&str> = names.iter().filter(|span| !exists(span)).collect();
    assert!(names.len() > 100 && missing.is_empty(), "{missing:?}");
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
