//! What a person is told while another process writes to the memory.

use crate::ui::Ui;

/// Another process writes: it is waited for, and whoever watches knows why nothing moves.
pub(crate) fn say_waiting(ui: &mut Ui) {
    ui.status("Waiting for another boswell that is writing");
}
