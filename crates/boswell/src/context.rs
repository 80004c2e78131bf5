//! The one place that reads the time, home, environment, terminal, current directory and configuration. Everything else
//! gets them as arguments.

mod private;
mod roots;
mod store;

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use etcetera::BaseStrategy;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::logs;
use memory::mask::{MaskKey, Masker};
use memory::store::StoreLocation;

use crate::config::{Assignment, Config, ConfigFile, Origin, Settings};
use crate::env as variables;
use crate::env::Environment;
use crate::error::CommandError;
use crate::global_args::ColorChoice;
use crate::ui::{Pager, Stream, Ui};

use self::private::write_first;
pub(crate) use self::private::{create_private_dir, write_private, write_private_output};
pub(crate) use self::roots::{Reports, Root, RootOrigin};
use self::roots::{find_reports, find_roots};
pub(crate) use self::store::Passwords;

/// A time zone that is looked up on first use.
pub(crate) type Zone = LazyLock<TimeZone, Box<dyn FnOnce() -> TimeZone + Send>>;

/// The link to the machine's time zone on Unix.
const LOCALTIME: &str = "/etc/localtime";

/// The environment variables of the process, and which of its streams are terminals.
pub(crate) struct Surroundings {
    pub(crate) environment: Environment,
    stdin_is_terminal: bool,
    stdout_is_terminal: bool,
    stderr_is_terminal: bool,
}

impl Surroundings {
    pub(crate) fn ask() -> Self {
        Self {
            environment: env::vars_os().collect(),
            stdin_is_terminal: io::stdin().is_terminal(),
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
        }
    }

    /// Returns the same surroundings with other variables.
    pub(crate) fn with_environment(&self, environment: Environment) -> Self {
        Self { environment, ..*self }
    }

    pub(crate) fn stdout(&self, choice: ColorChoice) -> Stream {
        self.stream(choice, self.stdout_is_terminal)
    }

    pub(crate) fn stderr(&self, choice: ColorChoice) -> Stream {
        self.stream(choice, self.stderr_is_terminal)
    }

    /// Returns whether there is a terminal that can show a full screen.
    pub(crate) fn has_screen(&self) -> bool {
        let is_dumb = self.environment.get(variables::TERM).is_some_and(|term| term == "dumb");
        self.stdin_is_terminal && self.stdout_is_terminal && !is_dumb
    }

    /// Returns whether a user can see and answer a question.
    pub(crate) fn can_answer(&self) -> bool {
        self.stdin_is_terminal && self.stderr_is_terminal
    }

    /// Returns the width of the terminal, if there is one.
    pub(crate) fn columns(&self) -> Option<usize> {
        let told = self.environment.get(variables::COLUMNS).and_then(OsStr::to_str);
        let asked = || terminal_size::terminal_size().map(|(columns, _)| usize::from(columns.0));
        told.and_then(|columns| columns.parse().ok()).or_else(asked)
    }

    /// Returns the pager for long text, if there is a screen.
    pub(crate) fn pager(&self) -> Option<Pager> {
        let (_, rows) = terminal_size::terminal_size().filter(|_| self.stdout_is_terminal)?;
        let is_dumb = self.environment.get(variables::TERM).is_some_and(|term| term == "dumb");
        if is_dumb {
            return None;
        }
        let told = self.environment.get(variables::PAGER).and_then(OsStr::to_str);
        let mut words = told.unwrap_or("less -R").split_whitespace().map(Into::into);
        let has_options = self.environment.get(variables::LESS).is_some();
        Some(Pager {
            program: words.next()?,
            arguments: words.collect(),
            // These options show colours, and let Ctrl-C leave the pager.
            variables: if has_options {
                Vec::new()
            } else {
                vec![(variables::LESS, "RK")]
            },
            rows: usize::from(rows.0),
        })
    }

    fn stream(&self, choice: ColorChoice, is_terminal: bool) -> Stream {
        let has_color = choose_color(choice, is_terminal, &self.environment);
        if has_color && is_terminal {
            // Older Windows consoles need this to show colours; elsewhere it does nothing.
            _ = anstyle_query::windows::enable_ansi_colors();
        }
        Stream { is_terminal, has_color }
    }

    /// Returns the home directory, if there is one.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        let base = etcetera::choose_base_strategy().ok()?;
        Some(base.home_dir().to_owned())
    }

    /// Returns the directories on this machine.
    pub(crate) fn places(&self) -> Result<Places, CommandError> {
        let base = etcetera::choose_base_strategy()
            .map_err(|_| CommandError::user("no-home", "cannot find your home directory").with_hint("set `HOME`"))?;
        let current_dir = env::current_dir().map_err(|error| {
            CommandError::user(
                "no-directory",
                format_args!("cannot use the current directory: {error}"),
            )
        })?;
        let given = |name| self.environment.get(name).map(|path| current_dir.join(path));
        // A memory of gigabytes must not roam with a Windows profile.
        let platform_data_dir = if cfg!(windows) {
            base.cache_dir()
        } else {
            base.data_dir()
        };
        let user_config = match given(variables::BOSWELL_CONFIG) {
            Some(path) => ConfigFile {
                path,
                is_required: true,
            },
            None => ConfigFile {
                path: base.config_dir().join("boswell").join("config.toml"),
                is_required: false,
            },
        };
        let system_config = given(variables::BOSWELL_SYSTEM_CONFIG).unwrap_or_else(|| self.platform_system_config());
        Ok(Places {
            home: base.home_dir().to_owned(),
            system_config: ConfigFile {
                path: system_config,
                is_required: false,
            },
            user_config,
            data_dir: given(variables::BOSWELL_HOME)
                .unwrap_or_else(|| platform_data_dir.join("boswell"))
                .into(),
            config_dir: base.config_dir(),
            current_dir,
        })
    }

    fn platform_system_config(&self) -> PathBuf {
        let dir = match self.environment.get(variables::PROGRAMDATA) {
            Some(dir) if cfg!(windows) => PathBuf::from(dir),
            _ if cfg!(windows) => PathBuf::from(r"C:\ProgramData"),
            _ => PathBuf::from("/etc"),
        };
        dir.join("boswell").join("config.toml")
    }

    /// Returns the variables that determine directories, as far as they are set.
    fn own_variables(&self) -> Vec<(&'static str, String)> {
        let value = |name: &'static str| Some((name, self.environment.get(name)?.to_str()?.to_owned()));
        variables::PLACES.iter().copied().filter_map(value).collect()
    }

    /// Returns the machine's time zone. If a link names it, one file is read; any other way would search all zones.
    fn zone(&self) -> Zone {
        let is_told = self.environment.get(variables::TZ).is_some();
        let linked = move || {
            let link = fs::read_link(LOCALTIME).ok().filter(|_| !is_told)?;
            let (_, name) = link.to_str()?.split_once("zoneinfo/")?;
            TimeZone::tzif(name, &fs::read(LOCALTIME).ok()?).ok()
        };
        LazyLock::new(Box::new(move || linked().unwrap_or_else(TimeZone::system)))
    }

    pub(crate) fn now(&self) -> Result<Timestamp, CommandError> {
        let Some(told) = self.environment.get(variables::BOSWELL_NOW) else {
            return Ok(Timestamp::now());
        };
        let told = told.to_string_lossy();
        told.parse().map_err(|_| {
            CommandError::config(
                "config-value",
                format_args!("`BOSWELL_NOW` must be an RFC 3339 time, but is: {told}"),
            )
            .with_hint("write it like `2026-04-01T09:00:00Z`")
        })
    }
}

/// Directories on this machine.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) home: PathBuf,
    pub(crate) current_dir: PathBuf,
    pub(crate) system_config: ConfigFile,
    pub(crate) user_config: ConfigFile,
    /// The directory of the memory; with a memory on a server, the one of this machine's own files.
    pub(crate) data_dir: StoreLocation,
    /// The user's configuration directory.
    pub(crate) config_dir: PathBuf,
}

/// Everything a command may know of its environment.
#[derive(Debug)]
#[allow(dead_code, reason = "each verb uses its part")]
pub(crate) struct Context {
    pub(crate) now: Timestamp,
    pub(crate) is_clock_still: bool,
    /// The time zone in which times are shown.
    pub(crate) zone: Zone,
    /// The path of this program.
    pub(crate) program: PathBuf,
    /// The variables that determine directories, for programs that start Boswell from elsewhere.
    pub(crate) own_variables: Vec<(&'static str, String)>,
    pub(crate) threads: usize,
    pub(crate) places: Places,
    pub(crate) config: Config,
    /// The configuration as it was written, with the origin of each value.
    pub(crate) settings: Settings,
    /// The roots of all agents without duplicates, existing or not.
    pub(crate) roots: Vec<Root>,
    /// The directories that are searched for programs.
    pub(crate) search_path: Vec<PathBuf>,
    pub(crate) reports: Reports,
    /// The shared memory that this machine pushes to.
    pub(crate) hub: Option<StoreLocation>,
    /// Where passwords of databases are looked up if a URL contains none.
    pub(crate) passwords: Passwords,
}

impl Context {
    /// Returns the memory at a given URL.
    pub(crate) fn place_of(&self, url: &str) -> Result<StoreLocation, CommandError> {
        let own = &self.places.data_dir;
        let server = self.passwords.server(url, "URL", None)?;
        Ok(StoreLocation::on_server(own, server).written_by(own.writer().clone()))
    }

    /// Returns the settings of digests.
    pub(crate) fn digest_settings(&self) -> memory::digest::DigestSettings<'_> {
        memory::digest::DigestSettings {
            now: self.now,
            task_pattern: self.config.task_ref.get(),
        }
    }

    /// Returns the domain of a repository, by its name or by the path of its remote.
    pub(crate) fn domain(&self, repo: Option<&str>, remote: Option<&str>) -> Option<&str> {
        let path = remote.and_then(|remote| remote.split_once('/')).map(|(_, path)| path);
        let is = |name: &str| [repo, remote, path].contains(&Some(name));
        let found = self.config.domains.iter().find(|(name, _)| is(name));
        found.map(|(_, domain)| domain.as_str())
    }

    /// Reads all layers of the configuration; unknown keys cause warnings.
    pub(crate) fn load(ui: &mut Ui, surroundings: &Surroundings, flags: &[Assignment]) -> Result<Self, CommandError> {
        let mut places = surroundings.places()?;
        let mut files = Vec::new();
        for file in [&places.system_config, &places.user_config] {
            files.extend(file.read()?);
        }
        let (settings, unknown) = Settings::merge(&files, &surroundings.environment, flags)?;
        for key in unknown {
            match &key.origin {
                Origin::Variable(name) => ui.warning(format_args!("unknown variable: `{name}`")),
                origin => ui.warning(format_args!("unknown key from {origin}: `{}`", key.name)),
            }
            if let Some(nearest) = key.nearest {
                ui.hint(format_args!("did you mean `{nearest}`?"));
            }
        }
        let config = Config::read(&settings, &places.home)?;
        let passwords = Passwords::of(&surroundings.environment, &places);
        places.data_dir = store::place(&config, &surroundings.environment, &passwords, &places)?;
        let hub = store::hub(&config, &passwords, &places)?;
        let roots = find_roots(&config, &surroundings.environment, &places);
        let reports = find_reports(&config, &surroundings.environment, &places);
        Ok(Self {
            reports,
            hub,
            passwords,
            now: surroundings.now()?,
            is_clock_still: surroundings.environment.get(variables::BOSWELL_NOW).is_some(),
            zone: surroundings.zone(),
            program: own_program().unwrap_or_else(|| "boswell".into()),
            own_variables: surroundings.own_variables(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            places,
            config,
            settings,
            roots,
            search_path: surroundings
                .environment
                .get(variables::PATH)
                .map(|path| env::split_paths(path).collect())
                .unwrap_or_default(),
        })
    }
}

impl Context {
    /// Returns the masker. The key of its fingerprints is stored next to the configuration, never in the store. It is
    /// created on the first run, unless nothing may be written.
    pub(crate) fn masker(&self, may_write: bool) -> Result<Masker, CommandError> {
        let path = self.places.user_config.path.with_file_name(MASK_KEY);
        let key = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut key = vec![0; 32];
                getrandom::fill(&mut key)
                    .map_err(|error| CommandError::internal(format_args!("no random numbers: {error}")))?;
                match may_write.then(|| write_first(&path, &key)) {
                    None | Some(Ok(())) => key,
                    // Another process created the key first, so its key is used.
                    Some(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => {
                        fs::read(&path).map_err(|error| mask_key_error(&path, "read", &error))?
                    }
                    Some(Err(error)) => return Err(mask_key_error(&path, "write", &error)),
                }
            }
            // A key that cannot be read now must not be replaced, because the fingerprints would change.
            Err(error) => return Err(mask_key_error(&path, "read", &error)),
        };
        let key = key.try_into().map_err(|_| {
            CommandError::config(
                "mask-key",
                format_args!("the masking key is damaged: `{}`", path.display()),
            )
            .with_hint("take it away, and a new one is made; fingerprints then change")
        })?;
        Masker::new(&MaskKey::new(key), &self.config.masking).map_err(|error| CommandError::config("mask-rules", error))
    }

    /// Returns whether a log is ignored: by its own path, or by the working directory of its session.
    pub(crate) fn is_ignored(&self, log: &Path) -> bool {
        let ignore = &self.config.ignore;
        if ignore.paths.is_match(log) {
            return true;
        }
        // Only the log itself names that directory, and reading logs takes time.
        !ignore.projects.is_empty()
            && logs::cwd_of_head(log).iter().any(|cwd| {
                // `~/private/**` is also meant for the directory itself.
                cwd.ancestors().any(|above| ignore.projects.is_match(above)) || ignore.projects.is_match(cwd.join(""))
            })
    }

    /// Returns the roots as the memory needs them.
    pub(crate) fn memory_roots(&self) -> Vec<memory::sources::LogRoot> {
        let root = |root: &Root| memory::sources::LogRoot {
            agent: root.agent,
            path: root.path.clone(),
            label: root.label.clone(),
        };
        self.roots.iter().map(root).collect()
    }

    /// Returns what is wrong with the permissions of the memory, if anything.
    pub(crate) fn open_to_others(&self) -> Option<String> {
        let mode = mode_of(&self.places.data_dir)?;
        let is_open = mode & 0o077 != 0;
        let path = self.places.data_dir.display();
        is_open.then(|| format!("others can look into the memory, its mode is {mode:o}: `{path}`"))
    }

    /// Returns the current time, for long runs. A fixed clock stays fixed.
    pub(crate) fn now_again(&self) -> Timestamp {
        if self.is_clock_still {
            self.now
        } else {
            Timestamp::now()
        }
    }

    /// Starts a stopwatch for the duration of a command.
    pub(crate) fn clock(&self) -> Clock {
        Clock::start()
    }
}

/// Returns the permissions of a directory, if the file system has them.
#[cfg(unix)]
fn mode_of(directory: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::metadata(directory).ok()?;
    Some(metadata.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode_of(_: &Path) -> Option<u32> {
    // On other systems the user's own directories are private because of their location.
    None
}

/// Returns the path of the masking key.
const MASK_KEY: &str = "mask.key";

/// Returns the time for a hook, which has no context. A fixed clock applies to it, too.
pub(crate) fn hook_time() -> Timestamp {
    let told = env::var(variables::BOSWELL_NOW).ok();
    told.and_then(|told| told.parse().ok()).unwrap_or_else(Timestamp::now)
}

/// Returns the path of this program, which hooks call.
pub(crate) fn own_program() -> Option<PathBuf> {
    env::current_exe().ok()
}

/// Returns the clock of the file system, even if the clock of the command is fixed.
pub(crate) fn wall_clock() -> Timestamp {
    Timestamp::now()
}

fn mask_key_error(path: &Path, what: &str, error: &io::Error) -> CommandError {
    CommandError::user("mask-key", format_args!("cannot {what} `{}`: {error}", path.display()))
        .with_hint("the masking key must be yours to read; without it nothing is kept")
}

/// A stopwatch.
pub(crate) struct Clock(std::time::Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub(crate) fn elapsed(&self) -> std::time::Duration {
        self.0.elapsed()
    }

    pub(crate) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Returns whether colours are used: the flag decides, then the variables, then whether the stream is a terminal.
fn choose_color(choice: ColorChoice, is_terminal: bool, environment: &Environment) -> bool {
    let is_forced = environment
        .get(variables::CLICOLOR_FORCE)
        .is_some_and(|value| value != "0");
    let is_dumb = environment.get(variables::TERM).is_some_and(|term| term == "dumb");
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if environment.get(variables::NO_COLOR).is_some() => false,
        ColorChoice::Auto => is_forced || (is_terminal && !is_dumb),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    #[test]
    fn color_is_decided_by_flag_then_variables_then_terminal() {
        let cases = [
            (vec![], true, true),
            (vec![], false, false),
            (vec![("NO_COLOR", "1")], true, false),
            (vec![("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], true, false),
            (vec![("CLICOLOR_FORCE", "1")], false, true),
            (vec![("CLICOLOR_FORCE", "0")], false, false),
            (vec![("TERM", "dumb")], true, false),
        ];
        for (variables, is_terminal, expected) in cases {
            let environment = environment(&variables);
            assert_eq!(
                choose_color(ColorChoice::Auto, is_terminal, &environment),
                expected,
                "{variables:?}"
            );
            assert!(choose_color(ColorChoice::Always, is_terminal, &environment));
            assert!(!choose_color(ColorChoice::Never, is_terminal, &environment));
        }
    }
}
