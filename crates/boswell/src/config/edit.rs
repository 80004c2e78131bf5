//! Writes one key into the user's configuration file without changing anything else in it: comments, order and
//! formatting are preserved.

use std::fs;
use std::io::Write;
use std::path::Path;

use toml_edit::{DocumentMut, Item, Table, Value, value};

use crate::error::CommandError;

/// Sets a key. Creates the file if there is none, and follows a symbolic link.
pub(crate) fn write_key(path: &Path, key: &[&str], new: impl Into<Value>) -> Result<(), CommandError> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let cannot = |what: &str, error: &dyn std::fmt::Display| {
        CommandError::config(
            "config-write",
            format_args!("cannot {what} `{}`: {error}", path.display()),
        )
    };
    let before = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => read.map_err(|error| cannot("read", &error))?,
    };
    let after = set(&before, key, new).map_err(|error| cannot("understand", &error))?;
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory).map_err(|error| cannot("write", &error))?;
    let mut file = tempfile::NamedTempFile::new_in(directory).map_err(|error| cannot("write", &error))?;
    file.write_all(after.as_bytes())
        .and_then(|()| file.as_file().sync_all())
        .map_err(|error| cannot("write", &error))?;
    file.persist(path).map_err(|error| cannot("write", &error.error))?;
    Ok(())
}

/// Returns the text of the file with the key set.
fn set(before: &str, key: &[&str], new: impl Into<Value>) -> Result<String, String> {
    let mut document: DocumentMut = before.parse().map_err(|error| format!("{error}"))?;
    let Some((name, tables)) = key.split_last() else {
        return Ok(before.to_owned());
    };
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for part in tables {
        let made = || {
            let mut made = Table::new();
            // A table that only contains tables needs no line of its own.
            made.set_implicit(true);
            Item::Table(made)
        };
        let item = table.entry(part).or_insert_with(made);
        table = item
            .as_table_like_mut()
            .ok_or_else(|| format!("`{part}` is not a table"))?;
    }
    match table.get_mut(name) {
        // White space and comments around the old value are preserved.
        Some(Item::Value(old)) => {
            let decor = old.decor().clone();
            *old = new.into();
            *old.decor_mut() = decor;
        }
        _ => _ = table.insert(name, value(new)),
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [&str; 3] = ["session_memory", "retention", "cadence"];

    #[test]
    fn everything_but_the_key_stays_as_it_was() {
        let before = "# mine\n[session_memory.retention]\nraw_soft_cap_bytes   = \"1GiB\"  # small\ncadence='daily' # often\n\n[other]\nx=1\n";
        let after = "# mine\n[session_memory.retention]\nraw_soft_cap_bytes   = \"1GiB\"  # small\ncadence=\"weekly\" # often\n\n[other]\nx=1\n";
        assert_eq!(set(before, &KEY, "weekly").unwrap(), after);
        assert_eq!(set(after, &KEY, "weekly").unwrap(), after);
    }

    #[test]
    fn what_is_not_there_is_made() {
        assert_eq!(
            set("", &KEY, "hourly").unwrap(),
            "[session_memory.retention]\ncadence = \"hourly\"\n"
        );
        let inline = "session_memory = { retention = { x = 1 } }\n";
        let told = set(inline, &KEY, "hourly").unwrap();
        assert!(told.contains("cadence = \"hourly\""), "{told}");
        assert!(set("session_memory = 3\n", &KEY, "hourly").is_err());
        assert!(set("not toml", &KEY, "hourly").is_err());
    }
}
