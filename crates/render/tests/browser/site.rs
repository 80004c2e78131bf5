//! The index of many session pages.

use render::{SiteSession, site_index, site_search_data};
use serde_json::json;

use crate::chromium::Browser;
use crate::logs::Log;

#[test]
fn the_index_finds_words_of_messages_and_of_tool_output() {
    let Some(mut browser) = Browser::start() else { return };
    let session = |name: &str, said: &str, output: &str| {
        let mut log = Log::default();
        log.prompt(said).call("Bash", json!({ "command": "x" }), output, false);
        let transcript = log.transcript();
        let mut session = SiteSession::of(&transcript, format!("sessions/{name}.html"));
        session.project = Some(name.to_owned());
        (session, site_search_data(&transcript))
    };
    let sessions = [
        session("app", "fix the login", "a purple output"),
        session("web", "draw a button", "zebra_crossing here"),
    ];
    let mut index = Vec::new();
    site_index(&sessions, &jiff::tz::TimeZone::UTC, &mut index).unwrap();
    browser.show(&index, "");
    let found = "[...document.querySelectorAll('.session:not([hidden]) a')].map(a => a.getAttribute('href')).join()";
    assert_eq!(browser.eval(found), "sessions/app.html,sessions/web.html");
    let cases = [
        ("login", "sessions/app.html#q=login"),
        ("PURPLE", "sessions/app.html#q=purple"),
        ("zebra_cross", "sessions/web.html#q=zebra_cross"),
        ("draw button", "sessions/web.html#q=draw"),
        ("absent", ""),
    ];
    for (words, expected) in cases {
        let ask = format!(
            "document.getElementById('q').value = '{words}'; document.getElementById('q').dispatchEvent(new Event('input'))"
        );
        browser.eval(&ask);
        browser.until(&format!("({found}) === '{expected}'"));
    }
    browser.eval("document.getElementById('q').value = ''; document.querySelector('[data-p=web].project').click()");
    browser.until(&format!("({found}) === 'sessions/web.html'"));
    assert_eq!(browser.page_errors(), Vec::<String>::new());
}
