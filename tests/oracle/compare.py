"""Compares `boswell prepare --verbatim` with the public tool whose workspaces it follows, day by day.

Run it with the Python of a virtual environment that has `prompt-diary==0.2.11`:

    cargo run -p boswell-testkit --example days -- /tmp/days 0 500 all
    python tests/oracle/compare.py --boswell target/debug/boswell /tmp/days

Every difference has to belong to a class that `docs/diary-differences.md` lists; one that does not is printed and fails the
run. `--record FILE` writes the other tool's trees as a fixture, so that our own tests need no Python.
"""

import argparse
import collections
import contextlib
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from prompt_diary.cli import main as oracle_main

OURS_ALONE = ("copies", "renamed", "masked", "from_memory", "evicted", "skipped")
HARNESS = (
    "<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>", "Caveat: The messages below", "<bash-stdout>",
    "<bash-stderr>", "<bash-input>", "<task-notification>", "<bash-notification>", "<agent-notification>", "<fork-boilerplate>",
    "Stop hook feedback:", "Operation stopped by hook:", "This session is being continued from a previous conversation",
    "[Request interrupted by user", "<user-memory-input>", "<teammate-message", "Another Claude session sent a message:",
    "<command-name>", "<command-message>", "Warmup", "<system-reminder>", "<ide_", "<local-command",
)
CODEX_HARNESS = (
    "<user_shell_command>", "<user_instructions>", "<skill>", "<codex_internal_context", "<goal_context>", "<recommended_plugins>",
    "<permissions instructions>", "<collaboration_mode>", "<skills_instructions>", "<apps_instructions>", "<hook_prompt",
    "Warning: ", "<EXTERNAL SESSION IMPORTED>", "<external_", "<turn_aborted>", "<subagent_notification>", "<environment_context>",
    "# AGENTS.md", "<INSTRUCTIONS>",
)
SHOWN = set(filter(None, os.environ.get("SHOW", "").split(",")))  # classes whose every case is printed
ODD_BREAK = re.compile("[\u0085\u2028\u2029\x0b\x0c\x1c\x1d\x1e]|\r(?!\n)")


def run_oracle(home, out, day):
    os.environ["PROMPT_DIARY_CODEX_SESSIONS"] = str(home / "codex/sessions")
    os.environ["PROMPT_DIARY_CLAUDE_PROJECTS"] = str(home / "claude/projects")
    sys.argv = ["prompt-diary", "prepare", "--date", day["date"], "--timezone", day["timezone"], "--reports-root", str(out), "--quiet"]
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = oracle_main()
    except SystemExit as ended:
        code = ended.code
    except BaseException as error:  # a traceback is a way in which it fails
        return f"{type(error).__name__}: {error}"
    return said.getvalue().strip() if code else None


def run_boswell(binary, home, out, day):
    variables = {
        "HOME": str(home / "nobody"), "CLAUDE_CONFIG_DIR": str(home / "claude"), "CODEX_HOME": str(home / "codex"),
        "GROK_HOME": str(home / "grok"), "BOSWELL_HOME": str(home / "nobody/data"), "PATH": os.environ["PATH"],
    }
    words = ["prepare", "--date", day["date"], "--timezone", day["timezone"], "--reports-root", str(out), "--verbatim", "--quiet"]
    done = subprocess.run([binary, *words], env=variables, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr


def tree_of(out):
    """All files of a workspace and its audit, without the times of preparation."""
    tree = {}
    for base in ("work", "private"):
        for path in sorted((out / base).rglob("*")):
            if path.is_file() and path.name != "prepare.lock":
                tree[str(path.relative_to(out))] = path.read_bytes()
    for name, text in tree.items():
        if name.endswith(("metadata.json", "audit.manifest.json")):
            tree[name] = re.sub(rb'"prepared_at": "[^"]*"', b'"prepared_at": "-"', text)
        if name.endswith("audit.manifest.json"):
            told = json.loads(tree[name])
            for key in OURS_ALONE:
                told.pop(key, None)
            tree[name] = (json.dumps(told, indent=2, ensure_ascii=False) + "\n").encode()
    return tree


class Log:
    """One log, line by line, as physical lines and as the other tool splits them."""

    def __init__(self, path):
        self.bytes = pathlib.Path(path).read_bytes()
        text = self.bytes.decode("utf-8", errors="replace")
        self.has_mark = text.startswith("\ufeff")
        self.lines = text.split("\n")
        if self.lines and self.lines[-1] == "":
            self.lines.pop()
        self.is_odd = bool(ODD_BREAK.search(text))
        self.physical = []  # of each line that the other tool sees, the number of the physical one
        for number, line in enumerate(self.lines, 1):
            self.physical += [number] * max(1, len(line.splitlines()))
        self.records = [self.record(line) for line in self.lines]

    @staticmethod
    def record(line):
        try:
            found = json.loads(line.lstrip("\ufeff"))
            return found if isinstance(found, dict) else {}
        except ValueError:
            return {}

    def at(self, number):
        """The physical line of a line that the other tool names."""
        return self.physical[number - 1] if number and number <= len(self.physical) else number

    def blanks(self):
        return sum(not line.strip() for line in self.lines)

    def text(self, number):
        record = self.records[number - 1] if 0 < number <= len(self.records) else {}
        payload = record.get("payload") or {}
        content = (record.get("message") or {}).get("content") if record.get("type") == "user" else payload.get("content", payload.get("message"))
        if isinstance(content, list):
            texts = [item.get("text", "") for item in content if isinstance(item, dict)]
            return "\n".join(text for text in texts if isinstance(text, str)).strip()
        return content.strip() if isinstance(content, str) else ""

    def heads(self):
        return [(r.get("payload") or {}).get("id") for r in self.records if r.get("type") == "session_meta"]


def line_class(source, log, number):
    """Why a line is, or is not, where a turn begins or ends; nothing where both must agree."""
    if not 0 < number <= len(log.records):
        return None
    record, text = log.records[number - 1], log.text(number)
    if not log.lines[number - 1].strip():
        return "blank-lines"
    if not record:
        return "mended-lines"
    if number == 1 and log.has_mark:
        return "byte-order-mark"
    if source == "claude-code":
        return claude_class(log, record, text, number)
    return codex_class(log, record, text, number)


def claude_class(log, record, text, number):
    kind = record.get("type")
    content = (record.get("message") or {}).get("content")
    if kind in ("queue-operation", "attachment"):
        return "queued-prompts"
    if kind != "user":
        return None
    if record.get("isMeta") or record.get("isCompactSummary") or text.startswith(HARNESS):
        return "not-human"
    if (record.get("origin") or {}).get("kind") not in (None, "human") or record.get("promptSource") in ("system", "sdk"):
        return "not-human"
    if isinstance(content, list) and any(isinstance(c, dict) and c.get("type") == "tool_result" for c in content):
        return "denials" if "the user said:" in json.dumps(content) else "not-human"
    if record.get("isSidechain"):
        return "inline-sidechain"
    if not text:
        return "not-human"
    before = log.records[number - 2] if number > 1 else {}
    after = log.records[number] if number < len(log.records) else {}
    if "user" in (before.get("type"), after.get("type")):
        return "adjacent-prompts"
    uuids = [r.get("uuid") for r in log.records]
    return "copied-records" if record.get("uuid") and uuids.count(record["uuid"]) > 1 else None


def codex_class(log, record, text, number):
    kind, payload = record.get("type"), record.get("payload") or {}
    heads = log.heads()
    head = payload if kind == "session_meta" else {}
    first = next((r["payload"] for r in log.records if r.get("type") == "session_meta"), {})
    if len(set(heads)) > 1 or first.get("forked_from_id") or first.get("history_base"):
        return "forks"
    if (first.get("originator") or "").lower() == "prompt_diary" or "sdk" in (first.get("originator") or "").lower():
        return "not-human"
    if first.get("thread_source") not in (None, "user", "cli", "vscode", "exec"):
        return "not-human"
    if head and number > 1:
        return "set-up"
    if payload.get("type") in ("token_count", "thread_settings_applied", "item_completed") or kind in ("world_state", "compacted", "ghost_snapshot"):
        return "set-up"
    if kind == "event_msg" and payload.get("type") in ("turn_aborted", "thread_name_updated"):
        return "set-up"
    is_user = (kind == "response_item" and payload.get("role") == "user") or payload.get("type") == "user_message"
    if not is_user:
        return None
    if text.startswith("# AGENTS.md") and not text.startswith("# AGENTS.md instructions"):
        return "agents-md"
    if text.startswith(("<turn_aborted>", "<subagent_notification>")):
        return "reactions"
    if any(part.strip().startswith(CODEX_HARNESS) for part in [text, *text.split("\n")]):
        return "not-human"
    near = range(max(1, number - 40), min(len(log.records), number + 40) + 1)
    squeezed = "".join(text.split())
    if any(other != number and squeezed and "".join(log.text(other).split()) == squeezed for other in near):
        return "echoes"
    if any(is_prompt(log, other) for other in (number - 1, number + 1)):
        return "adjacent-prompts"
    return "echoes" if "## My request for Codex:" in text or "<image" in text or not text else None


def is_prompt(log, number):
    record = log.records[number - 1] if 0 < number <= len(log.records) else {}
    payload = record.get("payload") or {}
    return payload.get("type") == "user_message" or (record.get("type") == "response_item" and payload.get("role") == "user")


class Explained:
    """The differences of one day, by class."""

    def __init__(self):
        self.classes = collections.Counter()
        self.unexplained = []

    def add(self, name, what):
        if name and name in SHOWN:
            print(name, what)
        if name:
            self.classes[name] += 1
        else:
            self.unexplained.append(what)


def sessions_of(out):
    """The index rows by the path of their log, with the audit's entry."""
    found = {}
    for audit in (out / "private").rglob("audit.manifest.json"):
        for entry in json.loads(audit.read_text())["sessions"]:
            base = next((out / "work").glob("*")) / "projects" / entry["workspace_project_key"]
            rows = [json.loads(line) for line in (base / "sessions.index.jsonl").read_bytes().decode().split("\n") if line]
            row = next(row for row in rows if row["session_path"] == entry["workspace_session_path"])
            found[entry["source_path"]] = (row, entry)
    return found


def explain(theirs_out, ours_out, explained):
    theirs, ours = sessions_of(theirs_out), sessions_of(ours_out)
    for path in sorted(set(theirs) | set(ours)):
        log = Log(path)
        source = (theirs.get(path) or ours.get(path))[0]["source"]
        if path in theirs and path in ours:
            base = next((ours_out / "work").glob("*")) / "projects" / ours[path][1]["workspace_project_key"]
            explain_turns(log, source, theirs[path][0], ours[path][0], path, base, explained)
            explain_entry(log, theirs[path], ours[path], path, explained)
        elif path in theirs:
            for turn in theirs[path][0]["turns"]:
                start = log.at(turn["turn_start_line"])
                explained.add(line_class(source, log, start), f"{path}:{start}: only theirs, a whole session")
        else:
            starts = [turn["turn_start_line"] for turn in ours[path][0]["turns"]]
            name = "inline-sidechain" if any(r.get("isSidechain") for r in log.records) else None
            name = name or ("timestamps" if any(not_their_time(log, start) for start in starts) else None)
            name = name or next((c for c in (line_class(source, log, start) for start in starts) if c), None)
            explained.add(name, f"{path}: only ours, a whole session")


def not_their_time(log, number):
    at = log.records[number - 1].get("timestamp")
    return not isinstance(at, str) or at.endswith("z")


def end_class(source, log, end, own):
    """Why a turn ends elsewhere: somebody sees a trigger there, or what stands there sets up the next turn."""
    if own > end:
        # They end it before a line that we pass over: one that is no trigger, or that belongs to the turn.
        named = (line_class(source, log, line) for line in range(end + 1, own + 2))
        return next((name for name in named if name and name != "set-up"), None)
    if all(is_set_up(source, log, line) for line in range(own + 1, end + 1)):
        named = (line_class(source, log, line) for line in range(own + 1, end + 1))
        return next((name for name in named if name), None)
    # We begin a turn that they do not see; what sets it up stands before it.
    line = own + 1
    while line < end and is_set_up(source, log, line):
        line += 1
    return line_class(source, log, line)


def is_set_up(source, log, number):
    if not log.lines[number - 1].strip():
        return True
    record = log.records[number - 1]
    payload = record.get("payload") or {}
    if source != "codex" or not record:
        return False
    if record.get("type") in ("turn_context", "session_meta", "world_state") or payload.get("role") == "developer":
        return True
    if payload.get("type") in ("task_started", "turn_started", "token_count", "thread_settings_applied", "thread_name_updated"):
        return True
    return payload.get("role") == "user" and line_class(source, log, number) != "agents-md" and log.text(number).startswith(CODEX_HARNESS)


def explain_turns(log, source, theirs, ours, path, base, explained):
    child_heads = [Log(child).heads() for child in (base / ours["subagent_path"]).glob("*.jsonl")] if ours["subagent_path"] else []
    if log.is_odd:
        explained.add("physical-lines", "")
    their_turns = {log.at(turn["turn_start_line"]): turn for turn in theirs["turns"]}
    our_turns = {turn["turn_start_line"]: turn for turn in ours["turns"]}
    for start in sorted(set(their_turns) ^ set(our_turns)):
        whose = "theirs" if start in their_turns else "ours"
        name = line_class(source, log, start)
        if not name and not_their_time(log, start):
            name = "timestamps"
        explained.add(name, f"{path}:{start}: a turn of {whose} alone")
    for start in sorted(set(their_turns) & set(our_turns)):
        end, own = log.at(their_turns[start]["turn_end_line"]), our_turns[start]["turn_end_line"]
        if end != own:
            explained.add(end_class(source, log, end, own), f"{path}:{start}: ends at {end} for them, at {own} for us")
            continue
        def children(turn, at):
            return [
                (c["source_session_id"], c["agent_role"], c["session_file"], at(c["parent_spawn_line"]), at(c["parent_result_line"]))
                for c in turn["target_subagents"]
            ]
        if children(their_turns[start], log.at) != children(our_turns[start], lambda line: line):
            is_task = any('"name":"Task"' in line.replace(" ", "") for line in log.lines)
            is_fork = any(len(set(heads)) > 1 for heads in [log.heads(), *child_heads])
            explained.add("task-tool" if is_task else "forks" if is_fork else None, f"{path}:{start}: other children")


def explain_entry(log, theirs, ours, path, explained):
    (their_row, their_entry), (our_row, our_entry) = theirs, ours
    for key in their_entry:
        if their_entry[key] == our_entry[key] or key in ("target_start_line", "target_end_line"):
            continue
        name = None
        if key in ("source_session_id", "workspace_project_key", "canonical_project_root", "project_root_is_unknown") and len(log.heads()) > 1:
            name = "forks"
        elif log.is_odd and key in ("total_lines", "malformed_line_count", "untimestamped_record_count", "warnings", "first_event_at", "last_event_at", "non_monotonic_timestamp_count"):
            name = "physical-lines"
        elif log.has_mark:
            name = "byte-order-mark"
        elif key in ("malformed_line_count", "warnings") and log.blanks():
            name = "blank-lines"
        elif key in ("untimestamped_record_count", "warnings", "first_event_at", "last_event_at", "non_monotonic_timestamp_count"):
            name = "timestamps" if any(r and not_their_time(log, n) for n, r in enumerate(log.records, 1)) else None
        explained.add(name, f"{path}: {key}: {their_entry[key]!r} for them, {our_entry[key]!r} for us")


def described(tree, home):
    """A tree as one text: what is copied by its checksum, the rest in full."""
    parts = []
    for name, text in sorted(tree.items()):
        if "/sessions/" in name:
            parts.append(f"{name} sha256 {hashlib.sha256(text).hexdigest()}\n")
        else:
            parts.append(f"{name}\n{text.decode().replace(str(home), '[HOME]')}")
    return "".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("days", type=pathlib.Path)
    parser.add_argument("--boswell", required=True)
    parser.add_argument("--record", type=pathlib.Path)
    arguments = parser.parse_args()
    listed = pathlib.Path(__file__).parents[2] / "docs/diary-differences.md"
    known = set(re.findall(r"^### `([a-z-]+)`", listed.read_text(), re.M)) if listed.exists() else set()
    equal, refused, classes, failed, recorded = 0, 0, collections.Counter(), [], []
    homes = sorted((p for p in arguments.days.iterdir() if (p / "day.json").exists()), key=lambda p: (len(p.name), p.name))
    for home in homes:
        home = home.resolve()
        day = json.loads((home / "day.json").read_text())
        outs = [home / "out-theirs", home / "out-ours"]
        for out in outs:
            shutil.rmtree(out, ignore_errors=True)
        their_error = run_oracle(home, outs[0], day)
        our_error = run_boswell(arguments.boswell, home, outs[1], day)
        if our_error:
            failed.append(f"{home.name}: boswell failed: {our_error}")
            continue
        if their_error:
            refused += 1
            classes["refused-days"] += 1
            continue
        theirs, ours = tree_of(outs[0]), tree_of(outs[1])
        if arguments.record:
            recorded.append(f"=== {home.name} {day['date']} {day['timezone']}\n{described(theirs, home)}")
        if theirs == ours:
            equal += 1
            continue
        explained = Explained()
        explain(outs[0], outs[1], explained)
        for name in ("metadata.json",):
            path = f"work/{day['date']}/{name}"
            if theirs.get(path) != ours.get(path):
                explained.unexplained.append(f"{home}: {path} differs")
        if not explained.classes and not explained.unexplained:
            explained.unexplained.append(f"{home}: bytes differ: {[n for n in theirs.keys() | ours.keys() if theirs.get(n) != ours.get(n)]}")
        classes += explained.classes
        failed += explained.unexplained
    if arguments.record:
        arguments.record.write_text("".join(recorded))
    unlisted = sorted(set(classes) - known)
    print(f"{len(homes)} days: {equal} equal byte by byte, {refused} refused by the other tool, {len(failed)} differences unexplained")
    for name, count in classes.most_common():
        print(f"  {count:6} {name}{'' if name in known else '  (NOT LISTED)'}")
    for line in failed[:40]:
        print(line)
    return 1 if failed or unlisted else 0


if __name__ == "__main__":
    sys.exit(main())
