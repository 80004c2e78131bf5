//! Generates tool calls of Claude Code: input, result, and what the log repeats of both.

use std::io;

use super::super::lengths::{ANSWER, COMMAND_OUTPUT, EDITED, FOUND, READ_OUTPUT, WRITTEN};
use super::super::record::{JsonString, Time, Uuid};
use super::super::state::Language;
use super::super::text;
use super::{Call, SessionWriter};

/// A tool call: its id and the id of its record.
type Used = (String, Uuid);

impl SessionWriter<'_> {
    /// Writes a tool call with its result. Tools occur as often as in real logs.
    pub(super) fn tool(&mut self, call: &Call) -> io::Result<()> {
        match self.state.random.between(0, 999) {
            0..400 => self.bash(call),
            400..606 => self.read(call),
            606..806 => self.edit(call),
            806..868 => self.grep(call),
            868..930 => self.task(call),
            930..956 => self.write(call),
            956..974 => self.todos(call),
            974..987 => self.glob(call),
            _ => self.fetch(call),
        }
    }

    fn tool_use(&mut self, call: &Call, name: &str, input: &str) -> io::Result<Used> {
        let id = format!("toolu_01{}", self.state.letters(22));
        let block = format!(
            r#"{{"type":"tool_use","id":"{id}","name":"{name}","input":{input},"caller":{{"type":"direct"}}}}"#
        );
        let record = self.assistant(call, &block, "\"tool_use\"")?;
        Ok((id, record))
    }

    /// Writes a result, as the model sees it (`content`) and as the harness stores it (`kept`).
    fn result(&mut self, used: &Used, content: &str, kept: &str) -> io::Result<()> {
        self.result_of(used, content, kept, "false")
    }

    fn result_of(&mut self, (id, source): &Used, content: &str, kept: &str, is_error: &str) -> io::Result<()> {
        let prompt = self.prompt;
        self.record(format_args!(
            r#""promptId":"{prompt}","type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{id}","type":"tool_result","content":{},"is_error":{is_error}}}]}},"toolUseResult":{kept},"sourceToolAssistantUUID":"{source}""#,
            JsonString(content)
        ))?;
        if self.state.chance(45) {
            self.reminder()?;
        }
        Ok(())
    }

    fn bash(&mut self, call: &Call) -> io::Result<()> {
        let command = self.state.command(self.project);
        let about = self.state.sentence();
        let input = format!(
            r#"{{"command":{},"description":{}}}"#,
            JsonString(&command),
            JsonString(&about)
        );
        let used = self.tool_use(call, "Bash", &input)?;
        let length = self.state.length(&COMMAND_OUTPUT);
        let output = self.state.command_output(self.project, self.file.fit(length));
        self.hooks(&used.0, &output)?;
        if self.state.chance(90) {
            let content = format!("Exit code 1\n{output}");
            let kept = format!("Error: {content}");
            return self.result_of(&used, &content, &JsonString(&kept).to_string(), "true");
        }
        let kept = format!(
            r#"{{"stdout":{},"stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}}"#,
            JsonString(&output)
        );
        self.result(&used, &output, &kept)
    }

    /// Writes the records of hooks and of a running command.
    fn hooks(&mut self, tool: &str, output: &str) -> io::Result<()> {
        if !self.is_old {
            if self.state.chance(60) {
                self.record(format_args!(
                    r#""attachment":{{"type":"hook_success","hookName":"PostToolUse:Bash","toolUseID":"{tool}","hookEvent":"PostToolUse","content":"","stdout":"","stderr":"","exitCode":0,"command":"format --changed","durationMs":31}},"type":"attachment""#
                ))?;
            }
            return Ok(());
        }
        let hook = self.state.uuid();
        self.record(format_args!(
            r#""type":"progress","data":{{"type":"hook_progress","hookEvent":"PostToolUse","hookName":"PostToolUse:Bash","command":"format --changed"}},"parentToolUseID":"{tool}","toolUseID":"{hook}""#
        ))?;
        let times = if self.state.chance(380) {
            self.state.random.between(1, 9)
        } else {
            0
        };
        let shown = end_of(output, 900);
        for second in 0..times {
            self.record(format_args!(
                r#""type":"progress","data":{{"type":"bash_progress","output":{0},"fullOutput":{0},"elapsedTimeSeconds":{second},"totalLines":{1}}},"toolUseID":"bash-progress-{second}","parentToolUseID":"{tool}""#,
                JsonString(shown),
                shown.lines().count()
            ))?;
        }
        Ok(())
    }

    fn reminder(&mut self) -> io::Result<()> {
        if self.is_old || self.file.room() < 20_000 {
            return Ok(());
        }
        if self.state.chance(250) {
            let part = self.state.read(self.project, 5_000);
            self.record(format_args!(
                r#""attachment":{{"type":"edited_text_file","filename":"{}","snippet":{}}},"type":"attachment""#,
                part.path,
                JsonString(&text::numbered(&part.text, part.first))
            ))?;
        } else {
            self.record(format_args!(
                r#""attachment":{{"type":"task_reminder","content":[],"itemCount":0}},"type":"attachment""#
            ))?;
        }
        Ok(())
    }

    fn read(&mut self, call: &Call) -> io::Result<()> {
        let length = self.state.length(&READ_OUTPUT);
        let part = self.state.read(self.project, self.file.fit(length));
        let (path, first, lines) = (&part.path, part.first, part.text.lines().count());
        let input = format!(r#"{{"file_path":"{path}","offset":{first},"limit":{lines}}}"#);
        let used = self.tool_use(call, "Read", &input)?;
        let kept = format!(
            r#"{{"type":"text","file":{{"filePath":"{path}","content":{},"numLines":{lines},"startLine":{first},"totalLines":{}}}}}"#,
            JsonString(&part.text),
            part.lines_total
        );
        self.result(&used, &text::numbered(&part.text, first), &kept)
    }

    fn edit(&mut self, call: &Call) -> io::Result<()> {
        let length = self.state.length(&EDITED);
        let edit = self.state.edit(self.project, self.file.fit(length));
        let (old, new) = (JsonString(&edit.old).to_string(), JsonString(&edit.new).to_string());
        let (path, line) = (&edit.path, edit.line);
        let input = format!(r#"{{"replace_all":false,"file_path":"{path}","old_string":{old},"new_string":{new}}}"#);
        let used = self.tool_use(call, "Edit", &input)?;
        // The newest versions no longer store the whole file.
        let original = match self.state.chance(640) && self.file.room() > 3 * edit.original.len() as u64 {
            true => JsonString(&edit.original).to_string(),
            false => "null".to_owned(),
        };
        let lines = [marked('-', &edit.old), marked('+', &edit.new)].concat();
        let kept = format!(
            r#"{{"filePath":"{path}","oldString":{old},"newString":{new},"originalFile":{original},"structuredPatch":[{{"oldStart":{line},"oldLines":{count},"newStart":{line},"newLines":{count},"lines":[{}]}}],"userModified":false,"replaceAll":false}}"#,
            lines.join(","),
            count = lines.len(),
        );
        self.result(&used, &format!("The file {path} has been updated successfully."), &kept)
    }

    fn grep(&mut self, call: &Call) -> io::Result<()> {
        let pattern = self.state.name();
        let input = format!(r#"{{"pattern":"{pattern}","path":"src","output_mode":"content","-n":true}}"#);
        let used = self.tool_use(call, "Grep", &input)?;
        let length = self.state.length(&FOUND);
        let found = self.state.found(self.project, self.file.fit(length));
        let kept = format!(
            r#"{{"mode":"content","numFiles":0,"filenames":[],"content":{},"numLines":{}}}"#,
            JsonString(&found),
            found.lines().count()
        );
        self.result(&used, &found, &kept)
    }

    fn task(&mut self, call: &Call) -> io::Result<()> {
        let number = self.state.random.between(1, 12);
        if self.state.chance(350) {
            let about = self.state.sentence();
            let input = format!(
                r#"{{"subject":{0},"description":{0},"activeForm":{0}}}"#,
                JsonString(&about)
            );
            let used = self.tool_use(call, "TaskCreate", &input)?;
            let kept = format!(r#"{{"task":{{"id":"{number}","subject":{}}}}}"#, JsonString(&about));
            return self.result(&used, &format!("Task #{number} created successfully"), &kept);
        }
        let input = format!(r#"{{"taskId":"{number}","status":"completed"}}"#);
        let used = self.tool_use(call, "TaskUpdate", &input)?;
        let kept = format!(
            r#"{{"success":true,"taskId":"{number}","updatedFields":["status"],"statusChange":{{"from":"in_progress","to":"completed"}},"verificationNudgeNeeded":false}}"#
        );
        self.result(&used, &format!("Updated task #{number} status"), &kept)
    }

    fn write(&mut self, call: &Call) -> io::Result<()> {
        let length = self.state.length(&WRITTEN);
        let content = self.state.code(self.file.fit(length));
        let name = self.state.name();
        let path = format!("{}/src/{name}.rs", self.state.projects[self.project].cwd);
        let input = format!(r#"{{"file_path":"{path}","content":{}}}"#, JsonString(&content));
        let used = self.tool_use(call, "Write", &input)?;
        let kept = format!(
            r#"{{"type":"create","filePath":"{path}","content":{},"structuredPatch":[],"originalFile":null}}"#,
            JsonString(&content)
        );
        self.result(&used, &format!("File created successfully at: {path}"), &kept)
    }

    fn todos(&mut self, call: &Call) -> io::Result<()> {
        let mut todos = Vec::new();
        for status in ["completed", "in_progress", "pending", "pending"] {
            let about = self.state.sentence();
            todos.push(format!(
                r#"{{"content":{0},"status":"{status}","activeForm":{0}}}"#,
                JsonString(&about)
            ));
        }
        let todos = todos.join(",");
        let used = self.tool_use(call, "TodoWrite", &format!(r#"{{"todos":[{todos}]}}"#))?;
        let kept = format!(r#"{{"oldTodos":[{todos}],"newTodos":[{todos}]}}"#);
        self.result(
            &used,
            "Todos have been modified successfully. Continue to use the todo list.",
            &kept,
        )
    }

    fn glob(&mut self, call: &Call) -> io::Result<()> {
        let used = self.tool_use(call, "Glob", r#"{"pattern":"src/**/*.rs"}"#)?;
        let of = &self.state.projects[self.project];
        let count = self.state.random.below(of.paths.len());
        let names: Vec<String> = of.paths[..count]
            .iter()
            .map(|path| format!("{}/{path}", of.cwd))
            .collect();
        let quoted: Vec<String> = names.iter().map(|name| JsonString(name).to_string()).collect();
        let kept = format!(
            r#"{{"filenames":[{}],"durationMs":14,"numFiles":{count},"truncated":false}}"#,
            quoted.join(",")
        );
        self.result(&used, &names.join("\n"), &kept)
    }

    fn fetch(&mut self, call: &Call) -> io::Result<()> {
        let input = r#"{"url":"https://docs.example.com/guide","prompt":"What does it say about timeouts?"}"#;
        let used = self.tool_use(call, "WebFetch", input)?;
        let length = self.state.length(&ANSWER);
        let found = self.state.prose(Language::English, self.file.fit(length));
        let kept = format!(
            r#"{{"bytes":{},"code":200,"codeText":"OK","result":{},"durationMs":2752,"url":"https://docs.example.com/guide"}}"#,
            found.len() * 9,
            JsonString(&found)
        );
        self.result(&used, &found, &kept)
    }

    /// Starts a subagent and returns its id and prompt.
    pub(super) fn spawn(&mut self) -> io::Result<(String, String)> {
        let agent = format!("a{:016x}", self.state.random.next_u64());
        let length = self.file.fit(1_200);
        let (about, prompt) = (self.state.sentence(), self.state.prose(Language::English, length));
        let call = self.call();
        let input = format!(
            r#"{{"description":{},"prompt":{},"subagent_type":"general-purpose"}}"#,
            JsonString(&about),
            JsonString(&prompt)
        );
        let used = self.tool_use(&call, "Agent", &input)?;
        if self.is_old {
            self.agent_progress(&used.0, &agent, &prompt)?;
        }
        let length = self.state.length(&ANSWER);
        let answer = self.state.prose(self.language, self.file.fit(length));
        let kept = format!(
            r#"{{"status":"completed","prompt":{},"agentId":"{agent}","agentType":"general-purpose","content":[{{"type":"text","text":{}}}],"totalDurationMs":45626,"totalTokens":14957,"totalToolUseCount":8,"usage":{}}}"#,
            JsonString(&prompt),
            JsonString(&answer),
            call.usage
        );
        self.result(&used, &answer, &kept)?;
        Ok((agent, prompt))
    }

    /// Writes the copies of a subagent's records that the older format contains.
    fn agent_progress(&mut self, tool: &str, agent: &str, prompt: &str) -> io::Result<()> {
        let times = self.state.random.between(4, 60);
        for _ in 0..times {
            let (message, time) = (self.state.uuid(), Time(self.ms));
            let length = self.state.length(&READ_OUTPUT);
            let shown = self.state.read(self.project, self.file.fit(length));
            self.record(format_args!(
                r#""type":"progress","data":{{"message":{{"type":"user","message":{{"role":"user","content":[{{"type":"text","text":{}}}]}},"uuid":"{message}","timestamp":"{time}"}},"normalizedMessages":[],"type":"agent_progress","prompt":{},"agentId":"{agent}"}},"toolUseID":"agent_msg_01{message}","parentToolUseID":"{tool}""#,
                JsonString(&shown.text),
                JsonString(prompt)
            ))?;
        }
        Ok(())
    }

    /// Writes a spilled result and returns the name of its file.
    pub(super) fn spill(&mut self, folder: &str) -> io::Result<String> {
        let call = self.call();
        let command = self.state.command(self.project);
        let used = self.tool_use(&call, "Bash", &format!(r#"{{"command":{}}}"#, JsonString(&command)))?;
        let name = format!("b{:08x}", self.state.random.next_u64() >> 32);
        let preview = self.state.command_output(self.project, self.file.fit(2_000));
        let path = format!("/home/ada/{folder}/{}/tool-results/{name}.txt", self.id);
        let content = format!(
            "<persisted-output>\nOutput too large (90KB). Full output saved to: {path}\n\nPreview (first 2KB):\n{preview}\n…\n</persisted-output>"
        );
        let kept = format!(
            r#"{{"stdout":{},"stderr":"","interrupted":false,"isImage":false,"persistedOutputPath":"{path}"}}"#,
            JsonString(&preview)
        );
        self.result(&used, &content, &kept)?;
        Ok(name)
    }
}

/// Returns lines with a diff mark, as JSON strings.
fn marked(mark: char, text: &str) -> Vec<String> {
    let line = |line: &str| JsonString(&format!("{mark}{line}")).to_string();
    text.lines().map(line).collect()
}

/// Returns the last bytes of a text.
fn end_of(text: &str, length: usize) -> &str {
    let mut from = text.len().saturating_sub(length);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}
