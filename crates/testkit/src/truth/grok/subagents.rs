//! Prompts that start subagents: Grok bills a subagent with the prompt that started it, if that prompt still runs when it
//! ends, and the subagent's own log tells its cost again.

use serde_json::{Value, json};

use super::{Corpus, Desk, MODELS, uuid, with_split};

/// What a prompt or a subagent cost, by model.
type Shares = Vec<(&'static str, Value)>;

impl Desk<'_> {
    /// Plants a prompt with subagents that end in it, one that ends after it, and one that ends in the next.
    pub(super) fn subagents(&mut self, corpus: &mut Corpus) {
        let prompt = self.prompt();
        let mut bill: Shares = vec![(MODELS[0], self.share(0))];
        for _ in 0..self.dice.between(1, 2) {
            let child = self.start(&prompt);
            let cost = self.work(&child, true, corpus);
            add(&mut bill, cost);
            self.done(&child);
        }
        let (after, next) = (self.start(&prompt), self.start(&prompt));
        self.charge(&prompt, &bill);
        self.work(&after, false, corpus);
        self.done(&after);
        let prompt = self.prompt();
        self.work(&next, false, corpus);
        self.done(&next);
        let own = vec![(MODELS[0], self.share(0))];
        self.charge(&prompt, &own);
        self.traps.extend(["subagent", "late"]);
    }

    /// The session of a subagent: one prompt, sometimes with a subagent of its own. Gives what it cost.
    fn work(&mut self, session: &str, is_held: bool, corpus: &mut Corpus) -> Shares {
        let mut desk = Desk {
            dice: &mut *self.dice,
            session: session.to_owned(),
            rows: Vec::new(),
            bills: Vec::new(),
            traps: Vec::new(),
            events: 0,
            prompts: 0,
            now_ms: self.now_ms,
            subagent: Some(is_held),
        };
        let prompt = desk.prompt();
        let mut bill: Shares = vec![(MODELS[1], desk.share(0))];
        if is_held && (desk.dice.coin() || !corpus.truth.traps.contains_key("nested")) {
            let child = desk.start(&prompt);
            let share = desk.share(0);
            let mut below = Desk {
                dice: &mut *desk.dice,
                session: child.clone(),
                rows: Vec::new(),
                bills: Vec::new(),
                traps: vec!["nested"],
                events: 0,
                prompts: 0,
                now_ms: desk.now_ms,
                subagent: Some(true),
            };
            let own = below.prompt();
            below.charge(&own, &[(MODELS[1], share.clone())]);
            desk.now_ms = below.now_ms;
            below.finish(corpus);
            add(&mut bill, vec![(MODELS[1], share)]);
            desk.done(&child);
        }
        desk.charge(&prompt, &bill);
        let now_ms = desk.now_ms;
        desk.finish(corpus);
        self.now_ms = now_ms;
        bill
    }

    fn start(&mut self, prompt: &str) -> String {
        let child = uuid(self.dice.roll(), 88);
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

    /// Writes what a prompt cost, and books it.
    fn charge(&mut self, prompt: &str, bill: &[(&'static str, Value)]) {
        let split: Value = bill
            .iter()
            .map(|(model, usage)| ((*model).to_owned(), usage.clone()))
            .collect::<serde_json::Map<_, _>>()
            .into();
        self.finished(prompt, &with_split(bill[0].1.clone(), split));
        for (model, usage) in bill {
            self.bill(Some(model), usage);
        }
    }
}

/// Adds shares model by model, number by number.
fn add(bill: &mut Shares, more: Shares) {
    for (model, share) in more {
        let Some((_, known)) = bill.iter_mut().find(|(known, _)| *known == model) else {
            bill.push((model, share));
            continue;
        };
        for (name, number) in share.as_object().expect("usage is an object") {
            let sum = known[name].as_u64().unwrap_or_default() + number.as_u64().unwrap_or_default();
            known[name] = sum.into();
        }
    }
}
