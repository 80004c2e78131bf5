//! Traps about repeated calls and about files. Each function writes one trap into a session and its expected counts. Traps in the
//! form of a record are in `forms`.

use serde_json::{Value, json};

use super::forms::{
    advisor, cache_forms, decoys, fast, floats, glued, nested_nulls, no_usage, not_counts, null_fields, synthetic,
    torn_then_whole,
};
use super::{MODELS, Row, SessionBuilder, day_of};
use crate::logs::ClaudeLog;

pub(super) type WriteTrap = fn(&mut SessionBuilder<'_>);

/// Traps within a session. Forks, torn ends and line endings concern whole files; [`Desk::finish`] writes them.
pub(super) const TRAPS: [WriteTrap; 29] = [
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

fn stream(builder: &mut SessionBuilder<'_>) {
    builder.trap("stream");
    let last = builder.row();
    let full = last.tokens().output;
    for part in [1, full / 3, full / 2] {
        builder.write(&last.output(part));
    }
    let day = builder.write(&last);
    builder.count(&last, &day);
}

fn interleaved(builder: &mut SessionBuilder<'_>) {
    builder.trap("interleaved");
    let (one, two) = (builder.row(), builder.row());
    builder.write(&one.output(2));
    builder.write(&two.output(3));
    builder.write(&one.output(50));
    let day_two = builder.write(&two);
    let day_one = builder.write(&one);
    builder.count(&two, &day_two);
    builder.count(&one, &day_one);
}

fn falling(builder: &mut SessionBuilder<'_>) {
    builder.trap("falling");
    let row = builder.row();
    builder.write(&row.output(4));
    let day = builder.write(&row);
    builder.write(&row.output(9));
    builder.count(&row, &day);
}

fn fallback(builder: &mut SessionBuilder<'_>) {
    builder.trap("fallback");
    let mut first = builder.row().set("cache_read_input_tokens", json!(150_000));
    first.model = Some(MODELS[0].to_owned());
    let mut last = first
        .output(first.tokens().output + 10)
        .set("cache_read_input_tokens", json!(20_000));
    last.model = Some(MODELS[1].to_owned());
    builder.write(&first);
    let day = builder.write(&last);
    builder.count(&last, &day);
}

fn equal_output(builder: &mut SessionBuilder<'_>) {
    builder.trap("equal_output");
    let row = builder.row();
    let poorer = row.set("input_tokens", json!(0));
    if builder.random.flip() {
        builder.write(&poorer);
    }
    let day = builder.write(&row);
    builder.write(&poorer);
    builder.count(&row, &day);
}

fn midnight(builder: &mut SessionBuilder<'_>) {
    builder.trap("midnight");
    let date = builder.log.now().to_string()[..10].to_owned();
    builder.append(|log| log.at(&format!("{date}T23:59:58Z")).step_ms(3_000));
    let row = builder.row();
    builder.write(&row);
    let day = builder.write(&row);
    builder.append(|log| log.step_ms(1_000));
    builder.count(&row, &day);
}

fn no_request_id(builder: &mut SessionBuilder<'_>) {
    builder.trap("no_request_id");
    let mut row = builder.row();
    row.request = None;
    row.message = format!("chatcmpl-{}", &row.message[6..]);
    builder.write(&row.output(1));
    let day = builder.write(&row);
    builder.count(&row, &day);
}

fn late_request_id(builder: &mut SessionBuilder<'_>) {
    builder.trap("late_request_id");
    let row = builder.row();
    let mut early = row.output(5);
    early.request = None;
    builder.write(&early);
    let day = builder.write(&row);
    builder.count(&row, &day);
}

fn two_requests(builder: &mut SessionBuilder<'_>) {
    builder.trap("two_requests");
    let (one, mut two) = (builder.row(), builder.row());
    two.message.clone_from(&one.message);
    let day_one = builder.write(&one);
    let day_two = builder.write(&two);
    builder.count(&one, &day_one);
    builder.count(&two, &day_two);
}

/// Returns the copy of a row that `/btw` writes: on a sidechain, with a new request and a larger context.
fn replay(row: &Row) -> Row {
    let mut replay = row
        .output(row.tokens().output + 40)
        .set("cache_read_input_tokens", json!(row.tokens().cache_read + 50_000));
    replay.request = Some(format!("req_btw{}", &row.message[6..]));
    replay.sidechain = true;
    replay
}

fn btw_inline(builder: &mut SessionBuilder<'_>) {
    builder.trap("btw_inline");
    let row = builder.row();
    let before = builder.random.flip();
    if before {
        builder.write(&replay(&row));
    }
    let day = builder.write(&row);
    if !before {
        builder.write(&replay(&row));
    }
    builder.count(&row, &day);
}

fn btw_file(builder: &mut SessionBuilder<'_>) {
    builder.trap("btw_file");
    let mut aside = builder.agent("aside_question-");
    let path = format!("{}/subagents/{}", builder.folder(), file_name(&aside));
    for _ in 0..3 {
        let row = builder.row();
        let day = builder.write(&row);
        builder.count(&row, &day);
        let copy = replay(&row);
        let mut record = aside.envelope("assistant");
        copy.fill(&mut record);
        // Counted on its own, the file does not show that its rows are copies.
        builder.truth.in_file(&path, &copy.call(&day_of(&record)));
        aside.push(record);
    }
    builder.agent_call(&mut aside, &path);
    builder.others.push((path, aside.jsonl().into_bytes()));
}

fn inline_sidechain(builder: &mut SessionBuilder<'_>) {
    builder.trap("inline_sidechain");
    let mut row = builder.row();
    row.sidechain = true;
    builder.write(&row.output(3));
    let day = builder.write(&row);
    builder.count(&row, &day);
}

/// Appends a `progress` record that contains a subagent's record.
fn wrap(builder: &mut SessionBuilder<'_>, inner: &Value) {
    let mut record = builder.log.envelope("progress");
    record["toolUseID"] = json!("agent_msg_1");
    record["parentToolUseID"] = json!("toolu_spawn");
    record["data"] = json!({
        "type": "agent_progress", "agentId": inner["agentId"], "prompt": "look into this part", "normalizedMessages": [],
        "message": {
            "type": "assistant", "timestamp": inner["timestamp"], "uuid": inner["uuid"],
            "requestId": inner["requestId"], "message": inner["message"],
        },
    });
    builder.log.push(record);
}

fn progress_with_file(builder: &mut SessionBuilder<'_>) {
    builder.trap("progress_with_file");
    let mut log = builder.agent("a");
    let path = format!("{}/subagents/{}", builder.folder(), file_name(&log));
    for _ in 0..2 {
        let (row, mut record) = builder.agent_call(&mut log, &path);
        let part = row.output(row.tokens().output / 2);
        record["message"]["usage"] = part.usage.clone();
        wrap(builder, &record);
        // Counted on its own, the main log contains only the repeated part.
        builder.count_main(&part.call(&day_of(&record)));
    }
    builder.others.push((path, log.jsonl().into_bytes()));
}

fn progress_alone(builder: &mut SessionBuilder<'_>) {
    builder.trap("progress_alone");
    let mut log = builder.agent("a");
    let mut row = builder.row();
    row.sidechain = true;
    let mut record = Value::Null;
    for row in [row.output(2), row.clone()] {
        record = log.envelope("assistant");
        row.fill(&mut record);
        wrap(builder, &record);
    }
    builder.count(&row, &day_of(&record));
}

fn subagent(builder: &mut SessionBuilder<'_>) {
    builder.trap("subagent");
    let log = builder.agent("a");
    let path = format!("{}/subagents/{}", builder.folder(), file_name(&log));
    builder.agent_file(&path, log);
}

fn subagent_flat(builder: &mut SessionBuilder<'_>) {
    builder.trap("subagent_flat");
    let log = builder.agent("a");
    let folder = builder.folder();
    let project = folder.rsplit_once('/').expect("a path has folders").0;
    let path = format!("{project}/{}", file_name(&log));
    builder.agent_file(&path, log);
}

fn workflow(builder: &mut SessionBuilder<'_>) {
    builder.trap("workflow");
    let log = builder.agent("a");
    let folder = format!(
        "{}/subagents/workflows/wf_{:06}",
        builder.folder(),
        builder.random.between(0, 999_999)
    );
    let path = format!("{folder}/{}", file_name(&log));
    builder.agent_file(&path, log);
    let usage = builder.row().usage;
    let journal = format!(
        "{}\n{}\n",
        json!({"type": "started", "key": "v1", "agentId": "a1"}),
        json!({"type": "result", "key": "v1", "agentId": "a1", "result": {"text": "done", "usage": usage}}),
    );
    let path = format!("{folder}/journal.jsonl");
    builder.truth.files.entry(path.clone()).or_default();
    builder.others.push((path, journal.into_bytes()));
}

fn file_name(log: &ClaudeLog) -> String {
    let path = log.path();
    path.rsplit_once('/').expect("a path has folders").1.to_owned()
}
