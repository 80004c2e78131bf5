//! Sessions in memory, cut into frames with filters, and queries on them.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use memory::search::filter::FilterBuilder;
use memory::search::{
    EventFacts, FrameRange, HitTarget, PartFormat, Query, SearchAnswer, SearchLimits, SearchPart, SearchSession,
    SearchSource, TurnRange, build_filter, may_hold, search,
};

/// Frames by key: their lines, and the filter if there is one.
#[derive(Default)]
pub struct MemorySessions {
    pub sessions: Vec<SearchSession>,
    pub frames: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    pub facts: Vec<Vec<EventFacts>>,
    /// The number of frames read by all threads.
    reads: AtomicUsize,
    builder: FilterBuilder,
}

impl MemorySessions {
    /// Adds a session of one part with `per_frame` lines per frame. Its turns start at the lines `triggers`.
    pub fn add(&mut self, form: PartFormat, lines: &[Vec<u8>], per_frame: usize, triggers: &[u64]) {
        let part = self.part(form, lines, per_frame, triggers);
        self.sessions.push(SearchSession {
            at_ms: 0,
            parts: vec![part],
        });
        self.facts.push(Vec::new());
    }

    pub fn part(&mut self, form: PartFormat, lines: &[Vec<u8>], per_frame: usize, triggers: &[u64]) -> SearchPart {
        let mut frames = Vec::new();
        for (at, chunk) in lines.chunks(per_frame.max(1)).enumerate() {
            let mut bytes = chunk.join(&b'\n');
            bytes.push(b'\n');
            let filter = build_filter(form, &bytes, &mut self.builder);
            frames.push(FrameRange {
                key: self.frames.len() as u64,
                first_line: (at * per_frame.max(1)) as u64 + 1,
                lines: chunk.len() as u64,
            });
            self.frames.push((bytes, Some(filter)));
        }
        let ends = triggers.iter().skip(1).map(|next| next - 1).chain([lines.len() as u64]);
        let turns = triggers.iter().zip(ends).zip(1..);
        let turns = turns.map(|((start_line, end_line), turn)| TurnRange {
            turn,
            start_line: *start_line,
            end_line,
        });
        SearchPart {
            form,
            turns: turns.collect(),
            frames,
        }
    }

    pub fn ask(&self, query: &Query) -> SearchAnswer {
        self.ask_with(query, usize::MAX, 2, &|| false)
    }

    pub fn ask_with(
        &self,
        query: &Query,
        enough: usize,
        threads: usize,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> SearchAnswer {
        self.ask_until(query, HitTarget::of(enough), threads, is_cancelled)
    }

    pub fn ask_until(
        &self,
        query: &Query,
        enough: HitTarget,
        threads: usize,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> SearchAnswer {
        let reach = SearchSource {
            terms: &|key| may_hold(query, self.frames[key as usize].1.as_deref()),
            lines: &|key, scratch| {
                self.reads.fetch_add(1, Ordering::Relaxed);
                match self.frames[key as usize].0.as_slice() {
                    b"damaged" => Err(io::Error::other("its checksum does not match")),
                    lines => {
                        scratch.lines = lines.to_vec();
                        Ok(())
                    }
                }
            },
            facts: &|session, part| match part {
                0 => self.facts[session].clone(),
                _ => Vec::new(),
            },
            is_cancelled,
        };
        let effort = SearchLimits {
            now_ms: 0,
            enough,
            threads,
        };
        search(query, &self.sessions, &reach, &effort)
    }

    pub fn reads(&self) -> usize {
        self.reads.load(Ordering::Relaxed)
    }

    /// Returns the sessions and turns that match.
    pub fn turns(&self, query: &Query) -> BTreeSet<(usize, Option<u32>)> {
        self.ask(query).hits.iter().map(|hit| (hit.session, hit.turn)).collect()
    }
}

/// Returns `false` after it has returned `true` for `times` calls.
pub fn after(times: usize) -> impl Fn() -> bool + Sync {
    let asked = AtomicUsize::new(0);
    move || asked.fetch_add(1, Ordering::Relaxed) >= times
}

/// A prompt, a reply, thinking, a tool's input and output, as Claude Code writes them.
pub mod line {
    use serde_json::{Value, json};

    pub fn prompt(text: &str) -> Vec<u8> {
        of(&json!({"type": "user", "message": {"role": "user", "content": text}}))
    }

    pub fn answer(text: &str) -> Vec<u8> {
        assistant(&json!({"type": "text", "text": text}))
    }

    pub fn thought(text: &str) -> Vec<u8> {
        assistant(&json!({"type": "thinking", "thinking": text}))
    }

    pub fn call(command: &str) -> Vec<u8> {
        assistant(&json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": command, "timeout": 10}}))
    }

    pub fn result(text: &str) -> Vec<u8> {
        let content = json!([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": text}]}]);
        of(
            &json!({"type": "user", "message": {"role": "user", "content": content}, "toolUseResult": {"stdout": "not searched"}}),
        )
    }

    fn assistant(block: &Value) -> Vec<u8> {
        of(&json!({"type": "assistant", "message": {"role": "assistant", "content": [block]}}))
    }

    fn of(record: &Value) -> Vec<u8> {
        record.to_string().into_bytes()
    }
}
