//! The message while another process writes to the memory.

use crate::ui::Ui;

/// Prints why the command waits, because another process is writing.
pub(crate) fn say_waiting(ui: &mut Ui) {
    ui.status("Waiting for another boswell that is writing");
}
