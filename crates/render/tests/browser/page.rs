//! The features of a session page.

use std::time::Instant;

use serde_json::json;

use crate::chromium::Browser;
use crate::logs::Log;

/// Three turns: a test that fails, an edit, a question.
fn log() -> Log {
    let mut log = Log::default();
    log.prompt("fix the login")
        .thought("the needle is in the session store")
        .answer("Looking at the **login** code.");
    log.call(
        "Bash",
        json!({ "command": "cargo test" }),
        "Exit code 101\ntest login ... FAILED",
        true,
    );
    log.call(
        "Read",
        json!({ "file_path": "/home/ada/app/src/login.rs" }),
        "  7→fn login() {\n  8→    // needle\n  9→}",
        false,
    );
    log.prompt("now mend it");
    log.call(
        "Edit",
        json!({ "file_path": "/home/ada/app/src/login.rs", "old_string": "let a = 1;", "new_string": "let a = 2;" }),
        "ok",
        false,
    );
    log.call("Bash", json!({ "command": "cargo test" }), "test login ... ok", false);
    log.answer("Mended. The needle was found.");
    log.prompt("thanks").answer("Any time.");
    log
}

fn text(browser: &mut Browser, id: &str) -> String {
    let value = browser.eval(&format!("document.getElementById('{id}').textContent"));
    value.as_str().unwrap().to_owned()
}

fn shown(browser: &mut Browser) -> u64 {
    let value = browser.eval("[...document.querySelectorAll('.i[data-n]')].filter(el => el.checkVisibility()).length");
    value.as_u64().unwrap()
}

fn search(browser: &mut Browser, words: &str) {
    browser.press("/");
    browser.eval("document.getElementById('q').value = ''");
    browser.write(words);
}

#[test]
fn a_search_counts_hits_and_opens_folded_steps() {
    let Some(mut browser) = Browser::start() else { return };
    browser.show(&log().page(), "");
    search(&mut browser, "needle");
    browser.until("document.getElementById('hits').textContent === '3 hits'");
    // Enter jumps to the first hit, which is inside a folded thought.
    browser.press("Enter");
    browser.until("document.getElementById('hits').textContent === '1 of 3'");
    browser.until("document.querySelector('.kt details').open");
    assert_eq!(browser.eval("[...CSS.highlights.get('on')][0].toString()"), "needle");
    browser.press("Enter");
    browser.until("document.getElementById('hits').textContent === '2 of 3'");
    browser
        .until("[...CSS.highlights.get('on')][0].startContainer.parentElement.closest('.i').classList.contains('ko')");
    browser.eval("document.getElementById('q').blur()");
    browser.press("n");
    browser.until("document.getElementById('hits').textContent === '3 of 3'");
    browser.press("N");
    browser.until("document.getElementById('hits').textContent === '2 of 3'");
    // A regular expression, and a case-sensitive search.
    search(&mut browser, "n..dle|LOGIN");
    browser.until("document.getElementById('hits').textContent === '0 hits'");
    browser.eval("document.getElementById('re').click()");
    browser.until("document.getElementById('hits').textContent.startsWith('10 ')");
    browser.eval("document.getElementById('cs').click()");
    browser.until("document.getElementById('hits').textContent === '3 hits'");
    search(&mut browser, "(");
    browser.until("document.getElementById('hits').textContent === 'no valid expression'");
    assert_eq!(browser.page_errors(), Vec::<String>::new());
}

#[test]
fn filters_show_kinds_tools_errors_and_only_my_words() {
    let Some(mut browser) = Browser::start() else { return };
    browser.show(&log().page(), "");
    assert_eq!(shown(&mut browser), 11);
    browser.press("m");
    browser.until("document.getElementById('shown').textContent === '3 of 11 steps'");
    assert_eq!(shown(&mut browser), 3);
    browser.press("m");
    browser.press("f");
    browser.eval("document.getElementById('errors').click()");
    browser.until("document.getElementById('shown').textContent === '1 of 11 steps'");
    assert_eq!(
        browser.eval("document.querySelector('.i:not(.hide) .w').textContent"),
        "cargo test"
    );
    browser.eval("document.getElementById('all').click()");
    assert_eq!(shown(&mut browser), 11);
    browser.eval("(() => { const s = document.getElementById('tool'); s.value = [...s.options].find(o => o.textContent === 'Edit').value; s.dispatchEvent(new Event('change', {bubbles: true})); })()");
    assert_eq!(shown(&mut browser), 1);
    browser.eval("document.getElementById('all').click()");
    browser.eval("document.querySelector('[data-k=p]').click()");
    assert_eq!(shown(&mut browser), 8);
    browser.eval("document.getElementById('all').click()");
    search(&mut browser, "needle");
    browser.until("document.getElementById('hits').textContent === '3 hits'");
    browser.eval("document.getElementById('only').click()");
    assert_eq!(shown(&mut browser), 3);
    assert_eq!(browser.page_errors(), Vec::<String>::new());
}

#[test]
fn links_lead_to_turns_events_and_lines() {
    let Some(mut browser) = Browser::start() else { return };
    let mut long = log();
    for number in 0..400 {
        long.prompt(&format!("and then {number}"))
            .answer(&"many words ".repeat(60));
    }
    let transcript = long.transcript();
    let page = crate::logs::page(&transcript);
    let event = transcript
        .events
        .iter()
        .find(|entry| entry.text().contains("and then 333"))
        .unwrap();
    let (seq, line, turn) = (event.event.seq, event.event.line, event.event.turn.unwrap());
    for hash in [format!("#e{seq}"), format!("#L{line}"), format!("#t{turn}")] {
        browser.show(&page, &hash);
        browser.until("document.querySelector('.i.cur')?.textContent.includes('and then 333')");
        browser.until("(() => { const box = document.querySelector('.i.cur').getBoundingClientRect(); return box.top >= 0 && box.top < innerHeight; })()");
        // Only blocks near the viewport are drawn.
        let drawn = browser
            .eval("document.querySelectorAll('.b.drawn').length")
            .as_u64()
            .unwrap();
        assert!(drawn < 8, "{drawn} blocks are drawn");
    }
    // The activity strip and the outline link to the same places.
    browser.show(&page, "");
    browser.eval("document.querySelector('#outline a[href=\"#t200\"]').click()");
    browser.until("document.querySelector('.i.cur')?.closest('section').id === 't200'");
    browser.eval("(() => { const s = document.getElementById('strip'), b = s.getBoundingClientRect(); s.dispatchEvent(new MouseEvent('click', {bubbles: true, clientX: b.left + 1, clientY: b.top + 1})); })()");
    browser.until("document.querySelector('.i.cur')?.dataset.n === '0'");
    assert_eq!(browser.page_errors(), Vec::<String>::new());
}

#[test]
fn keys_fold_theme_and_help_work() {
    let Some(mut browser) = Browser::start() else { return };
    browser.show(&log().page(), "");
    browser.press("j");
    browser.until("document.querySelector('.i.cur')?.dataset.n === '0'");
    browser.press("j");
    browser.until("document.querySelector('.i.cur')?.dataset.n === '1'");
    browser.press("o");
    browser.until("document.querySelector('.i.cur details').open");
    browser.press("k");
    browser.until("document.querySelector('.i.cur')?.dataset.n === '0'");
    browser.press("J");
    browser.until("document.querySelector('.i.cur')?.closest('section').id === 't2'");
    browser.press("x");
    browser.until("[...document.querySelectorAll('main details')].every(one => one.open)");
    assert_eq!(text(&mut browser, "fold"), "Close all");
    browser.press("x");
    browser.until("[...document.querySelectorAll('main details')].every(one => !one.open)");
    let background = "getComputedStyle(document.body).backgroundColor";
    let before = browser.eval(background);
    browser.press("t");
    assert_ne!(browser.eval(background), before);
    browser.press("?");
    browser.until("document.getElementById('keys').open");
    browser.press("Escape");
    browser.until("!document.getElementById('keys').open");
    // Code has syntax colours and line numbers, and a diff marks the changed characters.
    browser.press("x");
    browser.until("document.querySelector('.ln')?.textContent === '7\\n8\\n9'");
    browser.until("document.querySelector('.code .hk')?.textContent === 'fn'");
    assert_eq!(browser.eval("document.querySelector('.d ins b').textContent"), "2");
    assert_eq!(browser.page_errors(), Vec::<String>::new());
}

#[test]
fn the_player_shows_one_step_after_another() {
    let Some(mut browser) = Browser::start() else { return };
    browser.show(&log().page(), "");
    browser.press("p");
    browser.until("!document.getElementById('player').hidden");
    browser.eval("document.getElementById('speed').value = '16'");
    browser.until("[...document.querySelectorAll('.i')].filter(el => el.checkVisibility()).length >= 3");
    browser.press("p");
    let some = shown(&mut browser);
    assert!(some < 11, "{some}");
    browser.eval("document.getElementById('pnext').click()");
    browser.until("document.querySelector('.i.cur').closest('section').id === 't2' || document.querySelector('.i.cur').closest('section').id === 't3'");
    browser.eval(
        "(() => { const p = document.getElementById('pos'); p.value = 0; p.dispatchEvent(new Event('input')); })()",
    );
    browser.until("[...document.querySelectorAll('.i')].filter(el => el.checkVisibility()).length === 1");
    browser.press("Escape");
    browser.until("document.getElementById('player').hidden");
    assert_eq!(shown(&mut browser), 11);
    assert_eq!(browser.page_errors(), Vec::<String>::new());
}

#[test]
fn ten_thousand_events_are_drawn_as_they_are_scrolled_to_and_all_are_searched() {
    let Some(mut browser) = Browser::start() else { return };
    let mut log = Log::default();
    for number in 0..1_000 {
        log.prompt(&format!("step {number}"))
            .answer(&format!("Done with {number}.\n\n{}", "words in between ".repeat(40)));
        for call in 0..4 {
            let result = format!("line {number}.{call}\n").repeat(20);
            log.call(
                "Bash",
                json!({ "command": format!("run {number} {call}") }),
                &result,
                call == 3,
            );
        }
    }
    let transcript = log.transcript();
    assert!(transcript.events.len() >= 10_000);
    let page = crate::logs::page(&transcript);
    let began = Instant::now();
    browser.show(&page, "");
    println!(
        "{} events, {} bytes: first view after {:?}",
        transcript.events.len(),
        page.len(),
        began.elapsed()
    );
    let (drawn, all) = (
        browser
            .eval("document.querySelectorAll('.b.drawn').length")
            .as_u64()
            .unwrap(),
        browser.eval("document.querySelectorAll('.b').length").as_u64().unwrap(),
    );
    assert!(drawn * 10 < all, "{drawn} of {all} blocks are drawn at once");
    search(&mut browser, "line 999.3");
    browser.until("document.getElementById('hits').textContent === '20 hits'");
    browser.press("Enter");
    browser.until("document.querySelector('.i.cur')?.closest('section').id === 't1000'");
    assert_eq!(browser.page_errors(), Vec::<String>::new());
}

#[test]
fn the_page_works_on_phones_on_paper_and_with_screen_readers() {
    let Some(mut browser) = Browser::start() else { return };
    let path = browser.show(&log().page(), "");
    // Every control has an accessible name, and the landmarks are present.
    let nameless = "[...document.querySelectorAll('button,input,select,a')].filter(el => !(el.textContent.trim() || el.getAttribute('aria-label') || el.closest('label')?.textContent.trim())).length";
    assert_eq!(browser.eval(nameless), 0);
    assert_eq!(browser.eval("['main','nav[aria-label]','form[role=search]','h1','[aria-live]'].every(one => document.querySelector(one))"), true);
    let metrics = json!({ "width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": true });
    browser.call("Emulation.setDeviceMetricsOverride", metrics);
    browser.open(&path, "");
    assert_eq!(browser.eval("document.documentElement.scrollWidth <= 390"), true);
    assert_eq!(
        browser.eval("document.getElementById('outline').checkVisibility()"),
        false
    );
    browser.eval("document.getElementById('menu').click()");
    assert_eq!(
        browser.eval("document.getElementById('outline').checkVisibility()"),
        true
    );
    browser.call("Emulation.clearDeviceMetricsOverride", json!({}));
    browser.open(&path, "");
    browser.until("document.querySelectorAll('.b.drawn').length > 0");
    let printed = browser.call("Page.printToPDF", json!({}));
    assert!(printed["data"].as_str().unwrap().len() > 10_000);
    assert_eq!(browser.page_errors(), Vec::<String>::new());
}

#[test]
fn a_page_of_a_running_session_reloads_and_stays_where_it_is() {
    check_reload_keeps_position(1);
}

#[test]
fn a_running_sessions_page_stays_where_it_is_also_if_drawing_takes_longer_than_the_reload_interval() {
    check_reload_keeps_position(20);
}

/// The page reloads every second, even between two calls, so each step is one expression that waits for what it needs.
fn check_reload_keeps_position(times_slower: u32) {
    let Some(mut browser) = Browser::start() else { return };
    browser.call("Emulation.setCPUThrottlingRate", json!({ "rate": times_slower }));
    let mut long = log();
    for number in 0..100 {
        long.prompt(&format!("and then {number}"))
            .thought("hm")
            .answer(&"many words ".repeat(60));
    }
    let options = render::PageOptions {
        reload_seconds: Some(1),
        ..render::PageOptions::default()
    };
    let page = |log: &Log| {
        let mut page = Vec::new();
        render::html(&log.transcript(), &options, &mut page).unwrap();
        page
    };
    let path = browser.show(&page(&long), "#t50");
    let is_changed =
        "document.querySelector('#t50 .kt details')?.open && document.querySelector('[data-k=a]').checked === false";
    browser.until(
        "(() => { if (document.querySelector('.i.cur')?.closest('section').id !== 't50') return false; \
           const details = document.querySelector('#t50 .kt details'), answers = document.querySelector('[data-k=a]'); \
           if (!details || !answers) return false; \
           details.open = true; if (answers.checked) answers.click(); return true; })()",
    );
    // The browser may scroll once more after a change, so the position is read a few polls later.
    let top = "Math.round(document.querySelector('#t50').getBoundingClientRect().top)";
    let before = browser.until(&format!(
        "{is_changed} && (window.looks = (window.looks ?? 0) + 1) > 5 && (window.before = 'top ' + {top})"
    ));
    let before: i64 = before.as_str().unwrap()["top ".len()..].parse().unwrap();
    long.prompt("the newest words");
    std::fs::write(&path, page(&long)).unwrap();
    browser.until("!window.before && document.documentElement.dataset.ready === 'yes'");
    browser.until(&format!("{is_changed} && Math.abs({top} - {before}) < 60"));
    browser.until("document.querySelector('#outline li:last-child .ask-t')?.textContent === 'the newest words'");
    assert_eq!(browser.page_errors(), Vec::<String>::new());
}
