//! Runs any query over any text: if the text matches, neither its filter nor the prefilter of lines rejects it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use memory::search::matching::{Matcher, TextContext};
use memory::search::{LinePrefilter, PartFormat, Query, build_filter, filter, may_hold};
use transcript::{Agent, Field, Role};

fuzz_target!(|input: (&str, &str)| {
    let (question, text) = input;
    let text = text.replace('\n', " ");
    // Queries of users are short.
    if question.len() > 256 {
        return;
    }
    let record = serde_json::json!({"type": "user", "message": {"role": "user", "content": text}}).to_string();
    for query in [Query::words(question), Query::exact(question), Query::regex(question)]
        .into_iter()
        .flatten()
    {
        let about = TextContext {
            field: Field::ToolOutput,
            role: Role::Tool,
            tool: None,
            kinds: None,
        };
        let mut matcher = Matcher::new(&query);
        let terms = matcher.find(&about, &text).map_or(0, |found| found.terms);
        for (form, line) in [
            (PartFormat::Plain, text.as_str()),
            (PartFormat::Records(Agent::Claude), record.as_str()),
        ] {
            let filter = build_filter(form, line.as_bytes(), &mut filter::FilterBuilder::default());
            let may = may_hold(&query, Some(&filter));
            assert_eq!(may & terms, terms, "the filter says no to {question:?} in {line:?}");
            if terms & query.wanted() != 0 {
                assert!(
                    LinePrefilter::new(&query).may_hold(form, line.as_bytes()),
                    "{question:?} in {line:?}"
                );
            }
        }
    }
});
