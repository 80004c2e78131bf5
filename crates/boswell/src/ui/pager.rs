//! A pager for text that is longer than the screen. It is started only if it is needed, and without a shell.
//!
//! `context.rs` knows which pager the user wants.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

/// The command that shows long text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pager {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    /// Variables to add to the pager's environment.
    pub(crate) variables: Vec<(&'static str, &'static str)>,
    /// Number of lines of the screen.
    pub(crate) rows: usize,
}

/// Buffers text until it is longer than the screen, and then starts the pager.
pub(super) struct Paged<W: Write> {
    pager: Pager,
    screen: W,
    held: Vec<u8>,
    lines: usize,
    child: Option<Child>,
    /// The pager could not be started: the text goes to the screen.
    is_plain: bool,
}

impl<W: Write> Paged<W> {
    pub(super) fn new(pager: Pager, screen: W) -> Self {
        Self {
            pager,
            screen,
            held: Vec::new(),
            lines: 0,
            child: None,
            is_plain: false,
        }
    }

    fn start(&mut self) -> io::Result<()> {
        let mut command = Command::new(&self.pager.program);
        command.args(&self.pager.arguments).stdin(Stdio::piped());
        command.envs(self.pager.variables.iter().copied());
        match command.spawn() {
            Ok(child) => self.child = Some(child),
            Err(_) => self.is_plain = true,
        }
        let held = std::mem::take(&mut self.held);
        self.hand_over(&held)
    }

    fn hand_over(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self.child.as_mut().and_then(|child| child.stdin.as_mut()) {
            Some(input) => input.write_all(bytes),
            None => self.screen.write_all(bytes),
        }
    }
}

impl<W: Write> Write for Paged<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.child.is_some() || self.is_plain {
            self.hand_over(bytes)?;
            return Ok(bytes.len());
        }
        self.held.extend_from_slice(bytes);
        self.lines += bytes.iter().filter(|byte| **byte == b'\n').count();
        // The shell's prompt takes a line, too.
        if self.lines >= self.pager.rows {
            self.start()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Drop for Paged<W> {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.stdin.take());
            _ = child.wait();
        } else {
            // The screen is gone, so the error cannot be reported.
            _ = self.screen.write_all(&self.held);
            _ = self.screen.flush();
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shown(pager: &str, text: &str) -> (String, String) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("paged");
        let mut screen = Vec::new();
        let pager = Pager {
            program: pager.into(),
            arguments: vec![path.clone().into_os_string()],
            variables: Vec::new(),
            rows: 3,
        };
        let mut paged = Paged::new(pager, &mut screen);
        paged.write_all(text.as_bytes()).unwrap();
        drop(paged);
        let paged = std::fs::read_to_string(path).unwrap_or_default();
        (String::from_utf8(screen).unwrap(), paged)
    }

    #[test]
    fn only_text_longer_than_the_screen_goes_to_the_pager() {
        // The test only checks whether the program ran, because `tee FILE` would also write to the screen.
        assert_eq!(shown("tee", "one\ntwo\n"), ("one\ntwo\n".into(), String::new()));
        assert_eq!(shown("tee", "one\ntwo\nthree\n").1, "one\ntwo\nthree\n");
    }

    #[test]
    fn a_pager_that_is_not_there_is_done_without() {
        let (screen, paged) = shown("/no/such/pager", "one\ntwo\nthree\nfour\n");
        assert_eq!((screen.as_str(), paged.as_str()), ("one\ntwo\nthree\nfour\n", ""));
    }
}
