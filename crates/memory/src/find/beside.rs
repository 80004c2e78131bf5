//! Searches text about sessions that no log contains: titles, the user's names, notes and tags, the digests of evicted
//! sessions, and the prompts of sessions whose logs are gone. There are few of these texts, so all of them are
//! searched.

use std::collections::HashMap;

use jiff::Timestamp;
use transcript::{Field, Kind, Role};

use super::{Found, Question, What};
use crate::digest::Digest;
use crate::search::matching::{Matcher, TextContext};
use crate::search::{TextsHit, match_texts};
use crate::store::{ListedSession, SessionStatus, Store, StoreError};

const MICROS_PER_MS: i64 = 1000;

/// Searches the texts outside the logs of these sessions.
pub(super) fn find(store: &Store, listed: &[ListedSession], question: &Question<'_>) -> Result<Vec<Found>, StoreError> {
    let mut found = Vec::new();
    // A query that consists of fields alone matches only texts of logs.
    if question.query.wanted() == 0 {
        return Ok(found);
    }
    let mut matcher = Matcher::new(question.query);
    for session in listed {
        found.extend(on_session(session, &mut matcher, question.now));
    }
    for session in listed.iter().filter(|session| session.status == SessionStatus::Evicted) {
        if let Some(row) = store.reads().digest_of(&session.session_uid)? {
            found.extend(in_digest(session, &row.digest, &mut matcher, question.now));
        }
    }
    let gone: HashMap<&str, &ListedSession> = listed
        .iter()
        .filter(|session| session.status == SessionStatus::PromptsOnly)
        .map(|session| (session.session_uid.as_str(), session))
        .collect();
    if gone.is_empty() {
        return Ok(found);
    }
    store.reads().each_remaining_prompt(&mut |uid, at_micros, text| {
        let Some(session) = gone.get(uid) else { return };
        let texts = [(about(Field::Prompt, Role::User, Some(Kind::UserMsg)), text)];
        let ts = at_micros.and_then(|at| Timestamp::from_microsecond(at).ok());
        let age_ms = age_ms(at_micros.or(session.last_micros), question.now);
        if let Some(judged) = match_texts(&mut matcher, &texts, Field::Prompt, age_ms) {
            let found_here = told(session, What::Text(Some(Kind::UserMsg)), judged);
            found.push(Found {
                field: Field::Prompt,
                ts,
                ..found_here
            });
        }
    })?;
    Ok(found)
}

fn about(field: Field, role: Role, kind: Option<Kind>) -> TextContext<'static> {
    TextContext {
        field,
        role,
        tool: None,
        kinds: kind.map(transcript::Kinds::of),
    }
}

/// Matches the annotations and titles of one session, all of them together.
fn on_session(session: &ListedSession, matcher: &mut Matcher<'_>, now: Timestamp) -> Option<Found> {
    let said = &session.said;
    let own = about(Field::Other, Role::User, None);
    let told_by_agent = about(Field::Other, Role::Assistant, None);
    let names = said.name.iter().map(|name| (What::Name, own, name.as_str()));
    let notes = said.note.iter().map(|note| (What::Note, own, note.as_str()));
    let tags = said.tags.iter().map(|tag| (What::Tag, own, tag.as_str()));
    let titles = session
        .title
        .iter()
        .map(|title| (What::Title, told_by_agent, title.as_str()));
    let all: Vec<(What, TextContext<'_>, &str)> = names.chain(notes).chain(tags).chain(titles).collect();
    if all.is_empty() {
        return None;
    }
    let texts: Vec<(TextContext<'_>, &str)> = all.iter().map(|(_, about, text)| (*about, *text)).collect();
    let judged = match_texts(matcher, &texts, Field::Prompt, age_ms(session.last_micros, now))?;
    let what = all[judged.at].0;
    Some(told(session, what, judged))
}

/// Matches the digest of an evicted session.
fn in_digest(session: &ListedSession, digest: &Digest, matcher: &mut Matcher<'_>, now: Timestamp) -> Option<Found> {
    let left = about(Field::Other, Role::Assistant, None);
    let texts: Vec<(TextContext<'_>, &str)> = digest.texts().map(|text| (left, text)).collect();
    let judged = match_texts(matcher, &texts, Field::Prompt, age_ms(session.last_micros, now))?;
    Some(told(session, What::Digest, judged))
}

fn age_ms(at_micros: Option<i64>, now: Timestamp) -> i64 {
    now.as_millisecond()
        .saturating_sub(at_micros.unwrap_or_default() / MICROS_PER_MS)
}

fn told(session: &ListedSession, what: What, judged: TextsHit) -> Found {
    Found {
        session: session.clone(),
        path: None,
        what,
        turn: None,
        prompt: None,
        part: None,
        line: None,
        ts: None,
        tool: None,
        field: Field::Other,
        snippet: judged.snippet,
        score: judged.score,
        copies: 0,
        copied_in: Vec::new(),
    }
}
