//! Signals as lines of text.

use memory::signals::Signal;

use crate::ui::{FAINT, STRONG, Ui, escape, measure};

/// Returns each signal with its description and, on request, its evidence.
pub(crate) fn lines(ui: &Ui, signals: &[Signal], with_evidence: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for signal in signals {
        let name = signal.signal.as_str().replace('_', " ");
        lines.push(format!(
            "  {}  {}",
            ui.paint(STRONG, format!("{name:18}")),
            escape(&signal.text)
        ));
        for evidence in signal.evidence.iter().filter(|_| with_evidence) {
            let line = format!(
                "{:>22}  {}",
                format!("line {}", measure::count(evidence.line)),
                escape(&evidence.text)
            );
            lines.push(ui.paint(FAINT, line).to_string());
        }
    }
    lines
}
