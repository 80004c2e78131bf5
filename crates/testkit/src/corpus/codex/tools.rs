//! The tools of Codex CLI: commands, patches, and looking after what still runs, each as its generation tells it.

use std::io;

use super::super::project::Edit;
use super::super::record::Json;
use super::super::spread::{CODEX_OUTPUT, PATCHED};
use super::super::text;
use super::{Generation, Thread};

impl Thread<'_> {
    pub(super) fn shell(&mut self) -> io::Result<()> {
        let command = self.world.command(self.project);
        let call = format!("call_{}", self.world.letters(24));
        let cwd = self.cwd();
        let (name, arguments) = match self.generation {
            Generation::G4 => (
                "shell_command",
                format!(r#"{{"command":{},"workdir":"{cwd}"}}"#, Json(&command)),
            ),
            _ => (
                "exec_command",
                format!(
                    r#"{{"cmd":{},"workdir":"{cwd}","yield_time_ms":1000,"max_output_tokens":6000}}"#,
                    Json(&command)
                ),
            ),
        };
        self.item(format_args!(
            r#""type":"function_call","name":"{name}","arguments":{},"call_id":"{call}""#,
            Json(&arguments)
        ))?;
        let length = self.world.length(&CODEX_OUTPUT);
        let output = self.world.command_output(self.project, self.file.fit(length));
        let exit = u32::from(self.world.chance(60));
        self.shell_ended(&call, &command, &output, exit)?;
        let told = match self.generation {
            Generation::G4 => format!("Exit code: {exit}\nWall time: 1.2 seconds\nOutput:\n{output}"),
            _ => format!(
                "Chunk ID: {:06x}\nWall time: 0.1200 seconds\nProcess exited with code {exit}\nOriginal token count: {}\nOutput:\n{output}",
                self.world.dice.roll() & 0xff_ffff,
                output.len() / 4
            ),
        };
        self.item(format_args!(
            r#""type":"function_call_output","call_id":"{call}","output":{}"#,
            Json(&told)
        ))
    }

    /// What some generations tell of a command besides its output.
    fn shell_ended(&mut self, call: &str, command: &str, output: &str, exit: u32) -> io::Result<()> {
        let (turn, cwd) = (self.turn_id, self.cwd());
        let status = if exit == 0 { "completed" } else { "failed" };
        let (command, output) = (Json(command), Json(output));
        match self.generation {
            // Only where a client asked for it.
            Generation::G5 if self.tells_more() => self.event(format_args!(
                r#""type":"exec_command_end","call_id":"{call}","process_id":"{exit}","turn_id":"{turn}","command":["/bin/zsh","-lc",{command}],"cwd":"{cwd}","parsed_cmd":[{{"type":"unknown","cmd":{command}}}],"source":"unified_exec_startup","stdout":"","stderr":"","aggregated_output":{output},"exit_code":{exit},"duration":{{"secs":0,"nanos":120000000}},"formatted_output":"","status":"{status}""#
            )),
            Generation::G7 => self.completed(format_args!(
                r#""type":"CommandExecution","id":"{call}","command":["/bin/zsh","-lc",{command}],"cwd":"{cwd}","parsed_cmd":[],"source":"agent","status":"{status}","exit_code":{exit},"aggregated_output":{output},"duration":{{"secs":0,"nanos":120000000}}"#
            )),
            _ => Ok(()),
        }
    }

    /// Whether this is one of the threads whose client wants more told.
    fn tells_more(&self) -> bool {
        self.project % 4 != 3
    }

    pub(super) fn patch(&mut self) -> io::Result<()> {
        let length = self.world.length(&PATCHED);
        let edit = self.world.edit(self.project, self.file.fit(length));
        let call = format!("call_{}", self.world.letters(24));
        let patch = patch_of(&edit);
        self.item(format_args!(
            r#""type":"custom_tool_call","status":"completed","call_id":"{call}","name":"apply_patch","input":{}"#,
            Json(&format!(
                "*** Begin Patch\n*** Update File: {}\n@@\n{patch}*** End Patch",
                edit.path
            ))
        ))?;
        let (turn, path) = (self.turn_id, Json(&edit.path));
        let diff = format!("@@ -{0},3 +{0},3 @@\n{patch}", edit.line);
        match self.generation {
            Generation::G6 => self.event(format_args!(
                r#""type":"patch_apply_end","call_id":"{call}","turn_id":"{turn}","stdout":"Success. Updated the following files:\n","stderr":"","success":true,"changes":{{{path}:{{"type":"update","unified_diff":{},"move_path":null}}}},"status":"completed""#,
                Json(&diff)
            ))?,
            Generation::G7 => self.completed(format_args!(
                r#""type":"FileChange","id":"{call}","changes":{{{path}:{{"type":"update","unified_diff":{},"move_path":null}}}},"status":"completed""#,
                Json(&diff)
            ))?,
            _ => {}
        }
        self.item(format_args!(
            r#""type":"custom_tool_call_output","call_id":"{call}","output":"{{\"output\":\"Success. Updated the following files:\\n\",\"metadata\":{{\"exit_code\":0,\"duration_seconds\":0.0}}}}""#
        ))
    }

    /// Looks after a command that still runs.
    pub(super) fn poll(&mut self) -> io::Result<()> {
        let call = format!("call_{}", self.world.letters(24));
        self.item(format_args!(
            r#""type":"function_call","name":"write_stdin","arguments":"{{\"session_id\":{},\"chars\":\"\",\"yield_time_ms\":1000}}","call_id":"{call}""#,
            self.ms % 90_000
        ))?;
        let output = self.world.command_output(self.project, self.file.fit(300));
        let told = format!(
            "Chunk ID: 5e55aa\nWall time: 1.0000 seconds\nProcess running with session ID {}\nOutput:\n{output}",
            self.ms % 90_000
        );
        self.item(format_args!(
            r#""type":"function_call_output","call_id":"{call}","output":{}"#,
            Json(&told)
        ))
    }
}

/// The lines of an edit, marked.
fn patch_of(edit: &Edit) -> String {
    let mut patch = String::new();
    for (mark, lines) in [('-', &edit.old), ('+', &edit.new)] {
        for line in lines.lines() {
            text::put(&mut patch, format_args!("{mark}{line}\n"));
        }
    }
    patch
}
