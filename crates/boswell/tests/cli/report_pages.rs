//! The pages of a report in a real browser: nothing in a log runs, citations open their turn, and the search works.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::json;
use testkit::logs::ClaudeLog;

use crate::report::{ROOT, bash, home};
use crate::sandbox::Sandbox;

/// Text that tries to be markup or a control sequence.
const HOSTILE: [&str; 6] = [
    "</script><script>document.documentElement.dataset.owned='script'</script>",
    "<img src=x onerror=\"document.documentElement.dataset.owned='image'\">",
    "\"' onmouseover='document.documentElement.dataset.owned=1' x=\"",
    "[click](javascript:document.documentElement.dataset.owned=2) ![p](http://192.0.2.1/p.png)",
    "</title></style><svg onload=\"document.documentElement.dataset.owned='svg'\">",
    "# heading\n- list\n\u{202e}turned\u{1b}[31m\u{0}\u{7} `code` | a | b |\n```\n<!--",
];

fn hostile() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("TZ", "UTC");
    for (number, text) in HOSTILE.iter().enumerate() {
        let id = format!("5e55000{number}-0000-4000-8000-00000000000{number}");
        let edit = json!({"file_path": format!("/home/ada/{text}/{text}.rs"), "old_string": "a", "new_string": text});
        let plan = json!({"todos": [{"content": text, "status": "pending", "activeForm": text}]});
        let ask = json!({"questions": [{"question": text, "header": text, "options": []}]});
        let session = ClaudeLog::new(&id)
            .at(&format!("2026-03-31T1{number}:00:00Z"))
            .cwd(&format!("/home/ada/{text}"))
            .title(text)
            .prompt(&format!("please look at {text}"))
            .tool("Edit", edit, text)
            .tool(text, json!({"x": text}), text)
            .failed_tool("Bash", bash(&format!("npm run {text}")), text)
            .tool("TodoWrite", plan, "ok")
            .tool("AskUserQuestion", ask, text)
            .denied_tool("Bash", bash(text), text)
            .tool(
                "Bash",
                bash(&format!("git commit -m '{text}'")),
                &format!("[main 1a2b3c4] {text}"),
            )
            .reply(&format!("Done with {text}. Shall I also do {text}?"));
        sandbox.write(
            &format!(".claude/projects/-home-ada-{number}/{id}.jsonl"),
            &session.jsonl(),
        );
    }
    sandbox.run("sweep");
    sandbox
}

#[test]
fn no_text_of_a_log_is_more_than_text_in_a_page() {
    let sandbox = hostile();
    let told = sandbox.run("report");
    assert!(
        told.lines().filter(|line| line.starts_with("# ")).count() == 1,
        "{told}"
    );
    assert!(!told.contains('\u{1b}') && !told.contains('\u{202e}'), "{told}");
    let codes = Regex::new("``+.*?``+|`[^`]*`").unwrap();
    let told = told.replace("\\`", "");
    let prose = codes.replace_all(&told, "").replace("\\]", "");
    assert!(
        !prose.contains("](") && !prose.contains("<img") && !prose.contains("<script"),
        "{prose}"
    );
    sandbox.run("report --since 2026-03-30");
    let root = sandbox.home.join(ROOT);
    let pages = [
        "work/2026-03-31/report.html",
        "index.html",
        "ranges/2026-03-30_2026-03-31.html",
    ]
    .map(|name| root.join(name));
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        assert_eq!(text.matches("<script>").count(), 1, "{text}");
        for tag in ["<img", "<svg onload", "<!--"] {
            assert!(!text.contains(tag), "{tag}: {text}");
        }
        assert!(
            !text.contains("unsafe-inline") && text.contains("default-src 'none'"),
            "{text}"
        );
        let Some(dom) = in_browser(&sandbox, page, "") else {
            continue;
        };
        assert!(!dom.contains("data-owned"), "{dom}");
    }
}

#[test]
fn citations_open_their_turn_and_the_search_hides_the_rest() {
    let sandbox = home();
    sandbox.run("report");
    let page = sandbox.home.join(ROOT).join("work/2026-03-31/report.html");
    let text = fs::read_to_string(&page).unwrap();
    let targets: BTreeSet<&str> = text
        .split("href=\"#")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(targets.len() > 8, "{targets:?}");
    for target in &targets {
        assert!(
            text.contains(&format!("id=\"{target}\"")),
            "a citation leads nowhere: {target}"
        );
    }
    let target = targets.iter().find(|target| target.contains("-L")).unwrap();
    let turn = target.split("-L").next().unwrap();
    let Some(dom) = in_browser(&sandbox, &page, &format!("#{target}")) else {
        return;
    };
    let opened = |dom: &str, id: &str| {
        let at = dom.find(&format!("id=\"{id}\"")).unwrap();
        dom[at..].split('>').next().unwrap().contains("open")
    };
    assert!(opened(&dom, turn), "{dom}");
    let closed = in_browser(&sandbox, &page, "").unwrap();
    assert!(!opened(&closed, turn));
    let searched = in_browser(&sandbox, &page, "?q=cookie%20format").unwrap();
    assert!(
        searched.contains("hidden=\"\"") && !closed.contains("hidden=\"\""),
        "{searched}"
    );
    assert!(searched.contains("places</output>"), "{searched}");
}

/// Returns a page after its script ran, or `None` if no browser is installed.
fn in_browser(sandbox: &Sandbox, page: &Path, behind: &str) -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut places = std::env::split_paths(&path).flat_map(|place| names.map(|name| place.join(name)));
    let browser: PathBuf = places.find(|place| place.is_file())?;
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=2000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", sandbox.path("browser")))
        .arg(format!("file://{}{behind}", page.display()))
        .env("HOME", &sandbox.home)
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        dom.contains("<main>"),
        "{dom}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(dom)
}

#[test]
fn whoever_forgets_a_session_is_told_of_its_pages() {
    let sandbox = home();
    sandbox.run("sweep");
    sandbox.run("report");
    let told: serde_json::Value = serde_json::from_str(&sandbox.run("forget 5e550001 --dry-run --json")).unwrap();
    let copies: Vec<&str> = told["copies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|copy| copy["path"].as_str().unwrap())
        .collect();
    assert!(
        copies.iter().any(|path| path.ends_with("2026-03-31/report.html")),
        "{told}"
    );
    let journal = sandbox.run("journal");
    assert_eq!(journal.matches("wrote pages of 2026-03-31").count(), 1, "{journal}");
    sandbox.run("report");
    assert_eq!(sandbox.run("journal"), journal, "what is noted is not noted again");
}
