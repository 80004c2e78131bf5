//! The location of the memory: the data directory, or a server that the settings name. Also the password of that server
//! and the name of the writer. A password is never printed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use memory::store::{DatabaseServer, StoreLocation, WriterIdentity};

use super::Places;
use crate::config::Config;
use crate::env as variables;
use crate::env::Environment;
use crate::error::CommandError;

/// Where passwords of databases are looked up if a URL contains none.
#[derive(Default)]
pub(crate) struct Passwords {
    told: Option<String>,
    /// The password file of PostgreSQL's own programs.
    file: PathBuf,
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passwords").finish_non_exhaustive()
    }
}

impl Passwords {
    pub(super) fn of(environment: &Environment, places: &Places) -> Self {
        let told = environment.get(variables::PGPASSWORD).and_then(OsStr::to_str);
        let file = environment.get(variables::PGPASSFILE).map(PathBuf::from);
        Self {
            told: told.map(str::to_owned),
            file: file.unwrap_or_else(|| places.home.join(".pgpass")),
        }
    }

    /// Returns the server that a URL names, with its password. `name` is the setting that contains the URL.
    pub(super) fn server(
        &self,
        url: &str,
        name: &str,
        own_file: Option<&Path>,
    ) -> Result<DatabaseServer, CommandError> {
        let server = DatabaseServer::of_url(url).map_err(|error| {
            CommandError::config("config-value", format_args!("`{name}` names no database: {error}"))
                .with_hint("write it like `postgres://ada@db.example/memory`")
        })?;
        if server.has_password() {
            return Ok(server);
        }
        if let Some(path) = own_file {
            let password = fs::read_to_string(path).map_err(|error| {
                let message = format_args!("cannot read the password file `{}`: {error}", path.display());
                CommandError::config("password-file", message)
            })?;
            return Ok(server.with_password(Some(password.trim_end_matches(['\r', '\n']))));
        }
        if self.told.is_some() {
            return Ok(server.with_password(self.told.as_deref()));
        }
        let known = fs::read_to_string(&self.file)
            .ok()
            .and_then(|file| server.password_in(&file));
        Ok(server.with_password(known.as_deref()))
    }
}

/// Returns the memory of this machine, according to the settings.
pub(super) fn place(
    config: &Config,
    environment: &Environment,
    passwords: &Passwords,
    places: &Places,
) -> Result<StoreLocation, CommandError> {
    let directory = &*places.data_dir;
    let told = environment.get(variables::BOSWELL_STORE).and_then(OsStr::to_str);
    let (url, name) = match told {
        Some(url) => (Some(url), variables::BOSWELL_STORE),
        None => (config.store.url.as_deref(), "store.url"),
    };
    let place = match url {
        Some(url) => StoreLocation::on_server(
            directory,
            passwords.server(url, name, config.store.password_file.as_deref())?,
        ),
        None => directory.into(),
    };
    Ok(place.written_by(writer(config, environment)))
}

/// Returns the shared memory that this machine pushes to.
pub(super) fn hub(
    config: &Config,
    passwords: &Passwords,
    places: &Places,
) -> Result<Option<StoreLocation>, CommandError> {
    let Some(url) = config.hub.database.url.as_deref() else {
        return Ok(None);
    };
    let server = passwords.server(url, "hub.url", config.hub.database.password_file.as_deref())?;
    let place = StoreLocation::on_server(&places.data_dir, server);
    Ok(Some(place.written_by(places.data_dir.writer().clone())))
}

/// Returns the names of this machine and user: from the settings, else from the system.
fn writer(config: &Config, environment: &Environment) -> WriterIdentity {
    let variable = |name| environment.get(name).and_then(OsStr::to_str).map(str::to_owned);
    let user = || {
        let names = [variables::USER, variables::LOGNAME, variables::USERNAME];
        names.into_iter().find_map(variable).or_else(account)
    };
    WriterIdentity {
        machine: config.machine.clone().or_else(host).unwrap_or_default(),
        user: config.user.clone().or_else(user).unwrap_or_default(),
    }
}

#[cfg(unix)]
fn host() -> Option<String> {
    let told = rustix::system::uname();
    told.nodename().to_str().ok().map(str::to_owned)
}

#[cfg(not(unix))]
fn host() -> Option<String> {
    None
}

/// Returns the user of this process if no variable names one: a process started by a scheduler or a container has none.
#[cfg(unix)]
fn account() -> Option<String> {
    let uid = rustix::process::geteuid().as_raw();
    // The file comes first: if it lists the user, no other service of the system is needed.
    let known = fs::read_to_string("/etc/passwd").ok();
    let known = known.and_then(|file| named_in(&file, uid));
    let asked = || whoami::username().ok().filter(|name| !name.is_empty());
    known.or_else(asked).or_else(|| Some(format!("uid {uid}")))
}

#[cfg(not(unix))]
fn account() -> Option<String> {
    whoami::username().ok().filter(|name| !name.is_empty())
}

/// Returns the name of a user from a password file: lines of `name:password:uid:…`.
#[cfg(unix)]
fn named_in(file: &str, uid: u32) -> Option<String> {
    file.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        let number = fields.nth(1)?.parse::<u32>().ok()?;
        (number == uid).then(|| name.to_owned())
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_known_by_the_number_in_the_file_of_users() {
        let file = "root:x:0:0::/:/bin/sh\n# ada:x:7\n+::::::\nbroken\nada:x:1000:1000:Ada,,,:/home/ada:/bin/sh\n";
        assert_eq!(named_in(file, 1000).as_deref(), Some("ada"));
        assert_eq!(named_in(file, 0).as_deref(), Some("root"));
        assert_eq!(named_in(file, 100), None);
    }
}
