//! The location of a store: a directory, or a server together with a directory of this machine. Also the identity of
//! the writer.
//!
//! Nothing here reads the environment or the disk. Passwords are passed in and never shown.

use std::fmt;
use std::net::IpAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use postgres::config::{Host, SslMode};
use thiserror::Error;

/// Timeout for connecting to a server if its URL has none.
const CONNECT_SECONDS: u64 = 10;
/// A server that is silent for this long is probed.
const ALIVE_SECONDS: u64 = 30;
const PORT: u16 = 5432;

/// The location of a store. It dereferences to the path of the directory with this machine's own files.
#[derive(Debug, Clone)]
pub struct StoreLocation {
    directory: PathBuf,
    server: Option<DatabaseServer>,
    writer: WriterIdentity,
}

/// The writer, as configured on the machine. Empty if not configured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriterIdentity {
    pub machine: String,
    pub user: String,
}

/// A database on a server.
#[derive(Clone)]
pub struct DatabaseServer {
    config: postgres::Config,
    /// A file of trusted certificates, or `None` for the system's.
    roots: Option<PathBuf>,
    /// The URL without its secrets.
    shown: String,
}

/// Why a URL is invalid.
#[derive(Debug, Error)]
pub enum DatabaseUrlError {
    #[error("it must start with `postgres://`")]
    Scheme,
    #[error("{0}")]
    Parts(String),
    #[error("write a `@` in a user name or a password as `%40`")]
    At,
    #[error("`sslmode` must be disable, prefer, require or verify-full")]
    SslMode,
}

impl StoreLocation {
    /// Returns the location of a store on a server, with this machine's own files in `directory`.
    pub fn on_server(directory: &Path, server: DatabaseServer) -> Self {
        Self {
            directory: directory.to_owned(),
            server: Some(server),
            writer: WriterIdentity::default(),
        }
    }

    /// Returns the same location with a different writer.
    pub fn written_by(mut self, writer: WriterIdentity) -> Self {
        self.writer = writer;
        self
    }

    /// Returns the store in the directory of this location, ignoring the server.
    pub fn local(&self) -> Self {
        Self {
            server: None,
            ..self.clone()
        }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn server(&self) -> Option<&DatabaseServer> {
        self.server.as_ref()
    }

    pub fn writer(&self) -> &WriterIdentity {
        &self.writer
    }
}

impl Deref for StoreLocation {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.directory
    }
}

/// Shows the directory, or the URL without its secrets.
impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Some(server) => server.fmt(f),
            None => self.directory.display().fmt(f),
        }
    }
}

impl From<PathBuf> for StoreLocation {
    fn from(directory: PathBuf) -> Self {
        Self {
            directory,
            server: None,
            writer: WriterIdentity::default(),
        }
    }
}

impl From<&Path> for StoreLocation {
    fn from(directory: &Path) -> Self {
        directory.to_owned().into()
    }
}

impl From<&PathBuf> for StoreLocation {
    fn from(directory: &PathBuf) -> Self {
        directory.clone().into()
    }
}

impl From<&Self> for StoreLocation {
    fn from(place: &Self) -> Self {
        place.clone()
    }
}

impl DatabaseServer {
    /// Returns `true` if a text looks like the URL of a database.
    pub fn is_url(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Parses a URL.
    pub fn of_url(url: &str) -> Result<Self, DatabaseUrlError> {
        if !Self::is_url(url) {
            return Err(DatabaseUrlError::Scheme);
        }
        // An unescaped character in a name or password would make the rest look like a host, and then part of the
        // password would be shown.
        let after_at = url.split_once('@').map_or(url, |(_, after_at)| after_at);
        if after_at.len() < url.len() && after_at.contains('@') {
            return Err(DatabaseUrlError::At);
        }
        // Two parameters are parsed here, because the driver knows fewer modes and no certificate file.
        let question = after_at.find('?').map(|at| at + url.len() - after_at.len());
        let (base, query) = question.map_or((url, ""), |at| (&url[..at], &url[at + 1..]));
        let (mut mode, mut roots, mut rest) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", word)) => mode = Some(ssl_mode(word)?),
                Some(("sslrootcert", path)) => roots = Some(PathBuf::from(path.replace("%2F", "/"))),
                _ => rest.push(pair),
            }
        }
        let plain = format!("{base}?{}", rest.join("&"));
        // The driver's message may contain a part of the URL, but its cause does not, so only the cause is shown.
        let parse_error = |error: postgres::Error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            DatabaseUrlError::Parts(cause.unwrap_or_else(|| error.to_string()))
        };
        let mut config = postgres::Config::from_str(plain.trim_end_matches('?')).map_err(parse_error)?;
        if config.get_hosts().is_empty() {
            return Err(DatabaseUrlError::Parts("it has no host".to_owned()));
        }
        config.application_name("boswell");
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(CONNECT_SECONDS));
        }
        if !query.contains("keepalives") {
            // By default, a query would wait for two hours after the network has failed silently.
            config
                .keepalives_idle(Duration::from_secs(ALIVE_SECONDS))
                .keepalives_interval(Duration::from_secs(ALIVE_SECONDS / 3))
                .keepalives_retries(3);
        }
        let is_local = config.get_hosts().iter().all(is_local);
        let default_mode = if is_local { SslMode::Disable } else { SslMode::Require };
        config.ssl_mode(mode.unwrap_or(default_mode));
        let shown = display_url(&config);
        Ok(Self { config, roots, shown })
    }

    /// Sets the password, unless the URL has one.
    pub fn with_password(mut self, password: Option<&str>) -> Self {
        if let Some(password) = password.filter(|_| self.config.get_password().is_none()) {
            self.config.password(password);
        }
        self
    }

    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// Looks up the password in the text of a password file: the first matching line of
    /// `host:port:database:user:password`.
    pub fn password_in(&self, file: &str) -> Option<String> {
        let host = match self.config.get_hosts().first()? {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(_) => "localhost".to_owned(),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(PORT).to_string();
        let user = self.config.get_user().unwrap_or_default();
        let database = self.config.get_dbname().unwrap_or(user);
        let wanted = [host.as_str(), &port, database, user];
        file.lines()
            .filter(|line| !line.starts_with('#'))
            .map(split_fields)
            .find(|found| {
                found.len() == 5
                    && wanted
                        .iter()
                        .zip(found)
                        .all(|(wanted, field)| field == "*" || field == wanted)
            })
            .and_then(|mut found| found.pop())
    }

    pub(super) fn config(&self) -> &postgres::Config {
        &self.config
    }

    pub(super) fn roots(&self) -> Option<&Path> {
        self.roots.as_deref()
    }
}

impl fmt::Display for DatabaseServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// A password must not appear in any output, not even in debug output.
impl fmt::Debug for DatabaseServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.shown).finish()
    }
}

fn ssl_mode(word: &str) -> Result<SslMode, DatabaseUrlError> {
    match word {
        "disable" => Ok(SslMode::Disable),
        "allow" | "prefer" => Ok(SslMode::Prefer),
        "require" | "verify-ca" | "verify-full" => Ok(SslMode::Require),
        _ => Err(DatabaseUrlError::SslMode),
    }
}

/// Returns `true` if a host is on this machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

fn display_url(config: &postgres::Config) -> String {
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(at, host)| {
            let port = config.get_ports().get(at).or(config.get_ports().first());
            let port = port.filter(|port| **port != PORT);
            let port = port.map(|port| format!(":{port}")).unwrap_or_default();
            match host {
                Host::Tcp(name) => format!("{name}{port}"),
                #[cfg(unix)]
                Host::Unix(path) => format!("[{}]{port}", path.display()),
            }
        })
        .collect();
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgres://{user}{}/{database}", hosts.join(","))
}

/// Splits a line of a password file at its colons. A backslash escapes the next character.
fn split_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let last = fields.len() - 1;
        match character {
            '\\' => fields[last].extend(characters.next()),
            ':' if fields.len() < 5 => fields.push(String::new()),
            other => fields[last].push(other),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_shown_without_its_password() {
        let server =
            DatabaseServer::of_url("postgres://ada:open%20sesame@db.example:6543/memory?sslmode=require").unwrap();
        let place = StoreLocation::on_server(Path::new("/var/boswell"), server.clone());
        let output = format!("{server} {server:?} {place} {place:?}");
        assert!(!output.contains("sesame"), "{output}");
        assert_eq!(server.to_string(), "postgres://ada@db.example:6543/memory");
        assert_eq!(place.join("walked"), Path::new("/var/boswell/walked"));
    }

    #[test]
    fn an_invalid_url_is_an_error_that_does_not_repeat_it() {
        let told = |url| DatabaseServer::of_url(url).unwrap_err().to_string();
        insta::assert_snapshot!(
            [
                told("mysql://ada@db/memory"),
                told("postgres://ada:sesame@db:port/memory"),
                told("postgres://ada:sesame@db/memory?sslmode=maybe"),
                told("postgres://ada:sesame@db/memory?colour=red"),
                told("postgres:///memory"),
                told("postgres://ada:open@sesame@db/memory"),
                told("postgres://ada:open@se?same=x@db/memory"),
                told("postgres://ada:open@se/same@db/memory"),
            ]
            .join("\n"),
            @"
        it must start with `postgres://`
        invalid value for option `port`
        `sslmode` must be disable, prefer, require or verify-full
        unknown option `colour`
        it has no host
        write a `@` in a user name or a password as `%40`
        write a `@` in a user name or a password as `%40`
        write a `@` in a user name or a password as `%40`
        "
        );
    }

    #[test]
    fn remote_connections_are_encrypted_by_default() {
        let mode = |url| DatabaseServer::of_url(url).unwrap().config.get_ssl_mode();
        assert_eq!(mode("postgres://ada@db.example/memory"), SslMode::Require);
        assert_eq!(
            mode("postgres://ada@db.example/memory?sslmode=disable"),
            SslMode::Disable
        );
        assert_eq!(mode("postgres://ada@db.example/memory?sslmode=prefer"), SslMode::Prefer);
        assert_eq!(mode("postgres://ada@localhost/memory"), SslMode::Disable);
        assert_eq!(mode("postgres://ada@127.0.0.1/memory"), SslMode::Disable);
        // A parameter inside a password does not count, either.
        assert_eq!(
            mode("postgres://ada:a?sslmode=disable&b@db.example/memory"),
            SslMode::Require
        );
    }

    #[test]
    fn the_first_matching_line_of_a_password_file_wins() {
        let server = DatabaseServer::of_url("postgres://ada@db.example/memory").unwrap();
        let file = "# mine\nother:5432:memory:ada:no\ndb.example:5432:*:ada:a\\:b:c\n*:*:*:*:late\n";
        assert_eq!(server.password_in(file).unwrap(), "a:b:c");
        assert_eq!(server.password_in("db.example:1:*:ada:x\n"), None);
        assert!(!server.has_password() && server.with_password(Some("x")).has_password());
    }
}
