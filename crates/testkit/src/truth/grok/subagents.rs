//! Prompts that start subagents. If the prompt is still running when a subagent ends, Grok includes the subagent's cost in the
//! prompt's, and the subagent's own log repeats it.

use serde_json::{Value, json};

use super::{Corpus, MODELS, SessionBuilder, uuid, with_split};

/// The usage of a prompt or a subagent, by model.
type Shares = Vec<(&'static str, Value)>;

impl SessionBuilder<'_> {
    /// Writes a prompt with subagents that end within it, one that ends after it, and one that ends in the next prompt.
    pub(super) fn subagents(&mut self, corpus: &mut Corpus) {
        let prompt = self.prompt();
        let mut call: Shares = vec![(MODELS[0], self.share(0))];
        for _ in 0..self.random.between(1, 2) {
            let child = self.start(&prompt);
            let cost = self.work(&child, true, corpus);
            add(&mut call, cost);
            self.done(&child);
        }
        let (after, next) = (self.start(&prompt), self.start(&prompt));
        self.charge(&prompt, &call);
        self.work(&after, false, corpus);
        self.done(&after);
        let prompt = self.prompt();
        self.work(&next, false, corpus);
        self.done(&next);
        let own = vec![(MODELS[0], self.share(0))];
        self.charge(&prompt, &own);
        self.traps.extend(["subagent", "late"]);
    }

    /// Writes the session of a subagent, which sometimes has a subagent of its own, and returns its usage.
    fn work(&mut self, session: &str, is_held: bool, corpus: &mut Corpus) -> Shares {
        let mut builder = SessionBuilder {
            random: &mut *self.random,
            session: session.to_owned(),
            rows: Vec::new(),
            bills: Vec::new(),
            traps: Vec::new(),
            events: 0,
            prompts: 0,
            now_ms: self.now_ms,
            subagent: Some(is_held),
        };
        let prompt = builder.prompt();
        let mut call: Shares = vec![(MODELS[1], builder.share(0))];
        if is_held && (builder.random.flip() || !corpus.truth.traps.contains_key("nested")) {
            let child = builder.start(&prompt);
            let share = builder.share(0);
            let mut below = SessionBuilder {
                random: &mut *builder.random,
                session: child.clone(),
                rows: Vec::new(),
                bills: Vec::new(),
                traps: vec!["nested"],
                events: 0,
                prompts: 0,
                now_ms: builder.now_ms,
                subagent: Some(true),
            };
            let own = below.prompt();
            below.charge(&own, &[(MODELS[1], share.clone())]);
            builder.now_ms = below.now_ms;
            below.finish(corpus);
            add(&mut call, vec![(MODELS[1], share)]);
            builder.done(&child);
        }
        builder.charge(&prompt, &call);
        let now_ms = builder.now_ms;
        builder.finish(corpus);
        self.now_ms = now_ms;
        call
    }

    fn start(&mut self, prompt: &str) -> String {
        let child = uuid(self.random.next_u64(), 88);
        let update = json!({
            "sessionUpdate": "subagent_spawned", "subagent_id": child, "child_session_id": child,
            "parent_session_id": self.session, "parent_prompt_id": prompt, "description": "look around",
        });
        self.row("_x.ai/session/update", &update);
        child
    }

    fn done(&mut self, child: &str) {
        let update = json!({
            "sessionUpdate": "subagent_finished", "subagent_id": child, "child_session_id": child,
            "status": "completed",
        });
        self.row("_x.ai/session/update", &update);
    }

    /// Writes the usage of a prompt and counts it.
    fn charge(&mut self, prompt: &str, call: &[(&'static str, Value)]) {
        let split: Value = call
            .iter()
            .map(|(model, usage)| ((*model).to_owned(), usage.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into();
        self.finished(prompt, &with_split(call[0].1.clone(), split));
        for (model, usage) in call {
            self.call(Some(model), usage);
        }
    }
}

/// Adds up usage by model and field.
fn add(call: &mut Shares, more: Shares) {
    for (model, share) in more {
        let Some((_, known)) = call.iter_mut().find(|(known, _)| *known == model) else {
            call.push((model, share));
            continue;
        };
        for (name, number) in share.as_object().expect("usage is an object") {
            let sum = known[name].as_u64().unwrap_or_default() + number.as_u64().unwrap_or_default();
            known[name] = sum.into();
        }
    }
}
