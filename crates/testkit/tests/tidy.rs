//! The tidy test over this checkout. What the rules are, and a test of each, is in `testkit::tidy`.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_house_is_tidy() {
    let complaints = testkit::tidy::check(&root());
    let lines: Vec<String> = complaints.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn the_two_commands_of_the_readme_can_be_run() {
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
fn the_tests_that_the_page_on_security_names_are_there() {
    let page = std::fs::read_to_string(root().join("docs/security.md")).expect("there is a page on security");
    let mut tests = String::new();
    for file in walkdir::WalkDir::new(root().join("crates")).into_iter().flatten() {
        if file.path().extension().is_some_and(|ending| ending == "rs") {
            tests += &std::fs::read_to_string(file.path()).unwrap_or_default();
        }
    }
    // The names of tests are sentences; no other word in code on the page has so many lines under it.
    let is_name =
        |word: &&str| word.matches('_').count() > 2 && word.chars().all(|c| c == '_' || c.is_ascii_lowercase());
    let named: Vec<&str> = page.split('`').filter(is_name).collect();
    let missing: Vec<&&str> = named
        .iter()
        .filter(|name| !tests.contains(&format!("fn {name}(")))
        .collect();
    assert!(named.len() > 40 && missing.is_empty(), "{missing:?}");
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
