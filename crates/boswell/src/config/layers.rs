//! Merges the layers of the configuration key by key: defaults, system file, user file, environment, command line.
//! Every value remembers its origin.
//!
//! The defaults list the known keys. Any other key is probably a typing mistake: it causes a warning and never an
//! error, so that an older binary can read a newer file.

use std::str::FromStr;
use std::sync::LazyLock;

use serde::Deserialize;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Value};

use super::file::{FileLayer, FileText};
use super::key::{KeyPath, Origin, Setting, UnknownKey, variable_of};
use super::nearest::{nearest, nearest_name};
use super::value::Expected;
use super::{ConfigError, DEFAULTS};
use crate::env::{Environment, KEY_PREFIX};

static DEFAULT_SETTINGS: LazyLock<Settings> = LazyLock::new(read_defaults);

/// Tables whose keys the user chooses.
const OPEN_TABLES: [&str; 1] = ["session_memory.domains"];

/// `KEY=VALUE` from the command line.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    key: KeyPath,
    text: String,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(argument: &str) -> Result<Self, String> {
        let (key, text) = argument.split_once('=').ok_or("expected `KEY=VALUE`")?;
        // The key is written as in a file, so the TOML parser decides which names are valid.
        let line = format!("{} = 0", key.trim());
        let table = DeTable::parse(&line).map_err(|error| format!("not a key: {}", error.message()))?;
        let mut names = Vec::new();
        let mut inner = table.get_ref();
        while let Some((name, value)) = inner.iter().next() {
            names.push(name.get_ref().to_string());
            match value.get_ref() {
                DeValue::Table(table) => inner = table,
                _ => break,
            }
        }
        Ok(Self {
            key: KeyPath::new(names),
            text: text.trim().to_owned(),
        })
    }
}

/// All keys with their values, in the order of the defaults.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(super) settings: Vec<Setting>,
    pub(super) tables: Vec<KeyPath>,
}

impl Settings {
    /// Merges the layers. Files are given in order of precedence; a later one wins.
    pub(crate) fn merge(
        files: &[FileText],
        environment: &Environment,
        flags: &[Assignment],
    ) -> Result<(Self, Vec<UnknownKey>), ConfigError> {
        let mut merged = Self::defaults().clone();
        let mut unknown = Vec::new();
        for file in files {
            let layer = FileLayer {
                file,
                known: Self::defaults(),
            }
            .read(&mut unknown)?;
            layer.into_iter().for_each(|setting| merged.put(setting));
        }
        merged.put_variables(environment, &mut unknown)?;
        for flag in flags {
            merged.put_flag(flag)?;
        }
        Ok((merged, unknown))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Setting> {
        self.settings.iter()
    }

    /// Returns the tables in order, each with its keys. Empty tables are left out.
    pub(crate) fn by_table(&self) -> impl Iterator<Item = (&KeyPath, Vec<&Setting>)> {
        let with_keys = self.tables.iter().map(|table| (table, self.keys_of(table)));
        with_keys.filter(|(_, keys)| !keys.is_empty())
    }

    /// Returns the setting of a key that is in the defaults.
    pub(super) fn at(&self, table: &str, name: &str) -> &Setting {
        let is_asked = |setting: &&Setting| setting.key.name() == name && setting.key.table().to_string() == table;
        self.settings
            .iter()
            .find(is_asked)
            .expect("every key that is read stands in defaults.toml")
    }

    /// Parses the value of a key. The error names its origin and what was expected.
    pub(super) fn read<T>(
        &self,
        table: &str,
        name: &str,
        read: impl Fn(&Value) -> Result<T, Expected>,
    ) -> Result<T, ConfigError> {
        read_setting(self.at(table, name), read)
    }

    /// Parses a list element by element, so that an error names the origin of the wrong element.
    pub(super) fn read_each<T>(
        &self,
        table: &str,
        name: &str,
        read: impl Fn(&Value) -> Result<T, Expected>,
    ) -> Result<Vec<T>, ConfigError> {
        let setting = self.at(table, name);
        let elements = read_setting(setting, |value| {
            value.as_array().ok_or_else(|| "a list".to_owned()).cloned()
        })?;
        let wrong = |at: usize, found: &Value, expected| ConfigError::Wrong {
            key: setting.key.clone(),
            origin: setting.element_origin(at),
            expected: format!("a list where each element is {expected}"),
            found: found.to_string(),
        };
        let read = |(at, found)| read(found).map_err(|expected| wrong(at, found, expected));
        elements.iter().enumerate().map(read).collect()
    }

    /// Reads all keys of a table whose keys the user chooses.
    pub(super) fn table<T>(
        &self,
        table: &str,
        read: impl Fn(&Value) -> Result<T, Expected>,
    ) -> Result<Vec<(String, T)>, ConfigError> {
        let inside = self
            .settings
            .iter()
            .filter(|setting| setting.key.table().to_string() == table);
        inside
            .map(|setting| Ok((setting.key.name().to_owned(), read_setting(setting, &read)?)))
            .collect()
    }

    /// Returns the first layer, which defines the known keys.
    pub(crate) fn defaults() -> &'static Self {
        &DEFAULT_SETTINGS
    }

    fn keys_of(&self, table: &KeyPath) -> Vec<&Setting> {
        self.settings
            .iter()
            .filter(|setting| setting.key.table() == *table)
            .collect()
    }

    fn put(&mut self, setting: Setting) {
        match self.settings.iter_mut().find(|known| known.key == setting.key) {
            Some(known) => *known = setting,
            None => self.settings.push(setting),
        }
    }

    pub(super) fn knows_key(&self, key: &KeyPath) -> bool {
        self.settings.iter().any(|setting| setting.key == *key)
    }

    fn put_variables(&mut self, environment: &Environment, unknown: &mut Vec<UnknownKey>) -> Result<(), ConfigError> {
        let known: Vec<(String, &KeyPath)> = Self::defaults()
            .settings
            .iter()
            .map(|setting| (variable_of(&setting.key), &setting.key))
            .collect();
        let names: Vec<String> = known.iter().map(|(name, _)| name.clone()).collect();
        let ours = format!("{KEY_PREFIX}SESSION_MEMORY_");
        // Other programs may use the same prefix, so here only the name of a key counts.
        let is_ours = |name: &str| name.starts_with(&ours) || names.iter().any(|known| known == name);
        for (name, text) in environment.iter().filter(|(name, _)| is_ours(name)) {
            let origin = Origin::Variable(name.to_owned());
            match known.iter().find(|(variable, _)| variable == name) {
                Some((_, key)) => self.put_text(key, &text.to_string_lossy(), origin)?,
                None => {
                    let nearest = nearest_name(name, &names).map(str::to_owned);
                    unknown.push(UnknownKey {
                        name: name.to_owned(),
                        origin,
                        nearest,
                    });
                }
            }
        }
        Ok(())
    }

    fn put_flag(&mut self, flag: &Assignment) -> Result<(), ConfigError> {
        if self.knows_key(&flag.key) || is_open(&flag.key.table()) {
            return self.put_text(&flag.key, &flag.text, Origin::Flag);
        }
        if let Some(key) = self.resolve_short_key(&flag.key).cloned() {
            return self.put_text(&key, &flag.text, Origin::Flag);
        }
        let nearest = nearest(&flag.key, self.settings.iter().map(|setting| &setting.key)).cloned();
        Err(ConfigError::UnknownFlagKey {
            key: flag.key.to_string(),
            nearest,
        })
    }

    /// Returns the key that a name without its tables stands for, or `None` if no key or more than one has that name.
    fn resolve_short_key(&self, short: &KeyPath) -> Option<&KeyPath> {
        if short.table() != KeyPath::root() {
            return None;
        }
        let mut keys = self.settings.iter().map(|setting| &setting.key);
        let key = keys.by_ref().find(|key| key.name() == short.name())?;
        keys.all(|other| other.name() != short.name()).then_some(key)
    }

    /// Variables and flags are plain text: the type of the default decides how they are parsed.
    fn put_text(&mut self, key: &KeyPath, text: &str, origin: Origin) -> Result<(), ConfigError> {
        let default = Self::defaults().settings.iter().find(|setting| setting.key == *key);
        let value = match default.map(|setting| &setting.value) {
            Some(Value::Integer(_)) => text
                .parse()
                .map_or_else(|_| Value::String(unquote(text)), Value::Integer),
            Some(Value::Array(_)) => list(text).map_err(|error| ConfigError::Syntax {
                place: origin.to_string(),
                message: error.message().to_owned(),
            })?,
            _ => Value::String(unquote(text)),
        };
        self.put(Setting {
            key: key.clone(),
            value,
            origin,
            element_lines: Vec::new(),
        });
        Ok(())
    }
}

fn read_defaults() -> Settings {
    let table = DeTable::parse(DEFAULTS).expect("defaults.toml is tested");
    let mut tables = vec![(0, KeyPath::root(), table.get_ref())];
    let mut settings = Vec::new();
    let mut next = 0;
    while let Some((_, path, table)) = tables.get(next).cloned() {
        for (name, value) in table {
            let (at, key) = (name.span().start, path.join(name.get_ref()));
            match value.get_ref() {
                DeValue::Table(inner) => tables.push((at, key, inner)),
                _ => settings.push((at, key, plain(value).expect("defaults.toml is tested"))),
            }
        }
        next += 1;
    }
    // A parsed table has no order, so the positions in the text decide.
    tables.sort_by_key(|(at, ..)| *at);
    settings.sort_by_key(|(at, ..)| *at);
    let settings = settings.into_iter().map(|(_, key, value)| Setting {
        key,
        value,
        origin: Origin::Default,
        element_lines: Vec::new(),
    });
    Settings {
        settings: settings.collect(),
        tables: tables.into_iter().map(|(_, path, _)| path).collect(),
    }
}

fn read_setting<T>(setting: &Setting, read: impl Fn(&Value) -> Result<T, Expected>) -> Result<T, ConfigError> {
    read(&setting.value).map_err(|expected| ConfigError::Wrong {
        key: setting.key.clone(),
        origin: setting.origin.clone(),
        expected,
        found: setting.told(),
    })
}

pub(super) fn is_open(table: &KeyPath) -> bool {
    OPEN_TABLES.contains(&table.to_string().as_str())
}

/// Returns the text of a quoted TOML string, because people copy values with their quotes from a file. Other text is
/// returned as it is.
fn unquote(text: &str) -> String {
    let is_quoted = |quote| text.len() > 1 && text.starts_with(quote) && text.ends_with(quote);
    let parsed = || String::deserialize(ValueDeserializer::parse(text).ok()?).ok();
    (is_quoted('"') || is_quoted('\''))
        .then(parsed)
        .flatten()
        .unwrap_or_else(|| text.to_owned())
}

/// Parses a list in TOML syntax, or plain texts separated by commas.
fn list(text: &str) -> Result<Value, toml::de::Error> {
    if text.starts_with('[') {
        return Value::deserialize(ValueDeserializer::parse(text)?);
    }
    let texts = text.split(',').map(str::trim).filter(|text| !text.is_empty());
    Ok(Value::Array(texts.map(|text| Value::String(text.to_owned())).collect()))
}

pub(super) fn plain(value: &Spanned<DeValue<'_>>) -> Result<Value, toml::de::Error> {
    Value::deserialize(ValueDeserializer::from(value.clone()))
}
