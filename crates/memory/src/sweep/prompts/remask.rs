//! Masks stored prompts again if older rules masked them.

use super::BATCH_PROMPTS;
use crate::store::{LockWait, PromptRow, Store, StoreError};
use crate::sweep::{Sweep, SweepReport, describe_reads};

/// Masks the outdated prompts batch by batch, to limit memory.
pub(super) fn remask(
    sweep: &Sweep<'_>,
    patience: LockWait<'_>,
    store: &mut Store,
    report: &mut SweepReport,
) -> Result<(), StoreError> {
    let version = sweep.masker.version();
    loop {
        let stale = store.reads().prompts_masked_otherwise(version, BATCH_PROMPTS as u32)?;
        if stale.is_empty() {
            return Ok(());
        }
        let mut hits = Vec::new();
        let mut mask = |text: &String| sweep.masker.mask_str(text, &mut hits).into_owned();
        let masked = |(_, row): &(Vec<u8>, PromptRow)| PromptRow {
            project: row.project.as_ref().map(&mut mask),
            title: row.title.as_ref().map(&mut mask),
            text: mask(&row.text),
            mask_version: version,
            ..row.clone()
        };
        let fresh: Vec<PromptRow> = stale.iter().map(masked).collect();
        let lock = store.lock(patience)?;
        let sentence = describe_reads(
            report.bytes_read,
            report.sessions(),
            report.prompts,
            report.digested.len() as u64,
            &report.evicted,
        );
        store.write(&lock, sweep.now, "sweep", |tx| {
            for ((key, _), prompt) in stale.iter().zip(fresh) {
                tx.replace_prompt(key, prompt)?;
            }
            Ok(((), sentence))
        })?;
        report.redactions += hits.len() as u64;
    }
}
