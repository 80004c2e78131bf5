//! Pages of a log that tries to run scripts, in every field that an attacker can write.

use render::{SiteSession, Subagent, site_index, site_search_data};
use serde_json::json;

use crate::chromium::Browser;
use crate::logs::{Log, page};

/// Payloads that set `window.ran` if they run, or send a request if they are loaded.
const ATTACKS: [&str; 20] = [
    "<script>window.ran=1</script>",
    "</script><script>window.ran=2</script>",
    "<img src=x onerror=\"window.ran=3\">",
    "\"><svg onload=window.ran=4>",
    "' onmouseover='window.ran=5' x='",
    "[link](javascript:window.ran=6)",
    "[link](JaVa\tScRiPt:window.ran=7) <javascript:window.ran=7>",
    "![pic](https://attacker.test/pixel.png) <img src=https://attacker.test/a>",
    "<iframe srcdoc=\"<script>parent.ran=8</script>\"></iframe>",
    "<style>*{background:url(https://attacker.test/b)}</style>",
    "<svg><script>window.ran=9</script><foreignObject><body onload=window.ran=9></foreignObject></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=window.ran=10&gt;\">",
    "&lt;script&gt;window.ran=11&lt;/script&gt; &#60;img src=x onerror=window.ran=11&#62; &am",
    "<!--><script>window.ran=12</script>-->",
    "]]></noscript></textarea></title></style><script>window.ran=13</script>",
    "<a href=\"data:text/html,<script>window.ran=14</script>\">x</a> <meta http-equiv=refresh content=\"0;url=javascript:window.ran=14\">",
    "<base href=https://attacker.test/><form action=https://attacker.test><input name=q autofocus onfocus=window.ran=15></form>",
    "photo\u{202e}gnp.exe \u{0}\u{7}\u{1b}]0;title\u{7}\u{1b}[31m\u{2028}\u{feff}",
    "```\"><script>window.ran=16</script>\n<script>window.ran=16</script>\n```\n\n| <script>window.ran=17</script> |\n|:-:|\n| [a](javascript:window.ran=17) |",
    "{\"a\":\"</script><script>window.ran=18</script>\"}",
];

fn log() -> Log {
    let mut log = Log::default();
    for (at, attack) in ATTACKS.into_iter().enumerate() {
        log.prompt(attack).answer(attack).thought(attack);
        log.call(attack, json!({ attack: attack, "n": [attack] }), attack, at % 2 == 0);
        log.call(
            "Bash",
            json!({ "command": attack, "description": attack }),
            attack,
            false,
        );
        log.call(
            "Edit",
            json!({ "file_path": attack, "old_string": attack, "new_string": format!("{attack}!") }),
            attack,
            false,
        );
        log.call("Write", json!({ "file_path": attack, "content": attack }), attack, true);
        log.call(
            "TodoWrite",
            json!({ "todos": [{ "content": attack, "status": attack }] }),
            attack,
            false,
        );
        log.call(
            "AskUserQuestion",
            json!({ "questions": [{ "question": attack, "options": [{ "label": attack, "description": attack }] }] }),
            attack,
            false,
        );
        log.call("ExitPlanMode", json!({ "plan": attack }), attack, false);
        log.call("WebFetch", json!({ "url": attack, "prompt": attack }), attack, false);
        log.call(
            "Task",
            json!({ "description": attack, "prompt": attack, "subagent_type": attack }),
            attack,
            false,
        );
        log.call(
            "Read",
            json!({ "file_path": attack }),
            &format!("  1→{attack}\n  2→b"),
            false,
        );
        log.call(
            "apply_patch",
            json!({ "input": format!("*** Begin Patch\n*** Update File: {attack}\n+{attack}\n*** End Patch") }),
            attack,
            false,
        );
        log.call(
            "Bash",
            json!({ "command": "git commit" }),
            &format!("[{attack} 1a2b3c4] {attack}\nTo https://x@{attack}"),
            false,
        );
        log.call(
            "Bash",
            json!({ "command": "gh pr create" }),
            &format!("https://github.test/pull/{attack}"),
            false,
        );
        let image = json!({ "type": "image", "source": { "type": "base64", "media_type": attack, "data": attack } });
        log.blocks("user", json!([image, { "type": attack, "text": attack }]));
        let svg = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/svg+xml", "data": "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+" } });
        log.blocks("user", json!([svg]));
        log.line(json!({ "type": "summary", "summary": attack, "leafUuid": attack }));
        log.line(json!({ "type": attack, "uuid": attack, "sessionId": attack }));
    }
    log
}

/// Finds elements that we never create and attributes that could run something.
const FOREIGN: &str = "JSON.stringify([window.ran ?? null, \
    document.querySelectorAll('script:not([type=\"text/plain\"])').length, document.querySelectorAll('style').length, \
    [...document.querySelectorAll('iframe,object,embed,svg:not(#bar button > .icon):not(#bar .home > .icon):not(#player > button > .icon),math,base,frame,video,audio,textarea,meta[http-equiv=refresh]')].length, \
    [...document.querySelectorAll('*')].filter(el => [...el.attributes].some(a => /^on/i.test(a.name) || a.name === 'style' && !el.matches('html,.b,#strip'))).length, \
    [...document.querySelectorAll('[href]')].filter(el => !/^(https?:|mailto:|#)/.test(el.getAttribute('href'))).length, \
    [...document.querySelectorAll('[src]')].filter(el => !/^data:image\\/(png|jpeg|gif|webp);base64,/.test(el.getAttribute('src'))).length])";

/// Draws all blocks and opens everything.
const DRAW_ALL: &str = "(async () => { document.getElementById('fold').click(); \
    for (let y = 0; y < document.body.scrollHeight; y += 700) { scrollTo(0, y); await new Promise(r => setTimeout(r, 10)); } \
    for (let n = 0, b; n < 300 && (b = document.querySelector('.b:not(.drawn)')); n++) { b.scrollIntoView(); await new Promise(r => setTimeout(r, 20)); } \
    for (const b of document.querySelectorAll('button.more')) b.click(); \
    for (const d of document.querySelectorAll('details')) d.open = true; await new Promise(r => setTimeout(r, 300)); \
    for (const el of document.querySelectorAll('main *')) { el.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})); } \
    return [...document.querySelectorAll('.b:not(.drawn)')].length; })()";

#[test]
fn a_hostile_log_runs_nothing_loads_nothing_and_adds_no_elements() {
    let Some(mut browser) = Browser::start() else { return };
    let mut transcript = log().transcript();
    let mut child = transcript.clone();
    child.events.truncate(40);
    transcript.subagents.push(Subagent {
        link: None,
        transcript: child,
    });
    let attack = ATTACKS[1].to_owned();
    transcript.head.name = Some(ATTACKS.join(" "));
    let session = &mut transcript.head.session;
    (session.model, session.cwd, session.git_branch) =
        (Some(attack.clone()), Some(attack.clone()), Some(attack.clone()));
    session.agent_version = Some(attack.clone());
    transcript.head.repository_url = Some(format!("https://x.test/\"{attack}"));
    browser.show(&page(&transcript), "");
    assert_eq!(browser.eval(DRAW_ALL), 0);
    assert_eq!(browser.eval(FOREIGN), "[null,1,1,0,0,0,0]");
    // A search for the payload shows it as text.
    browser.eval("document.getElementById('q').value = '<script>'; document.getElementById('q').dispatchEvent(new Event('input'))");
    browser.until("/^\\d+ hits$/.test(document.getElementById('hits').textContent)");
    browser.press("n");
    browser.until("/^1 of/.test(document.getElementById('hits').textContent)");
    assert_eq!(browser.eval("window.ran ?? null"), serde_json::Value::Null);
    assert_eq!(browser.page_errors(), Vec::<String>::new());
}

#[test]
fn a_hostile_log_is_harmless_in_the_index_too() {
    let Some(mut browser) = Browser::start() else { return };
    let transcript = log().transcript();
    let mut session = SiteSession::of(&transcript, "sessions/a.html".to_owned());
    let attack = ATTACKS.join("\n");
    (session.title, session.agent, session.outcome) = (attack.clone(), attack.clone(), attack.clone());
    (session.project, session.branch) = (Some(attack.clone()), Some(attack));
    let words = site_search_data(&transcript);
    let mut index = Vec::new();
    site_index(&[(session, words)], &jiff::tz::TimeZone::UTC, &mut index).unwrap();
    browser.show(&index, "");
    browser.eval(
        "document.getElementById('q').value = 'window'; document.getElementById('q').dispatchEvent(new Event('input'))",
    );
    browser.until("document.getElementById('hits').textContent === '1 session'");
    let foreign = FOREIGN.replace("mailto:|#", "mailto:|#|sessions\\/a.html#");
    assert_eq!(browser.eval(&foreign), "[null,1,1,0,0,0,0]");
    assert_eq!(browser.page_errors(), Vec::<String>::new());
}

#[test]
fn the_policy_blocks_scripts_even_if_escaping_failed() {
    let Some(mut browser) = Browser::start() else { return };
    let page = String::from_utf8(log().page()).unwrap();
    // Simulate a failure of the escaping: the content security policy must still hold.
    let broken = page.replace("<div id=\"flow\">", "<script>window.ran=1</script><img src=x onerror=\"window.ran=2\"><img src=https://attacker.test/x><div id=\"flow\">");
    assert_ne!(broken, page);
    browser.show(broken.as_bytes(), "");
    assert_eq!(browser.eval("window.ran ?? null"), serde_json::Value::Null);
    let complaints = browser.page_errors();
    let refused = |word: &str| {
        complaints
            .iter()
            .filter(|one| one.contains("Content Security Policy") && one.contains(word))
            .count()
    };
    assert!(refused("script-src") >= 2 && refused("img-src") >= 1, "{complaints:?}");
}
