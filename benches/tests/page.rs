//! The documents contain the recorded measurements: nothing about speed is edited by hand.

#[allow(dead_code, reason = "the bench uses the rest")]
#[path = "../peers/figures.rs"]
mod figures;
#[path = "../peers/page.rs"]
mod page;
#[path = "../peers/plot.rs"]
mod plot;

use std::fs;
use std::path::Path;

use figures::{Contest, Cost, Figures, Job, Way};

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn kept() -> Figures {
    serde_json::from_str(&text("docs/dev/benchmarks.json")).expect("the figures can be read")
}

#[test]
fn the_page_and_its_pictures_are_made_of_the_figures() {
    let figures = kept();
    assert_eq!(
        text("docs/dev/benchmarks.md"),
        page::markdown(&figures),
        "`./bench` writes it"
    );
    for (name, picture) in plot::all(&figures) {
        assert_eq!(
            text(&format!("docs/dev/pictures/{name}")),
            picture,
            "`./bench` writes {name}"
        );
    }
}

#[test]
fn the_readme_says_what_was_measured() {
    let readme = text("README.md");
    let (_, rest) = readme.split_once(page::MARKS.0).expect("the first mark");
    let (lines, _) = rest.split_once(page::MARKS.1).expect("the second mark");
    assert_eq!(lines.trim_start_matches('\n'), page::readme(&kept()));
}

/// Returns two rounds of a contest, and a program that could not be installed.
fn made_up() -> Figures {
    let cost = |seconds| Cost {
        seconds,
        cpu_seconds: seconds,
        peak_bytes: 20_000_000,
    };
    let way = |name: &str, rounds: &[f64]| Way {
        name: name.to_owned(),
        rounds: rounds.iter().copied().map(cost).collect(),
        bytes: Some(1_500_000),
        note: String::new(),
    };
    let contest = Contest {
        name: "first sweep".to_owned(),
        what: "First sweep of 6 MB".to_owned(),
        ways: vec![
            way("boswell sweep", &[0.5, 0.25, 0.5]),
            way("agentsview sync", &[5.0, 5.0, 6.0]),
            Way::absent("another", "could not be installed"),
        ],
    };
    let job = Job {
        contests: vec![contest],
        ..Job::default()
    };
    Figures {
        jobs: [("sweep".to_owned(), job)].into(),
    }
}

#[test]
fn a_ratio_is_the_middle_of_its_rounds_and_who_is_absent_is_told() {
    let figures = made_up();
    let page = page::markdown(&figures);
    assert!(
        page.contains("| `agentsview sync` | 5.0 s | 5.0 s | 20 | 1.5 | 12 |  |"),
        "{page}"
    );
    assert!(
        page.contains("| `another` | – | – | – |  |  | could not be installed |"),
        "{page}"
    );
    assert!(page.contains("Not measured yet: `./bench usage`."), "{page}");
    let readme = page::readme(&figures);
    assert_eq!(
        readme,
        "- a first sweep: 500 ms; `agentsview sync` takes 12 times as long\n"
    );
    let pictures = plot::all(&figures);
    assert!(pictures[0].1.contains("first sweep: agentsview"), "{}", pictures[0].1);
}
