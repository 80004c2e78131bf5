//! Generates tool calls of Codex CLI: commands, patches, and polling of running commands, in the form of each generation.

use std::io;

use super::super::lengths::{CODEX_OUTPUT, PATCHED};
use super::super::project::Edit;
use super::super::record::JsonString;
use super::super::text;
use super::{Generation, ThreadWriter};

impl ThreadWriter<'_> {
    pub(super) fn shell(&mut self) -> io::Result<()> {
        let command = self.state.command(self.project);
        let call = format!("call_{}", self.state.letters(24));
        let cwd = self.cwd();
        let (name, arguments) = match self.generation {
            Generation::G4 => (
                "shell_command",
                format!(r#"{{"command":{},"workdir":"{cwd}"}}"#, JsonString(&command)),
            ),
            _ => (
                "exec_command",
                format!(
                    r#"{{"cmd":{},"workdir":"{cwd}","yield_time_ms":1000,"max_output_tokens":6000}}"#,
                    JsonString(&command)
                ),
            ),
        };
        self.item(format_args!(
            r#""type":"function_call","name":"{name}","arguments":{},"call_id":"{call}""#,
            JsonString(&arguments)
        ))?;
        let length = self.state.length(&CODEX_OUTPUT);
        let output = self.state.command_output(self.project, self.file.fit(length));
        let exit = u32::from(self.state.chance(60));
        self.shell_ended(&call, &command, &output, exit)?;
        let output_text = match self.generation {
            Generation::G4 => format!("Exit code: {exit}\nWall time: 1.2 seconds\nOutput:\n{output}"),
            _ => format!(
                "Chunk ID: {:06x}\nWall time: 0.1200 seconds\nProcess exited with code {exit}\nOriginal token count: {}\nOutput:\n{output}",
                self.state.random.next_u64() & 0xff_ffff,
                output.len() / 4
            ),
        };
        self.item(format_args!(
            r#""type":"function_call_output","call_id":"{call}","output":{}"#,
            JsonString(&output_text)
        ))
    }

    /// Writes the end event of a command, in the generations that have one.
    fn shell_ended(&mut self, call: &str, command: &str, output: &str, exit: u32) -> io::Result<()> {
        let (turn, cwd) = (self.turn_id, self.cwd());
        let status = if exit == 0 { "completed" } else { "failed" };
        let (command, output) = (JsonString(command), JsonString(output));
        match self.generation {
            // Only clients that requested these events get them.
            Generation::G5 if self.has_extra_events() => self.event(format_args!(
                r#""type":"exec_command_end","call_id":"{call}","process_id":"{exit}","turn_id":"{turn}","command":["/bin/zsh","-lc",{command}],"cwd":"{cwd}","parsed_cmd":[{{"type":"unknown","cmd":{command}}}],"source":"unified_exec_startup","stdout":"","stderr":"","aggregated_output":{output},"exit_code":{exit},"duration":{{"secs":0,"nanos":120000000}},"formatted_output":"","status":"{status}""#
            )),
            Generation::G7 => self.completed(format_args!(
                r#""type":"CommandExecution","id":"{call}","command":["/bin/zsh","-lc",{command}],"cwd":"{cwd}","parsed_cmd":[],"source":"agent","status":"{status}","exit_code":{exit},"aggregated_output":{output},"duration":{{"secs":0,"nanos":120000000}}"#
            )),
            _ => Ok(()),
        }
    }

    /// Whether the client of this thread requested the extra events.
    fn has_extra_events(&self) -> bool {
        self.project % 4 != 3
    }

    pub(super) fn patch(&mut self) -> io::Result<()> {
        let length = self.state.length(&PATCHED);
        let edit = self.state.edit(self.project, self.file.fit(length));
        let call = format!("call_{}", self.state.letters(24));
        let patch = patch_lines(&edit);
        self.item(format_args!(
            r#""type":"custom_tool_call","status":"completed","call_id":"{call}","name":"apply_patch","input":{}"#,
            JsonString(&format!(
                "*** Begin Patch\n*** Update File: {}\n@@\n{patch}*** End Patch",
                edit.path
            ))
        ))?;
        let (turn, path) = (self.turn_id, JsonString(&edit.path));
        let diff = format!("@@ -{0},3 +{0},3 @@\n{patch}", edit.line);
        match self.generation {
            Generation::G6 => self.event(format_args!(
                r#""type":"patch_apply_end","call_id":"{call}","turn_id":"{turn}","stdout":"Success. Updated the following files:\n","stderr":"","success":true,"changes":{{{path}:{{"type":"update","unified_diff":{},"move_path":null}}}},"status":"completed""#,
                JsonString(&diff)
            ))?,
            Generation::G7 => self.completed(format_args!(
                r#""type":"FileChange","id":"{call}","changes":{{{path}:{{"type":"update","unified_diff":{},"move_path":null}}}},"status":"completed""#,
                JsonString(&diff)
            ))?,
            _ => {}
        }
        self.item(format_args!(
            r#""type":"custom_tool_call_output","call_id":"{call}","output":"{{\"output\":\"Success. Updated the following files:\\n\",\"metadata\":{{\"exit_code\":0,\"duration_seconds\":0.0}}}}""#
        ))
    }

    /// Writes a call that polls a running command.
    pub(super) fn poll(&mut self) -> io::Result<()> {
        let call = format!("call_{}", self.state.letters(24));
        self.item(format_args!(
            r#""type":"function_call","name":"write_stdin","arguments":"{{\"session_id\":{},\"chars\":\"\",\"yield_time_ms\":1000}}","call_id":"{call}""#,
            self.ms % 90_000
        ))?;
        let output = self.state.command_output(self.project, self.file.fit(300));
        let output_text = format!(
            "Chunk ID: 5e55aa\nWall time: 1.0000 seconds\nProcess running with session ID {}\nOutput:\n{output}",
            self.ms % 90_000
        );
        self.item(format_args!(
            r#""type":"function_call_output","call_id":"{call}","output":{}"#,
            JsonString(&output_text)
        ))
    }
}

/// Returns an edit as the lines of a patch.
fn patch_lines(edit: &Edit) -> String {
    let mut patch = String::new();
    for (mark, lines) in [('-', &edit.old), ('+', &edit.new)] {
        for line in lines.lines() {
            text::put(&mut patch, format_args!("{mark}{line}\n"));
        }
    }
    patch
}
