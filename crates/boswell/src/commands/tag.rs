//! `boswell tag`: labels for finding sessions again.

use memory::annotations::{self, AnnotationError, Tag, TagChange};
use memory::store::{Annotations, LockWait, Store};
use std::cell::RefCell;

use crate::annotation::refused;
use crate::answers::keep::TagAnswer;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::session_arg::{SESSION_HELP, open_memory, resolve};
use crate::ui::{Format, Ui, escape};
use crate::waiting::say_waiting;

/// Add, remove or show a session's tags
///
/// Tags are your own words. They stay when the session is evicted, `sessions` and `show` print them, and `--tag`
/// filters by them. They are stored in lower case; a leading `#` is optional.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell tag last parser urgent
  boswell tag 5e55                        prints its tags
  boswell tag 5e55 urgent --remove
  boswell sessions --tag parser")]
pub(crate) struct TagArgs {
    #[arg(help = SESSION_HELP)]
    session: String,
    /// The tags; without any, prints the session's tags
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// Remove these tags
    #[arg(long, requires = "words")]
    remove: bool,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &TagArgs) -> Result<Outcome, CommandError> {
    let store = open_memory(context)?;
    let uid = resolve(&store, context, &args.session)?.session_uid;
    if args.words.is_empty() {
        let said = store.reads().annotations_of(&uid)?;
        tell(ui, &uid, &said)?;
        return Ok(if said.tags.is_empty() {
            Outcome::NothingFound
        } else {
            Outcome::Done
        });
    }
    drop(store);
    let masker = context.masker(true)?;
    let tags = args.words.iter().map(|word| Tag::new(word, &masker));
    let tags: Vec<Tag> = tags.collect::<Result<_, AnnotationError>>().map_err(refused)?;
    let change = if args.remove { TagChange::Remove } else { TagChange::Add };
    let mut store = Store::open(&context.places.data_dir)?;
    let said = {
        let shared_ui = RefCell::new(&mut *ui);
        let waiting = || say_waiting(&mut shared_ui.borrow_mut());
        annotations::change_tags(&mut store, LockWait::Wait(&waiting), context.now, &uid, &tags, change)?
    };
    tell(ui, &uid, &said)?;
    Ok(Outcome::Done)
}

fn tell(ui: &mut Ui, uid: &str, said: &Annotations) -> Result<(), CommandError> {
    match ui.format {
        Format::Json => ui.answer(&TagAnswer {
            session_uid: uid,
            tags: &said.tags,
        }),
        Format::Text if said.tags.is_empty() => {
            ui.status(format_args!("No tags: {uid}"));
            Ok(())
        }
        Format::Text => said.tags.iter().try_for_each(|tag| Ok(ui.row(escape(tag))?)),
    }
}
