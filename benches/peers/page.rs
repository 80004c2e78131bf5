//! The page `docs/dev/benchmarks.md` and the lines of the README, made from the figures only: no clock, no disk.

use std::fmt::Write;

use crate::figures::{Contest, Curve, Fact, Figures, Job, Measured, Way};

/// The marks around our lines in the README.
pub const MARKS: (&str, &str) = ("<!-- written by ./bench -->", "<!-- until here -->");

/// The section of one job on the page.
struct Chapter {
    job: &'static str,
    title: &'static str,
    about: &'static str,
    picture: Option<(&'static str, &'static str)>,
}

const CHAPTERS: [Chapter; 10] = [
    Chapter {
        job: "sweep",
        title: "Storing sessions",
        about: "`boswell sweep` reads, masks, packs, indexes for search, digests and counts; `agentsview sync` fills its database. Both read Claude Code's part of the seeded corpus, and start the first run with an empty directory.",
        picture: None,
    },
    Chapter {
        job: "search",
        title: "Search",
        about: "Whole commands with `--no-sweep`, including process startup. ripgrep reads the raw logs from the page cache and counts lines by file; it knows neither turns nor sessions, nor the text inside the JSON.",
        picture: None,
    },
    Chapter {
        job: "usage",
        title: "Tokens, money, the status line",
        about: "`boswell` queries its memory, `ccusage` reads the logs each time. The table shows what each counted; [tokens.md](../tokens.md) explains the differences.",
        picture: None,
    },
    Chapter {
        job: "list",
        title: "Lists and single sessions",
        about: "There is no comparable program. A process that does nothing is the minimum that any command takes.",
        picture: None,
    },
    Chapter {
        job: "prepare",
        title: "A day for a diary",
        about: "Both copy logs byte by byte and write an index of turns.",
        picture: None,
    },
    Chapter {
        job: "render",
        title: "Pages",
        about: "All pages are made from scratch, so our time includes the sweep. Bytes on disk are those of the pages.",
        picture: None,
    },
    Chapter {
        job: "film",
        title: "Films",
        about: "A synthetic session; whole commands, drawn and encoded on all cores.",
        picture: None,
    },
    Chapter {
        job: "hook",
        title: "Hooks",
        about: "An agent waits for a hook, so the slowest calls matter. A process that does nothing is measured alternately with ours and shows what the machine itself takes.",
        picture: None,
    },
    Chapter {
        job: "read",
        title: "The lower bound of a sweep",
        about: "The parts that no sweep can avoid, each alone on all cores over logs in memory, compared with the sweep itself. `jq` is a reference for parsing.",
        picture: Some((
            "benchmarks-roofline.svg",
            "Megabytes a second of reading, parsing, masking, compressing, and of the sweep",
        )),
    },
    Chapter {
        job: "grow",
        title: "Scaling",
        about: "The seeded corpus in four sizes, all three agents.",
        picture: Some((
            "benchmarks-growth.svg",
            "Seconds over megabytes of logs, both by powers of ten",
        )),
    },
];

/// Returns the whole page.
pub fn markdown(figures: &Figures) -> String {
    let mut page = String::from(
        "# Benchmarks\n\n\
         `./bench` wrote every figure on this page. No other page contains timings, except [one](scale.md) on servers, which it does not measure yet. It installs the programs for comparison, writes [synthetic logs](corpus.md) from a seed, runs the programs alternately and several times, and writes this page and [benchmarks.json](benchmarks.json).\n\n\
         ```sh\n\
         ./bench                 # all of it, about 25 minutes on two quiet cores\n\
         ./bench usage search    # some jobs; the figures of the others stay\n\
         ./bench --quick         # small logs, a few minutes, into the build directory, to check that it works\n\
         ./bench instructions    # instruction counts of the hot paths, compared with benches/baseline.json\n\
         ```\n\n\
         - **Times as long** is the other program's time divided by ours, per round; the table shows the median.\n\
         - Seconds and CPU seconds (all threads and child processes) are medians of all rounds, memory is the maximum of all rounds, and bytes on disk are those after the last round. Memory below about 10 MB cannot be measured.\n\
         - A program that could not be installed or failed is marked and not compared.\n\
         - MB = 1,000,000 bytes. All logs are in the page cache, and the output of the previous run is on disk.\n",
    );
    let mut all = figures.jobs.values().map(|job| &job.measured);
    let first = all.next();
    // If all jobs ran on the same machine and versions, one line serves for all.
    let same = first.filter(|first| all.all(|other| other == *first));
    if let Some(same) = same {
        measured(&mut page, same);
    }
    if figures.jobs.values().any(|job| !job.contests.is_empty()) {
        page.push_str("\n![How many times as long each program takes as Boswell](pictures/benchmarks-peers.svg)\n");
    }
    for chapter in &CHAPTERS {
        _ = write!(page, "\n## {}\n\n{}\n", chapter.title, chapter.about);
        match figures.jobs.get(chapter.job) {
            Some(job) => {
                job_page(&mut page, job, chapter.picture);
                if same.is_none() {
                    measured(&mut page, &job.measured);
                }
            }
            None => _ = write!(page, "\nNot measured yet: `./bench {}`.\n", chapter.job),
        }
    }
    page
}

fn job_page(page: &mut String, job: &Job, picture: Option<(&str, &str)>) {
    if let Some((file, what)) = picture {
        _ = write!(page, "\n![{what}](pictures/{file})\n");
    }
    for contest in &job.contests {
        contest_table(page, contest);
    }
    facts_table(page, &job.facts);
    curves_table(page, &job.curves);
}

fn contest_table(page: &mut String, contest: &Contest) {
    let has_bytes = contest.ways.iter().any(|way| way.bytes.is_some());
    let has_notes = contest.ways.iter().any(|way| !way.note.is_empty());
    let has_peers = contest.ways.len() > 1;
    _ = write!(page, "\n{}\n\n| way | time | CPU | memory, MB |", contest.what);
    let columns = [
        (has_bytes, " on disk, MB |"),
        (has_peers, " times as long |"),
        (has_notes, " |"),
    ];
    let mut rule = String::from("|---|---:|---:|---:|");
    for (_, title) in columns.iter().filter(|(is_there, _)| *is_there) {
        page.push_str(title);
        rule.push_str(if *title == " |" { "---|" } else { "---:|" });
    }
    _ = writeln!(page, "\n{rule}");
    for way in &contest.ways {
        _ = write!(page, "| `{}` |", way.name);
        for cell in cells(way) {
            _ = write!(page, " {cell} |");
        }
        if has_bytes {
            _ = write!(page, " {} |", way.bytes.map(megabytes).unwrap_or_default());
        }
        if has_peers {
            let times = contest.times(way).filter(|_| !std::ptr::eq(way, &contest.ways[0]));
            _ = write!(page, " {} |", times.map(ratio).unwrap_or_default());
        }
        if has_notes {
            _ = write!(page, " {} |", way.note);
        }
        page.push('\n');
    }
}

fn cells(way: &Way) -> [String; 3] {
    let time = way.median(|cost| cost.seconds).map(seconds);
    let cpu = way.median(|cost| cost.cpu_seconds).map(seconds);
    let memory = (!way.rounds.is_empty()).then(|| format!("{:.0}", way.peak_bytes() as f64 / 1e6));
    [time, cpu, memory].map(|cell| cell.unwrap_or_else(|| "–".to_owned()))
}

fn facts_table(page: &mut String, facts: &[Fact]) {
    if facts.is_empty() {
        return;
    }
    page.push_str("\n| what | measured |\n|---|---:|\n");
    for fact in facts {
        _ = writeln!(page, "| {} | {} {} |", fact.what, three_digits(fact.value), fact.unit);
    }
}

fn curves_table(page: &mut String, curves: &[Curve]) {
    let Some(first) = curves.first() else { return };
    page.push_str("\n| what |");
    for (size, _) in &first.points {
        _ = write!(page, " {size:.0} MB |");
    }
    _ = writeln!(page, "\n|---|{}", "---:|".repeat(first.points.len()));
    for curve in curves {
        _ = write!(page, "| {} |", curve.name);
        for (_, value) in &curve.points {
            _ = write!(page, " {} |", seconds(*value));
        }
        page.push('\n');
    }
}

fn measured(page: &mut String, measured: &Measured) {
    let versions: Vec<String> = measured
        .versions
        .iter()
        .map(|(name, version)| named(name, version))
        .collect();
    _ = write!(
        page,
        "\nMeasured {} at {}: {}. With {}.\n",
        measured.date,
        measured.commit,
        measured.machine,
        versions.join(", ")
    );
}

/// Adds a program's name to its version, unless the version already contains it.
fn named(name: &str, version: &str) -> String {
    let rest = version.to_lowercase();
    match rest.starts_with(name) || rest.contains(&format!("{name}-")) {
        true => version.to_owned(),
        false => format!("{name} {version}"),
    }
}

/// Returns the lines of the README between its two marks.
pub fn readme(figures: &Figures) -> String {
    const TOLD: [(&str, &str, &str, &str); 5] = [
        ("sweep", "first sweep", "agentsview sync", "a first sweep"),
        ("search", "rare word", "rg over the logs", "finding a rare word"),
        ("usage", "usage by day", "ccusage daily --offline", "tokens by day"),
        ("prepare", "a day of a month", "prompt-diary prepare", "gathering a day"),
        (
            "render",
            "pages of all sessions",
            "claude-code-log --all-projects",
            "pages of all sessions",
        ),
    ];
    let mut lines = String::new();
    for (job, contest, peer, what) in TOLD {
        let contest = figures
            .jobs
            .get(job)
            .and_then(|job| job.contests.iter().find(|known| known.name == contest));
        let Some(contest) = contest else { continue };
        let Some(way) = contest.ways.iter().find(|way| way.name == peer) else {
            continue;
        };
        if let (Some(times), Some(ours)) = (contest.times(way), contest.ways[0].median(|cost| cost.seconds)) {
            let (times, ours) = (ratio(times), seconds(ours));
            _ = writeln!(lines, "- {what}: {ours}; `{peer}` takes {times} times as long");
        }
    }
    lines
}

pub fn seconds(value: f64) -> String {
    match value {
        value if value < 1.0 => format!("{} ms", three_digits(value * 1e3)),
        value => format!("{} s", three_digits(value)),
    }
}

pub fn ratio(value: f64) -> String {
    three_digits(value)
}

fn megabytes(bytes: u64) -> String {
    three_digits(bytes as f64 / 1e6)
}

fn three_digits(value: f64) -> String {
    match value {
        value if value < 1.0 => format!("{value:.2}"),
        value if value < 10.0 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}
