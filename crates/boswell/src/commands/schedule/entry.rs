//! The entries of the schedulers, as texts. Nothing here runs a program or writes a file.
//!
//! Every scheduler starts Boswell once an hour, and the sweep itself checks whether it is due. Therefore the configured
//! cadence alone decides, a change of the cadence needs no new entry, and a run missed while the machine was off is
//! made up for within the hour.

use std::path::PathBuf;

/// The name of the units, and of the launch agent.
pub(super) const UNIT: &str = "boswell-sweep";
pub(super) const LABEL: &str = "io.boswell.sweep";
/// Marks our line in a crontab, so that it can be found again.
pub(super) const CRON_MARK: &str = "# boswell-sweep";
/// An arbitrary minute, because many jobs start on the hour.
const MINUTE: u8 = 23;

/// The command, and the environment variables it needs, because a scheduler does not have those of a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) program: PathBuf,
    pub(super) variables: Vec<(&'static str, String)>,
    /// The log of background runs. Cron's shell writes to it why the program could not be started.
    pub(super) log: PathBuf,
}

const ARGUMENTS: [&str; 3] = ["sweep", "--scheduled", "--quiet"];

impl Entry {
    /// Returns the systemd service, which does one sweep.
    pub(super) fn service(&self) -> String {
        let variables = self
            .variables
            .iter()
            .map(|(name, value)| format!("Environment={}\n", unit_quoted(&format!("{name}={value}"))))
            .collect::<String>();
        format!(
            "[Unit]\nDescription=Boswell reads what is new in the logs of coding agents\n\n\
             [Service]\nType=oneshot\n{variables}ExecStart={} {}\nNice=10\nIOSchedulingClass=idle\n",
            unit_quoted(&self.program.to_string_lossy()),
            ARGUMENTS.join(" "),
        )
    }

    /// Returns the systemd timer, which starts the service.
    pub(super) fn timer() -> String {
        format!(
            "[Unit]\nDescription=Boswell looks every hour whether a sweep is due\n\n\
             [Timer]\nOnCalendar=*-*-* *:{MINUTE}:00\nPersistent=true\nRandomizedDelaySec=5min\n\n\
             [Install]\nWantedBy=timers.target\n"
        )
    }

    /// Returns the launch agent of macOS.
    pub(super) fn plist(&self) -> String {
        let text = |text: &str| format!("<string>{}</string>", xml(text));
        let program = self.program.to_string_lossy();
        let arguments: String = std::iter::once(program.as_ref())
            .chain(ARGUMENTS)
            .map(|argument| format!("    {}\n", text(argument)))
            .collect();
        let variables: String = self
            .variables
            .iter()
            .map(|(name, value)| format!("    <key>{}</key>{}\n", xml(name), text(value)))
            .collect();
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
             <plist version=\"1.0\">\n<dict>\n  <key>Label</key>{}\n  <key>ProgramArguments</key>\n  <array>\n{arguments}  </array>\n  \
             <key>EnvironmentVariables</key>\n  <dict>\n{variables}  </dict>\n  <key>StartCalendarInterval</key>\n  <dict>\n    \
             <key>Minute</key><integer>{MINUTE}</integer>\n  </dict>\n  <key>RunAtLoad</key><true/>\n  \
             <key>ProcessType</key><string>Background</string>\n</dict>\n</plist>\n",
            text(LABEL),
        )
    }

    /// Returns the crontab line. It appends standard error to the log of background runs: cron would send it by mail,
    /// which few machines deliver, and a program that was moved away would fail silently every hour. The log is private
    /// even if the shell creates it.
    pub(super) fn cron_line(&self) -> String {
        let variables: String = self
            .variables
            .iter()
            .map(|(name, value)| format!("{name}={} ", cron_quoted(value)))
            .collect();
        format!(
            "{MINUTE} * * * * umask 077; {variables}{} {} >/dev/null 2>>{} {CRON_MARK}",
            cron_quoted(&self.program.to_string_lossy()),
            ARGUMENTS.join(" "),
            cron_quoted(&self.log.to_string_lossy()),
        )
    }
}

/// Returns a crontab with our line in it once, or without it. All other lines stay byte for byte the same.
pub(super) fn crontab(before: &str, line: Option<&str>) -> String {
    let mut after: String = before
        .split_inclusive('\n')
        .filter(|line| !line.trim_end().ends_with(CRON_MARK))
        .collect();
    if let Some(line) = line {
        if !after.is_empty() && !after.ends_with('\n') {
            after.push('\n');
        }
        after.push_str(line);
        after.push('\n');
    }
    after
}

/// Returns our line of a crontab.
pub(super) fn line_of(crontab: &str) -> Option<&str> {
    crontab.lines().find(|line| line.trim_end().ends_with(CRON_MARK))
}

/// Quotes a word for a systemd unit, in which quotes, backslashes, `%` and `$` are special.
fn unit_quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' => quoted.push_str("%%"),
            '$' => quoted.push_str("$$"),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Quotes a word for cron's shell. Cron itself replaces an unescaped `%` with a newline before the shell sees it.
fn cron_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''").replace('%', r"'\%'"))
}

fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            program: "/opt/bo swell/it's 5%/boswell".into(),
            variables: vec![("BOSWELL_HOME", "/home/ada/a \"b\" & $c".to_owned())],
            log: "/home/ada/a b/background.log".into(),
        }
    }

    #[test]
    fn a_crontab_keeps_every_line_that_is_not_ours() {
        let line = entry().cron_line();
        for others in [
            "",
            "MAILTO=ada\n0 1 * * * backup # nightly\n",
            "# no newline at the end",
        ] {
            let with = crontab(others, Some(&line));
            assert_eq!(line_of(&with), Some(line.as_str()));
            assert_eq!(crontab(&with, Some(&line)), with, "twice is once");
            let without = crontab(&with, None);
            assert_eq!(without.trim_end_matches('\n'), others.trim_end_matches('\n'));
            assert_eq!(line_of(&without), None);
        }
    }

    #[test]
    fn odd_characters_reach_the_command_as_they_are() {
        assert_eq!(
            entry().cron_line(),
            "23 * * * * umask 077; BOSWELL_HOME='/home/ada/a \"b\" & $c' '/opt/bo swell/it'\\''s 5'\\%'/boswell' \
             sweep --scheduled --quiet >/dev/null 2>>'/home/ada/a b/background.log' # boswell-sweep"
        );
        let service = entry().service();
        assert!(
            service.contains(r#"Environment="BOSWELL_HOME=/home/ada/a \"b\" & $$c""#),
            "{service}"
        );
        assert!(
            service.contains(r#"ExecStart="/opt/bo swell/it's 5%%/boswell" sweep --scheduled --quiet"#),
            "{service}"
        );
        assert!(entry().plist().contains("/home/ada/a \"b\" &amp; $c"));
    }
}
