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

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
