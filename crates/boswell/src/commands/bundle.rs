//! `boswell bundle`: packs the workspace of a day into a zip for support.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use memory::diary;
use memory::ingest::{LineForm, open_lines};
use memory::mask::Masker;
use memory::packs;
use memory::store::CopyRow;
use serde_json::Value;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::answers;
use crate::answers::page::{BundleAnswer, BundleManifest};
use crate::context::Context;
use crate::copies;
use crate::day_workspace::{DayArgs, PlaceArgs};
use crate::error::{CommandError, Outcome};
use crate::interrupt::UnfinishedFile;
use crate::render::text::plural;
use crate::ui::{Format, Ui, escape, measure};

/// Pack a day's workspace into a zip for support
///
/// Contains what was derived from the day, and the audit; the copied sessions are left out unless `--raw-sessions` is
/// given. Secrets are masked in all of it, and your home directory is written as `~`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell bundle --date 2026-05-12 -o day.zip
  boswell bundle --date 2026-05-12 -o day.zip --raw-sessions")]
pub(crate) struct BundleArgs {
    #[command(flatten)]
    day: DayArgs,
    #[command(flatten)]
    place: PlaceArgs,
    /// Where to write the zip
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Include the copied sessions
    #[arg(long)]
    raw_sessions: bool,
    /// Do not ask before packing a workspace that `prepare --verbatim` made
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &BundleArgs) -> Result<Outcome, CommandError> {
    let (zone, _) = args.place.zone(context)?;
    let date = args.day.date(context, &zone)?.to_string();
    let root = args.place.root(ui, context);
    let workspace = root.join(memory::diary::WORK_DIRECTORY).join(&date);
    if !workspace.join("metadata.json").is_file() {
        let error = CommandError::not_found("no-workspace", format_args!("this day has no workspace: {date}"));
        return Err(error.with_hint(format_args!("`boswell prepare --date {date}` makes one")));
    }
    let output = context.places.current_dir.join(&args.output);
    let real = output.parent().unwrap_or(&output).canonicalize();
    if real.is_ok_and(|real| {
        workspace
            .canonicalize()
            .is_ok_and(|workspace| real.starts_with(workspace))
    }) {
        return Err(CommandError::user(
            "bundle-inside",
            "the zip cannot lie in the workspace it packs",
        ));
    }
    let audit = root.join("private").join(&date).join("audit.manifest.json");
    if is_verbatim(&audit) && !confirm(ui, args, &date)? {
        ui.status("Nothing packed");
        return Ok(Outcome::Done);
    }
    let bundle = Bundle {
        masker: &context.masker(true)?,
        home: context.places.home.to_string_lossy().into_owned(),
        with_sessions: args.raw_sessions,
    };
    let packed = bundle.pack(&workspace, &audit, &output).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::AlreadyExists => "nothing is overwritten; name another file",
            _ => "is there room, and is the place yours to write?",
        };
        CommandError::user(
            "bundle-failed",
            format_args!("cannot write `{}`: {error}", output.display()),
        )
        .with_hint(hint)
    })?;
    note_copy(ui, context, &workspace, &output);
    match ui.format {
        Format::Json => ui.answer(&BundleAnswer {
            date: &date,
            path: &output,
            bytes: packed.bytes,
            files: &packed.taken,
            left_out: packed.left_out.len(),
            secrets_masked: packed.secrets,
        })?,
        Format::Text => {
            let size = measure::bytes(packed.bytes);
            let files = plural(packed.taken.len() as u64, "file");
            ui.row(ui.path(&escape(&output.display().to_string())))?;
            ui.status(format_args!("Packed {files}, {size}"));
            if !packed.left_out.is_empty() {
                let sessions = plural(packed.left_out.len() as u64, "session file");
                ui.status(format_args!("Left out: {sessions}"));
            }
        }
    }
    if args.raw_sessions {
        ui.warning("the zip holds whole sessions: look through it before you hand it on");
    }
    Ok(Outcome::Done)
}

/// Returns `true` unless the audit of a workspace states that secrets were masked when its sessions were copied.
fn is_verbatim(audit: &Path) -> bool {
    let audit: Value = serde_json::from_slice(&fs::read(audit).unwrap_or_default()).unwrap_or_default();
    audit["copies"] != "masked"
}

/// Asks whether to pack a day if its sessions were copied unmasked. Packing masks the secrets that the masker
/// recognizes, but only the user can judge what else such a day contains.
fn confirm(ui: &mut Ui, args: &BundleArgs, date: &str) -> Result<bool, CommandError> {
    if args.yes {
        return Ok(true);
    }
    let question = format!("The workspace of {date} was made with `--verbatim`. Mask its secrets and pack it?");
    ui.ask(question).ok_or_else(|| {
        let message = "packing a workspace made with `prepare --verbatim` needs `--yes` where Boswell cannot ask";
        CommandError::usage(message).with_hint(format_args!(
            "`boswell prepare --date {date} --force` makes a masked one"
        ))
    })
}

/// Records the sessions of the workspace, so that `boswell forget` lists the zip as a copy of each. Reports quote
/// sessions even if the zip does not contain their files.
fn note_copy(ui: &mut Ui, context: &Context, workspace: &Path, output: &Path) {
    let path = output.display().to_string();
    let copy = |session_uid| CopyRow {
        session_uid,
        path: path.clone(),
        kind: "bundle".to_owned(),
    };
    let copies: Vec<CopyRow> = diary::workspace_sessions(workspace).into_iter().map(copy).collect();
    if !copies.is_empty() {
        copies::note(ui, context, "bundle", &copies);
    }
}

/// The settings of one zip.
struct Bundle<'a> {
    masker: &'a Masker,
    home: String,
    with_sessions: bool,
}

/// The files that were packed and left out, with counts.
#[derive(Default)]
struct Packed {
    taken: Vec<String>,
    left_out: Vec<String>,
    secrets: u64,
    bytes: u64,
}

impl Bundle<'_> {
    /// Writes the zip. If that fails, removes the incomplete file.
    fn pack(&self, workspace: &Path, audit: &Path, output: &Path) -> io::Result<Packed> {
        let mut options = fs::OpenOptions::new();
        options.write(true).read(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let create = || Ok((options.open(output)?, output));
        let ((file, _), unfinished) = UnfinishedFile::create(create, |(_, path)| path)?;
        let mut packed = self.fill(file, workspace, audit)?;
        packed.bytes = fs::metadata(output)?.len();
        unfinished.keep();
        Ok(packed)
    }

    fn fill(&self, file: File, workspace: &Path, audit: &Path) -> io::Result<Packed> {
        let mut zip = ZipWriter::new(file);
        let mut packed = Packed::default();
        let mut files = Vec::new();
        list(workspace, Path::new(""), &mut files)?;
        for place in files {
            let name = place.to_string_lossy().replace('\\', "/");
            if is_session(&place) && !self.with_sessions {
                packed.left_out.push(name);
                continue;
            }
            self.add(&mut zip, &workspace.join(&place), &format!("work/{name}"), &mut packed)?;
        }
        if audit.is_file() {
            self.add(&mut zip, audit, "private/audit.manifest.json", &mut packed)?;
        }
        let manifest = answers::to_value(&BundleManifest {
            files: &packed.taken,
            left_out: &packed.left_out,
            secrets_masked: packed.secrets,
        })?;
        start(&mut zip, "bundle.manifest.json")?;
        zip.write_all(format!("{manifest:#}\n").as_bytes())?;
        zip.finish().map_err(io::Error::other)?.sync_all()?;
        Ok(packed)
    }

    /// Adds a file line by line, with secrets masked and the home directory replaced by `~`.
    fn add(&self, zip: &mut ZipWriter<File>, path: &Path, name: &str, packed: &mut Packed) -> io::Result<()> {
        start(zip, name)?;
        let mut hits = Vec::new();
        let mut lines = open_lines(path, self.masker, LineForm::Mixed(None))?;
        while let Some(line) = lines.next()? {
            let line = line.mask(&mut hits);
            let text = match line.bytes() {
                Some(bytes) => String::from_utf8_lossy(bytes).replace(&self.home, "~"),
                None => packs::format_placeholder(&line),
            };
            zip.write_all(text.as_bytes())?;
            if line.is_terminated() {
                zip.write_all(b"\n")?;
            }
        }
        packed.secrets += hits.len() as u64;
        packed.taken.push(name.to_owned());
        Ok(())
    }
}

fn start(zip: &mut ZipWriter<File>, name: &str) -> io::Result<()> {
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .unix_permissions(0o600);
    zip.start_file(name, options).map_err(io::Error::other)
}

/// Returns `true` if a file of a workspace is a copied session.
fn is_session(place: &Path) -> bool {
    let names: Vec<_> = place.iter().take(3).collect();
    names.first().is_some_and(|name| *name == "projects") && names.get(2).is_some_and(|name| *name == "sessions")
}

/// Adds the regular files below a directory to `files`, in order. Links are skipped.
fn list(directory: &Path, inside: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(directory.join(inside))?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let place = inside.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            list(directory, &place, files)?;
        } else if kind.is_file() {
            files.push(place);
        }
    }
    Ok(())
}
