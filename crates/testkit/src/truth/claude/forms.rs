//! Traps in the form of a row: nulls, numbers, kinds of cache writes, calls within calls, broken lines.

use serde_json::{Value, json};

use super::super::Bill;
use super::{Desk, Row, day_of};

const ADVISOR: &str = "claude-fable-5-1";

pub(super) fn nested_nulls(desk: &mut Desk<'_>) {
    desk.trap("nested_nulls");
    let mut row = desk.row();
    let input = json!({
        "id": null, "usage": null, "model": null, "speed": null, "cwd": null, "version": null, "sessionId": null,
        "requestId": null, "costUSD": null, "cache_read_input_tokens": null,
    });
    row.block =
        json!({"type": "tool_use", "id": format!("toolu_{}", row.message), "name": "mcp__db__put", "input": input});
    let day = desk.write(&row);
    desk.count(&row, &day);
}

pub(super) fn null_fields(desk: &mut Desk<'_>) {
    desk.trap("null_fields");
    let row = desk.row();
    let mut bill = row.bill("");
    let mut written = row
        .set("speed", Value::Null)
        .set("iterations", Value::Null)
        .set("service_tier", Value::Null);
    for (field, count) in [
        ("input_tokens", &mut bill.tokens.input),
        ("cache_read_input_tokens", &mut bill.tokens.cache_read),
    ] {
        if desk.dice.coin() {
            written.usage[field] = Value::Null;
            *count = 0;
        }
    }
    written.usage["cache_creation"]["ephemeral_1h_input_tokens"] = Value::Null;
    bill.tokens.cache_write_1h = 0;
    bill.day = desk.write(&written);
    desk.count_bill(&bill);
}

pub(super) fn synthetic(desk: &mut Desk<'_>) {
    desk.trap("synthetic");
    let mut row = desk.row().output(0).writes(0, 0);
    row.usage["input_tokens"] = json!(0);
    row.usage["cache_read_input_tokens"] = json!(0);
    row.model = Some("<synthetic>".to_owned());
    row.request = None;
    row.block = json!({"type": "text", "text": "API Error: Overloaded"});
    let mut record = desk.record(&row);
    record["isApiErrorMessage"] = json!(true);
    desk.log.push(record);
}

pub(super) fn no_usage(desk: &mut Desk<'_>) {
    desk.trap("no_usage");
    let mut row = desk.row();
    row.usage = Value::Null;
    let mut record = desk.record(&row);
    if desk.dice.coin()
        && let Some(message) = record["message"].as_object_mut()
    {
        message.remove("usage");
    }
    desk.log.push(record);
}

pub(super) fn decoys(desk: &mut Desk<'_>) {
    desk.trap("decoys");
    let decoy = desk.row();
    let mut fake = json!({"type": "assistant"});
    decoy.fill(&mut fake);
    let mut row = desk.row();
    row.block = json!({"type": "tool_use", "id": format!("toolu_{}", row.message), "name": "Write", "input": fake});
    let day = desk.write(&row);
    desk.count(&row, &day);
    let result = json!({"status": "completed", "usage": decoy.usage, "totalTokens": 900_000});
    desk.tell(|log| log.result(&fake.to_string()).with("toolUseResult", result));
    let mut row = desk.row();
    row.block = json!({"type": "text", "text": fake.to_string()});
    let day = desk.write(&row);
    desk.count(&row, &day);
}

pub(super) fn advisor(desk: &mut Desk<'_>) {
    desk.trap("advisor");
    let row = desk.row();
    let advisers: Vec<_> = (0..desk.dice.between(1, 3)).map(|_| desk.row()).collect();
    let nameless = desk.dice.between(0, advisers.len() as u64);
    let mut iterations = vec![iteration("message", Value::Null, &row)];
    let mut bills = vec![row.bill("")];
    for (index, adviser) in advisers.iter().enumerate() {
        let model = (index as u64 != nameless).then(|| ADVISOR.to_owned());
        iterations.push(iteration("advisor_message", json!(model), adviser));
        bills.push(Bill {
            model,
            ..adviser.bill("")
        });
    }
    let last = row.set("iterations", Value::Array(iterations.clone()));
    iterations.truncate(2);
    desk.write(&last.output(1).set("iterations", Value::Array(iterations)));
    let day = desk.write(&last);
    for bill in bills {
        desk.count_bill(&Bill {
            day: day.clone(),
            ..bill
        });
    }
}

fn iteration(kind: &str, model: Value, row: &Row) -> Value {
    let mut iteration = row.usage.clone();
    iteration["type"] = json!(kind);
    iteration["model"] = model;
    iteration
}

pub(super) fn cache_forms(desk: &mut Desk<'_>) {
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
        desk.trap(name);
        let mut row = desk.row();
        let mut bill = row.bill("");
        bill.tokens.cache_write_5m = 70;
        bill.tokens.cache_write_1h = if split.is_null() || total == Some(70) { 0 } else { 600 };
        let usage = row.usage.as_object_mut().expect("usage is an object");
        usage.remove("cache_creation_input_tokens");
        usage.remove("cache_creation");
        if let Some(total) = total {
            usage.insert("cache_creation_input_tokens".to_owned(), json!(total));
        }
        if name != "cache_old" {
            usage.insert("cache_creation".to_owned(), split);
        }
        bill.day = desk.write(&row);
        desk.count_bill(&bill);
    }
}

pub(super) fn fast(desk: &mut Desk<'_>) {
    desk.trap("fast");
    let row = desk.row().set("speed", json!("fast"));
    let mut bill = row.bill("");
    bill.tokens.fast_calls = 1;
    desk.write(&row.output(1));
    bill.day = desk.write(&row);
    desk.count_bill(&bill);
}

/// Writes a row with some of its numbers in other words. The line is raw: forks do not copy it.
fn write_in_words(desk: &mut Desk<'_>, row: &Row, words: &[(&str, &str)]) -> String {
    let record = desk.record(row);
    let mut line = record.to_string();
    for (number, word) in words {
        line = line.replace(number, word);
    }
    desk.log.push_raw(line);
    day_of(&record)
}

fn count_raw(desk: &mut Desk<'_>, bill: &Bill) {
    desk.truth.in_file(&desk.path, bill);
    desk.count_session(bill);
}

pub(super) fn floats(desk: &mut Desk<'_>) {
    desk.trap("floats");
    let row = desk
        .row()
        .output(5_000)
        .set("input_tokens", json!(1_200_000))
        .set("cache_read_input_tokens", json!(68_719_476_737_u64));
    let words = [
        ("\"input_tokens\":1200000", "\"input_tokens\":1.2e6"),
        ("\"output_tokens\":5000", "\"output_tokens\":5000.0"),
        (":68719476737", ":68719476737.0"),
    ];
    let day = write_in_words(desk, &row, &words);
    count_raw(desk, &row.bill(&day));
}

pub(super) fn not_counts(desk: &mut Desk<'_>) {
    desk.trap("not_counts");
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
    let word = desk.dice.pick(&words);
    let row = desk.row().set("input_tokens", json!(777_777));
    let day = write_in_words(
        desk,
        &row,
        &[("\"input_tokens\":777777", &format!("\"input_tokens\":{word}"))],
    );
    let mut bill = row.bill(&day);
    bill.tokens.input = 0;
    count_raw(desk, &bill);
}

pub(super) fn glued(desk: &mut Desk<'_>) {
    desk.trap("glued");
    let (one, two) = (desk.row(), desk.row());
    let (first, second) = (desk.record(&one), desk.record(&two));
    desk.log.push_raw(format!("{first}{second}"));
    count_raw(desk, &one.bill(&day_of(&first)));
    count_raw(desk, &two.bill(&day_of(&second)));
}

pub(super) fn torn_then_whole(desk: &mut Desk<'_>) {
    desk.trap("torn_then_whole");
    let row = desk.row();
    let record = desk.record(&row);
    let line = record.to_string();
    let cut = usize::try_from(desk.dice.between(2, line.len() as u64 / 2)).expect("an index");
    desk.log.push_raw(format!("{}{line}", &line[..cut]));
    let day = day_of(&record);
    desk.log.push(record);
    desk.count(&row, &day);
}
