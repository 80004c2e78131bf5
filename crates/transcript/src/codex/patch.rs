//! The files that a patch writes, wherever the patch is: in a tool's input, inside JSON, or in a shell's
//! here-document.

/// Maximum number of files per patch.
const FILES_MAX: usize = 64;

/// Returns the files that the patch inside `text` adds, updates, deletes or moves to.
pub(super) fn files(text: &str) -> Vec<Box<str>> {
    const HEADERS: [&str; 4] = [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
    ];
    let Some(start) = text.find("*** Begin Patch") else {
        return Vec::new();
    };
    let mut files: Vec<Box<str>> = Vec::new();
    for line in text[start..].lines() {
        let file = HEADERS.iter().find_map(|header| line.strip_prefix(header));
        if let Some(file) = file.map(str::trim)
            && !file.is_empty()
            && files.len() < FILES_MAX
            && !files.iter().any(|known| &**known == file)
        {
            files.push(file.into());
        }
    }
    files
}

/// Returns the files in a map of changes, in its order.
pub(super) fn changed(json: &str) -> Vec<Box<str>> {
    let map: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_str(json);
    let mut files: Vec<Box<str>> = Vec::new();
    for (path, change) in map.into_iter().flatten() {
        let moved = change.get("move_path").and_then(|path| path.as_str()).map(Into::into);
        files.push(path.into());
        files.extend(moved);
    }
    files.truncate(FILES_MAX);
    files
}

/// Describes a patch in one line: its first file, and how many more.
pub(super) fn wording(files: &[Box<str>]) -> String {
    match files {
        [] => "patch".to_owned(),
        [file] => format!("{file} (edit)"),
        [file, others @ ..] => format!("{file} (edit) and {} more", others.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_of_a_patch_name_its_files_once() {
        let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.rs\n@@\n-*** Add File: no.rs\n\
                     *** Move to: b.rs\n*** Add File: c.rs\n+x\n*** Update File: a.rs\n*** End Patch\nEOF";
        let files = files(patch);
        assert_eq!(
            files.iter().map(|file| &**file).collect::<Vec<_>>(),
            ["a.rs", "b.rs", "c.rs"]
        );
        assert_eq!(wording(&files), "a.rs (edit) and 2 more");
    }

    #[test]
    fn text_about_patches_is_not_a_patch() {
        assert!(files("*** Add File: a.rs").is_empty());
        assert!(files("").is_empty());
    }

    #[test]
    fn a_map_of_changes_names_its_files() {
        let json = r#"{"a.rs":{"type":"update","move_path":"b.rs"},"c.rs":{"type":"add","content":""}}"#;
        let files = changed(json);
        assert_eq!(
            files.iter().map(|file| &**file).collect::<Vec<_>>(),
            ["a.rs", "b.rs", "c.rs"]
        );
    }
}
