//! The traps: each function plants one in a session and enters what it must count. Those here concern calls told more
//! than once, and files; those in the form of a row are in `forms`.

use serde_json::{Value, json};

use super::forms::{
    advisor, cache_forms, decoys, fast, floats, glued, nested_nulls, no_usage, not_counts, null_fields, synthetic,
    torn_then_whole,
};
use super::{Desk, MODELS, Row, day_of};
use crate::logs::ClaudeLog;

pub(super) type Plant = fn(&mut Desk<'_>);

/// Forks, cut ends and line ends concern whole files: [`Desk::finish`] plants them.
pub(super) const TRAPS: [Plant; 29] = [
    stream,
    interleaved,
    falling,
    fallback,
    equal_output,
    midnight,
    no_request_id,
    late_request_id,
    two_requests,
    btw_inline,
    btw_file,
    inline_sidechain,
    nested_nulls,
    null_fields,
    synthetic,
    no_usage,
    decoys,
    advisor,
    cache_forms,
    progress_with_file,
    progress_alone,
    fast,
    subagent,
    subagent_flat,
    workflow,
    floats,
    not_counts,
    glued,
    torn_then_whole,
];

fn stream(desk: &mut Desk<'_>) {
    desk.trap("stream");
    let last = desk.row();
    let full = last.tokens().output;
    for part in [1, full / 3, full / 2] {
        desk.write(&last.output(part));
    }
    let day = desk.write(&last);
    desk.count(&last, &day);
}

fn interleaved(desk: &mut Desk<'_>) {
    desk.trap("interleaved");
    let (one, two) = (desk.row(), desk.row());
    desk.write(&one.output(2));
    desk.write(&two.output(3));
    desk.write(&one.output(50));
    let day_two = desk.write(&two);
    let day_one = desk.write(&one);
    desk.count(&two, &day_two);
    desk.count(&one, &day_one);
}

fn falling(desk: &mut Desk<'_>) {
    desk.trap("falling");
    let row = desk.row();
    desk.write(&row.output(4));
    let day = desk.write(&row);
    desk.write(&row.output(9));
    desk.count(&row, &day);
}

fn fallback(desk: &mut Desk<'_>) {
    desk.trap("fallback");
    let mut first = desk.row().set("cache_read_input_tokens", json!(150_000));
    first.model = Some(MODELS[0].to_owned());
    let mut last = first
        .output(first.tokens().output + 10)
        .set("cache_read_input_tokens", json!(20_000));
    last.model = Some(MODELS[1].to_owned());
    desk.write(&first);
    let day = desk.write(&last);
    desk.count(&last, &day);
}

fn equal_output(desk: &mut Desk<'_>) {
    desk.trap("equal_output");
    let row = desk.row();
    let poorer = row.set("input_tokens", json!(0));
    if desk.dice.coin() {
        desk.write(&poorer);
    }
    let day = desk.write(&row);
    desk.write(&poorer);
    desk.count(&row, &day);
}

fn midnight(desk: &mut Desk<'_>) {
    desk.trap("midnight");
    let date = desk.log.now().to_string()[..10].to_owned();
    desk.tell(|log| log.at(&format!("{date}T23:59:58Z")).step_ms(3_000));
    let row = desk.row();
    desk.write(&row);
    let day = desk.write(&row);
    desk.tell(|log| log.step_ms(1_000));
    desk.count(&row, &day);
}

fn no_request_id(desk: &mut Desk<'_>) {
    desk.trap("no_request_id");
    let mut row = desk.row();
    row.request = None;
    row.message = format!("chatcmpl-{}", &row.message[6..]);
    desk.write(&row.output(1));
    let day = desk.write(&row);
    desk.count(&row, &day);
}

fn late_request_id(desk: &mut Desk<'_>) {
    desk.trap("late_request_id");
    let row = desk.row();
    let mut early = row.output(5);
    early.request = None;
    desk.write(&early);
    let day = desk.write(&row);
    desk.count(&row, &day);
}

fn two_requests(desk: &mut Desk<'_>) {
    desk.trap("two_requests");
    let (one, mut two) = (desk.row(), desk.row());
    two.message.clone_from(&one.message);
    let day_one = desk.write(&one);
    let day_two = desk.write(&two);
    desk.count(&one, &day_one);
    desk.count(&two, &day_two);
}

/// What `/btw` leaves: the row again, on a sidechain, with a new request and a larger context.
fn replay(row: &Row) -> Row {
    let mut replay = row
        .output(row.tokens().output + 40)
        .set("cache_read_input_tokens", json!(row.tokens().cache_read + 50_000));
    replay.request = Some(format!("req_btw{}", &row.message[6..]));
    replay.sidechain = true;
    replay
}

fn btw_inline(desk: &mut Desk<'_>) {
    desk.trap("btw_inline");
    let row = desk.row();
    let before = desk.dice.coin();
    if before {
        desk.write(&replay(&row));
    }
    let day = desk.write(&row);
    if !before {
        desk.write(&replay(&row));
    }
    desk.count(&row, &day);
}

fn btw_file(desk: &mut Desk<'_>) {
    desk.trap("btw_file");
    let mut aside = desk.agent("aside_question-");
    let path = format!("{}/subagents/{}", desk.folder(), file_name(&aside));
    for _ in 0..3 {
        let row = desk.row();
        let day = desk.write(&row);
        desk.count(&row, &day);
        let copy = replay(&row);
        let mut record = aside.envelope("assistant");
        copy.fill(&mut record);
        // The aside alone cannot know that its rows are copies.
        desk.truth.in_file(&path, &copy.bill(&day_of(&record)));
        aside.push(record);
    }
    desk.agent_call(&mut aside, &path);
    desk.others.push((path, aside.jsonl().into_bytes()));
}

fn inline_sidechain(desk: &mut Desk<'_>) {
    desk.trap("inline_sidechain");
    let mut row = desk.row();
    row.sidechain = true;
    desk.write(&row.output(3));
    let day = desk.write(&row);
    desk.count(&row, &day);
}

/// A `progress` row of the main log around a subagent's record.
fn wrap(desk: &mut Desk<'_>, inner: &Value) {
    let mut record = desk.log.envelope("progress");
    record["toolUseID"] = json!("agent_msg_1");
    record["parentToolUseID"] = json!("toolu_spawn");
    record["data"] = json!({
        "type": "agent_progress", "agentId": inner["agentId"], "prompt": "look into this part", "normalizedMessages": [],
        "message": {
            "type": "assistant", "timestamp": inner["timestamp"], "uuid": inner["uuid"],
            "requestId": inner["requestId"], "message": inner["message"],
        },
    });
    desk.log.push(record);
}

fn progress_with_file(desk: &mut Desk<'_>) {
    desk.trap("progress_with_file");
    let mut log = desk.agent("a");
    let path = format!("{}/subagents/{}", desk.folder(), file_name(&log));
    for _ in 0..2 {
        let (row, mut record) = desk.agent_call(&mut log, &path);
        let part = row.output(row.tokens().output / 2);
        record["message"]["usage"] = part.usage.clone();
        wrap(desk, &record);
        // The main log alone knows only the part that it repeats.
        desk.count_main(&part.bill(&day_of(&record)));
    }
    desk.others.push((path, log.jsonl().into_bytes()));
}

fn progress_alone(desk: &mut Desk<'_>) {
    desk.trap("progress_alone");
    let mut log = desk.agent("a");
    let mut row = desk.row();
    row.sidechain = true;
    let mut record = Value::Null;
    for row in [row.output(2), row.clone()] {
        record = log.envelope("assistant");
        row.fill(&mut record);
        wrap(desk, &record);
    }
    desk.count(&row, &day_of(&record));
}

fn subagent(desk: &mut Desk<'_>) {
    desk.trap("subagent");
    let log = desk.agent("a");
    let path = format!("{}/subagents/{}", desk.folder(), file_name(&log));
    desk.agent_file(&path, log);
}

fn subagent_flat(desk: &mut Desk<'_>) {
    desk.trap("subagent_flat");
    let log = desk.agent("a");
    let folder = desk.folder();
    let project = folder.rsplit_once('/').expect("a path has folders").0;
    let path = format!("{project}/{}", file_name(&log));
    desk.agent_file(&path, log);
}

fn workflow(desk: &mut Desk<'_>) {
    desk.trap("workflow");
    let log = desk.agent("a");
    let folder = format!(
        "{}/subagents/workflows/wf_{:06}",
        desk.folder(),
        desk.dice.between(0, 999_999)
    );
    let path = format!("{folder}/{}", file_name(&log));
    desk.agent_file(&path, log);
    let usage = desk.row().usage;
    let journal = format!(
        "{}\n{}\n",
        json!({"type": "started", "key": "v1", "agentId": "a1"}),
        json!({"type": "result", "key": "v1", "agentId": "a1", "result": {"text": "done", "usage": usage}}),
    );
    let path = format!("{folder}/journal.jsonl");
    desk.truth.files.entry(path.clone()).or_default();
    desk.others.push((path, journal.into_bytes()));
}

fn file_name(log: &ClaudeLog) -> String {
    let path = log.path();
    path.rsplit_once('/').expect("a path has folders").1.to_owned()
}
