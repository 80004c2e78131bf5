//! `boswell show --follow`: prints what the agent appends to its log. Nothing is written.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use memory::follow::{Appended, Follow, Lost};
use memory::session_text::SessionText;
use transcript::{Kind, SessionEvent};

use super::{ShowArgs, Shown};
use crate::answers::read::EventRecord;
use crate::answers::session::ShowAnswer;
use crate::error::{CommandError, Outcome};
use crate::render::depth::Depth;
use crate::render::text::{event_lines, heading, rows};
use crate::ui::{Format, Ui};

/// How often the log is checked.
const EVERY: Duration = Duration::from_millis(500);

/// Prints what is appended to the log after `shown` was printed, until the user interrupts it.
pub(super) fn run(ui: &mut Ui, shown: &Shown<'_>, args: &ShowArgs) -> Result<Outcome, CommandError> {
    let Shown {
        context,
        store,
        text,
        portrait,
        blocks,
        zone,
        ..
    } = *shown;
    let uid = portrait.session.session_uid.as_str();
    let Some(mut follow) = Follow::open(store, uid)? else {
        return Err(CommandError::not_found(
            "log-gone",
            "its log is no longer there, so it cannot go on",
        ));
    };
    let masker = context.masker(false)?;
    // If the log is not the one that was stored, it is read from its start. Events that were already printed are
    // skipped.
    let known = text.map_or(Ok(Vec::new()), SessionText::events)?;
    let last = known.iter().rfind(|event| event.part == follow.part());
    let last = last.map(|event| event.seq);
    let mut turns = portrait.turns.clone();
    let mut shown = blocks.last().map(|block| block.turn);
    // Nothing is ever sent: the channel only serves as a timer. Ctrl-C ends the process, and nothing is left half done.
    let (_sender, receiver) = channel::<()>();
    loop {
        let Appended { delta, mut texts } = match follow.poll(&masker) {
            Ok(appended) => appended,
            Err(Lost::Rewritten) => {
                ui.status("The log was rewritten");
                ui.hint("`boswell sweep` reads it again");
                return Ok(Outcome::Done);
            }
            Err(Lost::Unreadable(error)) => {
                let message = format_args!("cannot read {}: {error}", follow.path().display());
                return Err(CommandError::user("log-unreadable", message));
            }
        };
        for turn in delta.turns {
            match turns.binary_search_by_key(&turn.turn, |known| known.turn) {
                Ok(at) => turns[at] = turn,
                Err(at) => turns.insert(at, turn),
            }
        }
        let is_new = |event: &&SessionEvent| last.is_none_or(|last| event.seq > last);
        for event in delta.events.iter().filter(is_new).filter(|event| takes(args, event)) {
            let text = texts.remove(&event.seq).filter(|_| args.depth.is_whole(event));
            match ui.format {
                Format::Json => ui.json(&ShowAnswer::Event(Box::new(EventRecord::new(uid, event, text))))?,
                Format::Text => {
                    if shown != Some(event.turn) {
                        shown = Some(event.turn);
                        rows(ui, vec![String::new(), heading(ui, &turns, event.turn, zone)])?;
                    }
                    let is_subagent = portrait.session.is_subagent;
                    rows(ui, event_lines(ui, event, text.as_deref(), is_subagent, zone))?;
                }
            }
        }
        ui.flush()?;
        if receiver.recv_timeout(EVERY) == Err(RecvTimeoutError::Disconnected) {
            return Ok(Outcome::Done);
        }
    }
}

/// Returns whether an event is shown. A tool call is printed before it ends, so the result of a failed call is shown as
/// well, unless only prompts are.
fn takes(args: &ShowArgs, event: &SessionEvent) -> bool {
    let has_failed = event.kinds.has(Kind::ToolResult) && event.kinds.has(Kind::Error);
    let in_turns = args
        .turns
        .is_none_or(|turns| event.turn.is_some_and(|turn| turns.has(turn)));
    in_turns && (args.depth.takes(event) || (has_failed && args.depth != Depth::Prompts))
}
