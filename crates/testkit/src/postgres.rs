//! A real PostgreSQL server for tests, with its data in a temporary directory. It listens on a Unix socket in that directory and nowhere
//! else, unless an encrypting server is requested. It stops when the process that started it ends, however that ends, and its directory is removed.
//!
//! A test process starts its own server, unless `BOSWELL_TEST_POSTGRES` names the directory of a running one: a test runner with one process
//! per test would otherwise start a server per test. The program `with_postgres` of this crate starts one around such a run.
//!
//! If PostgreSQL is not installed, tests that need it are skipped with a message; `BOSWELL_POSTGRES=must` makes them fail.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

/// The directory in which Debian installs all versions of the server.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The environment variable with the directory of a running server.
pub const RUNNING: &str = "BOSWELL_TEST_POSTGRES";

/// The script that controls the server. It runs as another user if we are root, because the server refuses to run as root. Its first
/// line of output is the directory of the server, and it stops the server when its input is closed. The locale sorts text by
/// language rules, which reveals code that relies on the order of bytes.
const SCRIPT: &str = r#"
dir=$(mktemp -d "${TMPDIR:-/tmp}/boswell-postgres.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
"$0/initdb" -D "$dir/data" -U postgres --auth=trust --no-sync -E UTF8 \
    --locale=C --locale-provider=icu --icu-locale=en-US >"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
if [ -n "$1" ]; then
    cd "$dir" || exit 1
    key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    for name in ca other; do
        openssl req -x509 $key -keyout $name.key -out $name.pem -subj /CN=$name -days 2 || exit 1
    done 2>>log
    openssl req $key -keyout server.key -out server.csr -subj /CN=localhost 2>>log || exit 1
    echo subjectAltName=DNS:localhost >names
    openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -days 2 -extfile names \
        >>log 2>&1 || { cat log >&2; exit 1; }
    heard="-c listen_addresses=127.0.0.1 -c port=$1 -c ssl=on -c ssl_cert_file=$dir/server.pem -c ssl_key_file=$dir/server.key"
else
    heard="-c listen_addresses="
fi
port=${1:-5432}
start() {
    "$0/postgres" -D "$dir/data" -k "$dir" $heard -c fsync=off -c full_page_writes=off \
        -c max_connections=200 -c shared_buffers=64MB >>"$dir/log" 2>&1 </dev/null &
    server=$!
    for wait in $(seq 1200); do
        "$0/pg_isready" -q -h "$dir" -p "$port" && { echo "$dir"; return; }
        kill -0 $server 2>/dev/null || break
        sleep 0.05
    done
    cat "$dir/log" >&2
    exit 1
}
start
while read -r word; do
    case $word in
        stop) kill -INT $server; wait $server; echo stopped ;;
        start) start ;;
    esac
done
kill -INT $server
wait $server
"#;

/// A running server.
pub struct Postgres {
    programs: PathBuf,
    directory: PathBuf,
    /// The port for encrypted connections, which is also part of the socket's name.
    port: Option<u16>,
    /// The shell that controls the server, and its output. `None` if another process started the server.
    child: Option<Mutex<(Child, BufReader<std::process::ChildStdout>)>>,
    databases: AtomicU32,
}

impl Postgres {
    /// Returns the server that the tests of this process share, or `None` if PostgreSQL is not installed.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Postgres>> = OnceLock::new();
        let start = || Self::running().or_else(Self::start);
        SHARED.get_or_init(start).as_ref()
    }

    /// Returns the running server that `BOSWELL_TEST_POSTGRES` names.
    fn running() -> Option<Self> {
        let directory = std::env::var_os(RUNNING)?;
        Some(Self {
            programs: programs().expect("a server runs, so its programs are here"),
            directory: directory.into(),
            port: None,
            child: None,
            databases: AtomicU32::new(0),
        })
    }

    /// Returns the directory of the server, the value for `BOSWELL_TEST_POSTGRES`.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Starts a separate server, which the caller may stop.
    pub fn start() -> Option<Self> {
        Self::start_at(None)
    }

    /// Starts a separate server with TLS and a certificate for `localhost`.
    pub fn start_encrypted() -> Option<Self> {
        // Another process could take the port before the server does, but the system rarely reuses one that soon.
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        Self::start_at(Some(free.expect("a port is free").port()))
    }

    #[allow(clippy::print_stderr, reason = "skipped tests must be visible")]
    fn start_at(port: Option<u16>) -> Option<Self> {
        let Some(programs) = programs() else {
            let must = std::env::var_os("BOSWELL_POSTGRES").is_some();
            assert!(!must, "there is no PostgreSQL to test with");
            eprintln!("SKIPPED: there is no PostgreSQL here, so nothing was tested on it");
            return None;
        };
        let mut command = match user() {
            Some(user) => {
                let mut command = Command::new("setpriv");
                // `setpriv` executes the shell in its own process, so that the child is the shell itself.
                command.args(["--reuid", user, "--regid", user, "--clear-groups", "sh"]);
                command
            }
            None => Command::new("sh"),
        };
        let child = command
            .args(["-c", SCRIPT])
            .arg(&programs)
            .args(port.map(|port| port.to_string()))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.expect("a shell can be started");
        let mut output = BufReader::new(child.stdout.take().expect("it was asked for"));
        let directory = line(&mut output);
        assert!(!directory.is_empty(), "PostgreSQL did not start");
        Some(Self {
            programs,
            directory: directory.into(),
            port,
            child: Some(Mutex::new((child, output))),
            databases: AtomicU32::new(0),
        })
    }

    /// Creates an empty database and returns its URL.
    pub fn database(&self) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        // Test processes may share the server, so the name must be unique among them. The system gives a process id to a later
        // process again, so the time is part of the name.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let nanoseconds = now.map_or(0, |since| since.as_nanos());
        let name = format!("memory_{}_{nanoseconds}_{number}", std::process::id());
        self.run(&format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    pub fn url(&self, database: &str) -> String {
        let host = self.directory.to_string_lossy().replace('/', "%2F");
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("postgres://postgres@{host}{port}/{database}")
    }

    /// Returns the URL of a database with TLS. The client trusts `authority`: `ca` signed the server's certificate, `other` signed nothing.
    pub fn encrypted_url(&self, host: &str, authority: &str, database: &str) -> String {
        let port = self.port.expect("the server was started so that it encrypts");
        let file = self.directory.join(format!("{authority}.pem"));
        format!(
            "postgres://postgres@{host}:{port}/{database}?sslmode=require&sslrootcert={}",
            file.display()
        )
    }

    /// Returns the server's log.
    pub fn log(&self) -> String {
        let log = fs::read(self.directory.join("log")).expect("the server writes a log");
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Runs SQL statements and returns their result, one line per row.
    pub fn run(&self, sql: &str) -> String {
        self.run_in("postgres", sql)
    }

    pub fn run_in(&self, database: &str, sql: &str) -> String {
        let output = Command::new(self.programs.join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h"])
            .arg(&self.directory)
            .args(["-p", &self.port.unwrap_or(5432).to_string()])
            .args(["-d", database, "-c", sql])
            .output()
            .expect("psql can be started");
        assert!(
            output.status.success(),
            "{sql}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Stops the server at once and starts it again.
    pub fn restart(&self) {
        use std::io::Write as _;
        let child = self.child.as_ref().expect("only a server of this process is restarted");
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        let (child, output) = &mut *child;
        let mut say = |word: &str| {
            let stdin = child.stdin.as_mut().expect("it was asked for");
            stdin.write_all(word.as_bytes()).expect("the server's shell listens");
            line(output)
        };
        say("stop\n");
        say("start\n");
    }
}

fn line(output: &mut impl BufRead) -> String {
    let mut line = String::new();
    _ = output.read_line(&mut line);
    line.trim_end().to_owned()
}

/// Returns the directory with the programs of the newest version.
fn programs() -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let needed = ["postgres", "initdb", "pg_isready", "psql"];
    let has_server = |directory: &PathBuf| needed.iter().all(|name| directory.join(name).is_file());
    let on_path = std::env::split_paths(&on_path).find(has_server);
    let mut versions: Vec<PathBuf> = fs::read_dir(DEBIAN)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .filter(has_server)
        .collect();
    versions.sort();
    on_path.or_else(|| versions.pop())
}

/// Returns the user that runs the server if we are root.
fn user() -> Option<&'static str> {
    let is_root = fs::metadata("/proc/self").is_ok_and(|metadata| is_of_root(&metadata));
    let passwd = fs::read_to_string(Path::new("/etc/passwd")).unwrap_or_default();
    let has_own = passwd.lines().any(|line| line.starts_with("postgres:"));
    is_root.then_some(if has_own { "postgres" } else { "nobody" })
}

#[cfg(unix)]
fn is_of_root(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(metadata) == 0
}

#[cfg(not(unix))]
fn is_of_root(_: &fs::Metadata) -> bool {
    false
}
