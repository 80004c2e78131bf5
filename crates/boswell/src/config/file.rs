//! Reads a configuration file as a layer: which of its keys are known, and on which line each one is.

use std::path::PathBuf;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

use super::ConfigError;
use super::key::{KeyPath, Origin, Setting, UnknownKey};
use super::layers::{Settings, is_open, plain};
use super::nearest::nearest;
use super::value::{ALLOW_FIELDS, EXTRA_FIELDS, RULE_FIELDS};

/// The lists of tables; their elements have keys of their own.
const LISTS: [(&str, &[&str]); 3] = [
    ("session_memory.sources.extra", &EXTRA_FIELDS),
    ("session_memory.masking.rules", &RULE_FIELDS),
    ("session_memory.masking.allow", &ALLOW_FIELDS),
];

/// A configuration file and whether its absence is an error.
#[derive(Debug, Clone)]
pub(crate) struct ConfigFile {
    pub(crate) path: PathBuf,
    pub(crate) is_required: bool,
}

/// The contents of a configuration file.
pub(crate) struct FileText {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl ConfigFile {
    /// Reads the file; returns `None` if it does not exist and is not required.
    pub(crate) fn read(&self) -> Result<Option<FileText>, ConfigError> {
        let path = self.path.clone();
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(FileText { path, text })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => match self.is_required {
                true => Err(ConfigError::Missing { path }),
                false => Ok(None),
            },
            Err(source) => Err(ConfigError::Unreadable { path, source }),
        }
    }
}

/// One file, compared with the known keys.
pub(super) struct FileLayer<'a> {
    pub(super) file: &'a FileText,
    pub(super) known: &'a Settings,
}

/// A key of the file that is not a known table, and its position in the text.
struct Leaf<'t, 'i> {
    at: usize,
    key: KeyPath,
    value: &'t Spanned<DeValue<'i>>,
}

impl FileLayer<'_> {
    pub(super) fn read(&self, unknown: &mut Vec<UnknownKey>) -> Result<Vec<Setting>, ConfigError> {
        // Editors on Windows write a byte order mark first, which is not part of the text.
        let text = self.file.text.strip_prefix('\u{feff}').unwrap_or(&self.file.text);
        let table = DeTable::parse(text).map_err(|error| self.syntax_error(text, &error))?;
        let mut leaves = Vec::new();
        self.gather(&KeyPath::root(), table.get_ref(), &mut leaves);
        // A parsed table has no order, so the positions in the text decide.
        leaves.sort_by_key(|leaf| leaf.at);
        let mut settings = Vec::new();
        for leaf in leaves {
            settings.extend(self.take(text, leaf, unknown)?);
        }
        Ok(settings)
    }

    fn gather<'t, 'i>(&self, path: &KeyPath, table: &'t DeTable<'i>, leaves: &mut Vec<Leaf<'t, 'i>>) {
        for (name, value) in table {
            let key = path.join(name.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) if self.known.tables.contains(&key) => self.gather(&key, inner, leaves),
                _ => leaves.push(Leaf {
                    at: name.span().start,
                    key,
                    value,
                }),
            }
        }
    }

    /// Adds a known key as a setting, and an unknown one as a warning.
    fn take(
        &self,
        text: &str,
        leaf: Leaf<'_, '_>,
        unknown: &mut Vec<UnknownKey>,
    ) -> Result<Option<Setting>, ConfigError> {
        let Leaf { at, key, value } = leaf;
        let origin = Origin::File {
            path: self.file.path.clone(),
            line: place(text, at).0,
        };
        if self.known.tables.contains(&key) {
            let (expected, found) = ("a table".to_owned(), value.get_ref().type_str().to_owned());
            return Err(ConfigError::Wrong {
                key,
                origin,
                expected,
                found,
            });
        }
        if self.known.knows_key(&key) || is_open(&key.table()) {
            let elements = value.get_ref().as_array().into_iter().flatten();
            let element_lines = elements.map(|element| place(text, element.span().start).0).collect();
            let setting = Setting {
                key,
                value: plain(value).map_err(|error| self.syntax_error(text, &error))?,
                origin,
                element_lines,
            };
            if let Some((_, fields)) = LISTS.iter().find(|(list, _)| setting.key.to_string() == *list) {
                check_elements(&setting, fields, unknown);
            }
            return Ok(Some(setting));
        }
        let nearest = match value.get_ref() {
            DeValue::Table(_) => nearest(&key, self.known.tables.iter()),
            _ => nearest(&key, self.known.settings.iter().map(|setting| &setting.key)),
        };
        let nearest = nearest.map(KeyPath::to_string);
        unknown.push(UnknownKey {
            name: key.to_string(),
            origin,
            nearest,
        });
        Ok(None)
    }

    fn syntax_error(&self, text: &str, error: &toml::de::Error) -> ConfigError {
        let (line, column) = place(text, error.span().map_or(0, |span| span.start));
        let place = format!("{}:{line}:{column}", self.file.path.display());
        ConfigError::Syntax {
            place,
            message: error.message().replace('\n', ", "),
        }
    }
}

/// Returns whether a key belongs to an element of a list of tables.
fn check_elements(list: &Setting, fields: &[&str], unknown: &mut Vec<UnknownKey>) {
    let known: Vec<KeyPath> = fields.iter().map(|field| list.key.join(field)).collect();
    let elements = list.value.as_array().into_iter().flatten().map(Value::as_table);
    for (at, table) in elements.enumerate().filter_map(|(at, table)| Some((at, table?))) {
        for field in table.keys().filter(|field| !fields.contains(&field.as_str())) {
            let field = list.key.join(field);
            let nearest = nearest(&field, known.iter()).map(KeyPath::to_string);
            unknown.push(UnknownKey {
                name: field.to_string(),
                origin: list.element_origin(at),
                nearest,
            });
        }
    }
}

/// Returns line and column of a byte, both from 1, the column in characters.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line_at = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_at..].chars().count() + 1)
}
