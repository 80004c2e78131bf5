//! The terminal while the finder uses it: the alternate screen and raw mode. It is restored however the finder ends:
//! normally, by a panic, or by a signal.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use std::{panic, thread};

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{cursor, execute};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

#[cfg(unix)]
use crate::interrupt::SignalDelegation;

/// The alternate screen. Dropping it restores the terminal.
pub(crate) struct Screen {
    pub(crate) terminal: Terminal<CrosstermBackend<io::Stdout>>,
    is_open: Arc<AtomicBool>,
}

impl Screen {
    pub(crate) fn open() -> io::Result<Self> {
        let is_open = Arc::new(AtomicBool::new(true));
        restore_before_a_trace(&is_open);
        enable_raw_mode()?;
        // From here on, dropping the value restores the terminal even if a later step fails.
        let screen = Self {
            terminal: Terminal::new(CrosstermBackend::new(io::stdout()))?,
            is_open,
        };
        execute!(io::stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        #[cfg(unix)]
        end_when_terminal_closes()?;
        Ok(screen)
    }

    /// Copies a text to the clipboard through the terminal (OSC 52), which also works over SSH. Not every terminal
    /// supports it.
    pub(crate) fn copy(&self, text: &str) -> io::Result<()> {
        execute!(io::stdout(), CopyToClipboard::to_clipboard_from(text))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore(&self.is_open);
    }
}

/// Restores the terminal, once.
fn restore(is_open: &AtomicBool) {
    if is_open.swap(false, Ordering::Relaxed) {
        // If the terminal is closed, the error cannot be reported.
        _ = execute!(io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
        _ = io::stdout().flush();
        _ = disable_raw_mode();
    }
}

/// Leaves the alternate screen before a panic is printed, because its text would be lost with that screen.
fn restore_before_a_trace(is_open: &Arc<AtomicBool>) {
    let is_open = Arc::clone(is_open);
    let owner = thread::current().id();
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |bug| {
        if thread::current().id() == owner {
            restore(&is_open);
        }
        before(bug);
    }));
}

/// How often the thread below checks the terminal.
#[cfg(unix)]
const TERMINAL_CHECK_S: i64 = 1;

/// Starts a thread that ends the process once the terminal is closed.
///
/// `wait_for_input` notices most closed terminals, but one that closes just before crossterm reads from it makes crossterm read
/// the end of input in a loop, in which the main thread sees no signal.
#[cfg(unix)]
fn end_when_terminal_closes() -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let watch = || {
        let stdin = io::stdin();
        let wait = Timespec {
            tv_sec: TERMINAL_CHECK_S,
            tv_nsec: 0,
        };
        loop {
            // Only a closed terminal is reported, never a key.
            let mut polled = [PollFd::new(&stdin, PollFlags::empty())];
            let closed = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
            if poll(&mut polled, Some(&wait)).is_ok() && polled[0].revents().intersects(closed) {
                crate::interrupt::end(signal_hook::consts::SIGHUP);
            }
        }
    };
    thread::Builder::new()
        .name("terminal".to_owned())
        .spawn(watch)
        .map(|_| ())
}

/// Waits for a key and returns how long to wait for the next one. A closed terminal is an error: it reads as end of
/// input, which crossterm would read in a loop.
#[cfg(unix)]
pub(crate) fn wait_for_input(wait: Duration) -> io::Result<Duration> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = io::stdin();
    let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
    let wait = Timespec::try_from(wait).map_err(io::Error::other)?;
    match poll(&mut asked, Some(&wait)) {
        Ok(_)
            if asked[0]
                .revents()
                .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) =>
        {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
        // A signal is not a key, but it can mean that the terminal was resized.
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(Duration::ZERO),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
pub(crate) fn wait_for_input(wait: Duration) -> io::Result<Duration> {
    Ok(wait)
}

/// Records a signal that ends the process, so that the terminal can be restored first.
pub(crate) struct Signals(Arc<AtomicUsize>);

#[cfg(unix)]
impl Signals {
    pub(crate) fn note() -> io::Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
        let noted = Arc::new(AtomicUsize::new(0));
        SignalDelegation::begin().forever();
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            let number = usize::try_from(signal).unwrap_or_default();
            signal_hook::flag::register_usize(signal, Arc::clone(&noted), number)?;
        }
        Ok(Self(noted))
    }

    pub(crate) fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Ends the process as the signal would have. Call it only after the terminal is restored.
    pub(crate) fn obey(&self) {
        if let Ok(signal @ 1..) = i32::try_from(self.0.load(Ordering::Relaxed)) {
            _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn note() -> io::Result<Self> {
        Ok(Self(Arc::new(AtomicUsize::new(0))))
    }

    pub(crate) fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn obey(&self) {}
}
