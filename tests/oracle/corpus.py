"""Makes days for `compare.py` out of real logs: `corpus.py LOGS DIR` makes one directory per date that stands in them.

`LOGS` has a directory `claude` and a directory `codex` with logs anywhere below. A log is named as its agent names it, by the id
in its records; everything else stays as it is.
"""

import json
import pathlib
import re
import sys

TIME = re.compile(rb'"timestamp": ?"(\d{4}-\d\d-\d\d)T')


def first(path, *names):
    for line in path.read_bytes().split(b"\n")[:200]:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        for name in names:
            found = record
            for key in name.split("."):
                found = found.get(key) if isinstance(found, dict) else None
            if isinstance(found, str) and found:
                return found
    return None


def place(agent, path, logs):
    if agent == "codex":
        name = first(path, "payload.id") or path.stem
        return f"codex/sessions/{path.parent.name}/rollout-2026-01-01T00-00-00-{name}-{abs(hash(str(path))) % 10**6}.jsonl"
    if path.name.startswith("agent-"):
        return f"claude/projects/{path.relative_to(logs).parts[1]}/{first(path, 'sessionId')}/subagents/{path.name}"
    name = first(path, "sessionId") or path.stem
    return f"claude/projects/{'-'.join(path.relative_to(logs).parts[1:-1])}/{name}.jsonl"


def main():
    logs, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    days = {}
    for agent in ("claude", "codex"):
        for path in sorted((logs / agent).rglob("*.jsonl")):
            dates = {found.decode() for found in TIME.findall(path.read_bytes())}
            for date in dates:
                days.setdefault(date, []).append((place(agent, path, logs), path))
    for number, (date, files) in enumerate(sorted(days.items())):
        home = out / str(number)
        for name in ("claude/projects", "codex/sessions"):
            (home / name).mkdir(parents=True, exist_ok=True)
        for name, path in files:
            to = home / name
            to.parent.mkdir(parents=True, exist_ok=True)
            if not to.exists():
                to.write_bytes(path.read_bytes())
        zone = ("UTC", "Asia/Shanghai", "America/New_York")[number % 3]
        (home / "day.json").write_text(json.dumps({"date": date, "timezone": zone}))
    print(f"{len(days)} days")


if __name__ == "__main__":
    main()
