//! Traps in the form of a record: nulls, unusual numbers, forms of cache writes, nested calls, broken lines.

use serde_json::{Value, json};

use super::super::CountedCall;
use super::{Row, SessionBuilder, day_of};

const ADVISOR: &str = "claude-fable-5-1";

pub(super) fn nested_nulls(builder: &mut SessionBuilder<'_>) {
    builder.trap("nested_nulls");
    let mut row = builder.row();
    let input = json!({
        "id": null, "usage": null, "model": null, "speed": null, "cwd": null, "version": null, "sessionId": null,
        "requestId": null, "costUSD": null, "cache_read_input_tokens": null,
    });
    row.block =
        json!({"type": "tool_use", "id": format!("toolu_{}", row.message), "name": "mcp__db__put", "input": input});
    let day = builder.write(&row);
    builder.count(&row, &day);
}

pub(super) fn null_fields(builder: &mut SessionBuilder<'_>) {
    builder.trap("null_fields");
    let row = builder.row();
    let mut call = row.call("");
    let mut written = row
        .set("speed", Value::Null)
        .set("iterations", Value::Null)
        .set("service_tier", Value::Null);
    for (field, count) in [
        ("input_tokens", &mut call.tokens.input),
        ("cache_read_input_tokens", &mut call.tokens.cache_read),
    ] {
        if builder.random.flip() {
            written.usage[field] = Value::Null;
            *count = 0;
        }
    }
    written.usage["cache_creation"]["ephemeral_1h_input_tokens"] = Value::Null;
    call.tokens.cache_write_1h = 0;
    call.day = builder.write(&written);
    builder.count_bill(&call);
}

pub(super) fn synthetic(builder: &mut SessionBuilder<'_>) {
    builder.trap("synthetic");
    let mut row = builder.row().output(0).writes(0, 0);
    row.usage["input_tokens"] = json!(0);
    row.usage["cache_read_input_tokens"] = json!(0);
    row.model = Some("<synthetic>".to_owned());
    row.request = None;
    row.block = json!({"type": "text", "text": "API Error: Overloaded"});
    let mut record = builder.record(&row);
    record["isApiErrorMessage"] = json!(true);
    builder.log.push(record);
}

pub(super) fn no_usage(builder: &mut SessionBuilder<'_>) {
    builder.trap("no_usage");
    let mut row = builder.row();
    row.usage = Value::Null;
    let mut record = builder.record(&row);
    if builder.random.flip()
        && let Some(message) = record["message"].as_object_mut()
    {
        message.remove("usage");
    }
    builder.log.push(record);
}

pub(super) fn decoys(builder: &mut SessionBuilder<'_>) {
    builder.trap("decoys");
    let decoy = builder.row();
    let mut fake = json!({"type": "assistant"});
    decoy.fill(&mut fake);
    let mut row = builder.row();
    row.block = json!({"type": "tool_use", "id": format!("toolu_{}", row.message), "name": "Write", "input": fake});
    let day = builder.write(&row);
    builder.count(&row, &day);
    let result = json!({"status": "completed", "usage": decoy.usage, "totalTokens": 900_000});
    builder.append(|log| log.result(&fake.to_string()).with("toolUseResult", result));
    let mut row = builder.row();
    row.block = json!({"type": "text", "text": fake.to_string()});
    let day = builder.write(&row);
    builder.count(&row, &day);
}

pub(super) fn advisor(builder: &mut SessionBuilder<'_>) {
    builder.trap("advisor");
    let row = builder.row();
    let advisers: Vec<_> = (0..builder.random.between(1, 3)).map(|_| builder.row()).collect();
    let nameless = builder.random.between(0, advisers.len() as u64);
    let mut iterations = vec![iteration("message", Value::Null, &row)];
    let mut bills = vec![row.call("")];
    for (index, adviser) in advisers.iter().enumerate() {
        let model = (index as u64 != nameless).then(|| ADVISOR.to_owned());
        iterations.push(iteration("advisor_message", json!(model), adviser));
        bills.push(CountedCall {
            model,
            ..adviser.call("")
        });
    }
    let last = row.set("iterations", Value::Array(iterations.clone()));
    iterations.truncate(2);
    builder.write(&last.output(1).set("iterations", Value::Array(iterations)));
    let day = builder.write(&last);
    for call in bills {
        builder.count_bill(&CountedCall {
            day: day.clone(),
            ..call
        });
    }
}

fn iteration(kind: &str, model: Value, row: &Row) -> Value {
    let mut iteration = row.usage.clone();
    iteration["type"] = json!(kind);
    iteration["model"] = model;
    iteration
}

pub(super) fn cache_forms(builder: &mut SessionBuilder<'_>) {
    for (name, split, total) in [
        (
            "cache_split",
            json!({"ephemeral_5m_input_tokens": 70, "ephemeral_1h_input_tokens": 600}),
            None,
        ),
        (
            "cache_disagree",
            json!({"ephemeral_5m_input_tokens": 70, "ephemeral_1h_input_tokens": 600}),
            Some(9_999),
        ),
        ("cache_old", json!({}), Some(70)),
        ("cache_null", Value::Null, Some(70)),
    ] {
        builder.trap(name);
        let mut row = builder.row();
        let mut call = row.call("");
        call.tokens.cache_write_5m = 70;
        call.tokens.cache_write_1h = if split.is_null() || total == Some(70) { 0 } else { 600 };
        let usage = row.usage.as_object_mut().expect("usage is an object");
        usage.remove("cache_creation_input_tokens");
        usage.remove("cache_creation");
        if let Some(total) = total {
            usage.insert("cache_creation_input_tokens".to_owned(), json!(total));
        }
        if name != "cache_old" {
            usage.insert("cache_creation".to_owned(), split);
        }
        call.day = builder.write(&row);
        builder.count_bill(&call);
    }
}

pub(super) fn fast(builder: &mut SessionBuilder<'_>) {
    builder.trap("fast");
    let row = builder.row().set("speed", json!("fast"));
    let mut call = row.call("");
    call.tokens.fast_calls = 1;
    builder.write(&row.output(1));
    call.day = builder.write(&row);
    builder.count_bill(&call);
}

/// Writes a row with some texts replaced. Forks do not copy it, because it is a raw line.
fn write_in_words(builder: &mut SessionBuilder<'_>, row: &Row, words: &[(&str, &str)]) -> String {
    let record = builder.record(row);
    let mut line = record.to_string();
    for (number, word) in words {
        line = line.replace(number, word);
    }
    builder.log.push_raw(line);
    day_of(&record)
}

fn count_raw(builder: &mut SessionBuilder<'_>, call: &CountedCall) {
    builder.truth.in_file(&builder.path, call);
    builder.count_session(call);
}

pub(super) fn floats(builder: &mut SessionBuilder<'_>) {
    builder.trap("floats");
    let row = builder
        .row()
        .output(5_000)
        .set("input_tokens", json!(1_200_000))
        .set("cache_read_input_tokens", json!(68_719_476_737_u64));
    let words = [
        ("\"input_tokens\":1200000", "\"input_tokens\":1.2e6"),
        ("\"output_tokens\":5000", "\"output_tokens\":5000.0"),
        (":68719476737", ":68719476737.0"),
    ];
    let day = write_in_words(builder, &row, &words);
    count_raw(builder, &row.call(&day));
}

pub(super) fn not_counts(builder: &mut SessionBuilder<'_>) {
    builder.trap("not_counts");
    let words = [
        "\"1234\"",
        "-7",
        "12.5",
        "1e300",
        "18446744073709551616",
        "true",
        "[5]",
        "{\"tokens\":5}",
        "\"\"",
    ];
    let word = builder.random.pick(&words);
    let row = builder.row().set("input_tokens", json!(777_777));
    let day = write_in_words(
        builder,
        &row,
        &[("\"input_tokens\":777777", &format!("\"input_tokens\":{word}"))],
    );
    let mut call = row.call(&day);
    call.tokens.input = 0;
    count_raw(builder, &call);
}

pub(super) fn glued(builder: &mut SessionBuilder<'_>) {
    builder.trap("glued");
    let (one, two) = (builder.row(), builder.row());
    let (first, second) = (builder.record(&one), builder.record(&two));
    builder.log.push_raw(format!("{first}{second}"));
    count_raw(builder, &one.call(&day_of(&first)));
    count_raw(builder, &two.call(&day_of(&second)));
}

pub(super) fn torn_then_whole(builder: &mut SessionBuilder<'_>) {
    builder.trap("torn_then_whole");
    let row = builder.row();
    let record = builder.record(&row);
    let line = record.to_string();
    let cut = usize::try_from(builder.random.between(2, line.len() as u64 / 2)).expect("an index");
    builder.log.push_raw(format!("{}{line}", &line[..cut]));
    let day = day_of(&record);
    builder.log.push(record);
    builder.count(&row, &day);
}
