//! Films of synthetic sessions: what ffprobe reports about them, that they are reproducible, and that text of a log cannot control
//! the player.

use std::io::{Cursor, Write};

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use transcript::Agent;

use super::*;

/// Builds a log of Claude Code. Each record follows the previous one after a given number of seconds.
#[derive(Default)]
struct Log {
    lines: String,
    seconds: i64,
    records: usize,
}

impl Log {
    fn push(&mut self, kind: &str, after_s: i64, message: &Value) -> &mut Self {
        self.seconds += after_s;
        let at = jiff::Timestamp::new(1_775_000_000 + self.seconds, 0).unwrap();
        let number = self.records;
        self.records += 1;
        let record = json!({
            "type": kind, "uuid": format!("u{number}"), "sessionId": "s", "cwd": "/home/ada/app", "gitBranch": "main",
            "version": "2.1.0", "timestamp": at.to_string(), "message": message,
        });
        self.lines += &format!("{record}\n");
        self
    }

    fn prompt(&mut self, after_s: i64, text: &str) -> &mut Self {
        self.push("user", after_s, &json!({ "role": "user", "content": text }))
    }

    fn answer(&mut self, text: &str) -> &mut Self {
        let id = format!("m{}", self.records);
        self.push(
            "assistant",
            1,
            &json!({ "id": id, "content": [{ "type": "text", "text": text }] }),
        )
    }

    fn call(&mut self, tool: &str, input: &Value, output: &str) -> &mut Self {
        let id = format!("c{}", self.records);
        let call = json!({ "type": "tool_use", "id": id, "name": tool, "input": input });
        self.push("assistant", 1, &json!({ "id": format!("m{id}"), "content": [call] }));
        let result = json!({ "type": "tool_result", "tool_use_id": id, "content": output });
        self.push("user", 2, &json!({ "role": "user", "content": [result] }))
    }

    fn transcript(&self) -> Transcript {
        let read = Transcript::from_log(Agent::Claude, "s.jsonl", self.lines.as_bytes(), TimeZone::UTC);
        read.unwrap().unwrap()
    }
}

fn session() -> Transcript {
    let mut log = Log::default();
    log.prompt(0, "make the tests green")
        .call(
            "Bash",
            &json!({ "command": "cargo test" }),
            "running 2 tests\n\u{1b}[32mok\u{1b}[0m 漢字 🚀",
        )
        .call(
            "Edit",
            &json!({ "file_path": "/home/ada/app/a.rs", "old_string": "a\nb", "new_string": "a\nc" }),
            "done",
        )
        .answer("Green.\n\n- `a.rs` is **mended**")
        .prompt(600, "und nun auf Deutsch: größer")
        .answer("Fertig.");
    log.transcript()
}

const SMALL: FilmOptions = FilmOptions {
    width: 480,
    height: 270,
    fps: 10,
    speed: 2_000,
    max_duration_ms: 600_000,
    theme: Theme::Dark,
    depth: MarkdownDepth::Tools,
};

fn made_mp4(transcript: &Transcript, options: &FilmOptions) -> (Film, Vec<u8>) {
    let mut out = Cursor::new(Vec::new());
    let film = mp4(transcript, options, &mut out, &mut |_, _| {}).unwrap();
    (film, out.into_inner())
}

fn made_gif(transcript: &Transcript, options: &FilmOptions) -> (Film, Vec<u8>) {
    let mut out = Vec::new();
    let film = gif(transcript, options, &mut out, &mut |_, _| {}).unwrap();
    (film, out)
}

fn made_cast(transcript: &Transcript, options: &FilmOptions) -> String {
    let mut out = Vec::new();
    cast(transcript, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Returns the output of ffprobe for a file, or `None` if ffprobe is not installed.
fn probed(bytes: &[u8], arguments: &[&str]) -> Option<Value> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    let path = file.path().to_str().unwrap();
    let report = ffmpeg::run(
        "ffprobe",
        &[&["-v", "error", "-of", "json"], arguments, &[path]].concat(),
    )?;
    Some(serde_json::from_slice(&report).unwrap())
}

#[test]
fn ffprobe_reads_codec_frames_duration_and_chapters() {
    let (film, bytes) = made_mp4(&session(), &SMALL);
    let Some(report) = probed(
        &bytes,
        &["-show_streams", "-show_format", "-show_chapters", "-count_frames"],
    ) else {
        return;
    };
    let stream = &report["streams"][0];
    assert_eq!(stream["codec_name"], "h264");
    assert_eq!(stream["profile"], "Constrained Baseline");
    assert_eq!((&stream["width"], &stream["height"]), (&json!(480), &json!(270)));
    assert_eq!(stream["color_space"], "bt709");
    assert_eq!(stream["avg_frame_rate"], "10/1");
    let number = |value: &Value| value.as_str().unwrap().parse::<f64>().unwrap();
    assert_eq!(number(&stream["nb_frames"]), film.frames as f64);
    assert_eq!(number(&stream["nb_read_frames"]), film.frames as f64);
    assert_eq!(number(&report["format"]["duration"]), film.frames as f64 / 10.0);
    assert_eq!(report["format"]["tags"]["title"], "make the tests green");
    let chapters: Vec<&str> = report["chapters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["tags"]["title"].as_str().unwrap())
        .collect();
    assert_eq!(
        chapters,
        [
            "make the tests green",
            "1 · make the tests green",
            "2 · und nun auf Deutsch: größer"
        ]
    );
    let starts: Vec<f64> = report["chapters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| number(&one["start_time"]))
        .collect();
    let expected: Vec<f64> = film
        .chapters
        .iter()
        .map(|chapter| chapter.at_ms as f64 / 1_000.0)
        .collect();
    assert_eq!(starts, expected);
}

#[test]
fn each_chapter_starts_with_a_key_frame_and_the_index_comes_first() {
    let (film, bytes) = made_mp4(&session(), &SMALL);
    let place = |name: &[u8]| bytes.windows(4).position(|window| window == name);
    assert!(place(b"moov") < place(b"mdat"));
    let Some(report) = probed(
        &bytes,
        &["-select_streams", "v", "-show_entries", "packet=pts_time,flags"],
    ) else {
        return;
    };
    let packets = report["packets"].as_array().unwrap();
    let keys: Vec<f64> = packets
        .iter()
        .filter(|packet| packet["flags"].as_str().unwrap().starts_with('K'))
        .map(|packet| packet["pts_time"].as_str().unwrap().parse().unwrap())
        .collect();
    for chapter in &film.chapters {
        let at = chapter.at_ms as f64 / 1_000.0;
        assert!(keys.iter().any(|key| (key - at).abs() < 0.11), "{at} of {keys:?}");
    }
}

#[test]
fn the_same_session_gives_the_same_bytes() {
    assert!(made_mp4(&session(), &SMALL) == made_mp4(&session(), &SMALL));
    assert!(made_gif(&session(), &SMALL) == made_gif(&session(), &SMALL));
    assert!(made_cast(&session(), &SMALL) == made_cast(&session(), &SMALL));
}

#[test]
fn a_gif_has_the_duration_of_the_film_and_loops() {
    let (film, bytes) = made_gif(&session(), &SMALL);
    let mut decoder = ::gif::DecodeOptions::new().read_info(bytes.as_slice()).unwrap();
    assert_eq!((decoder.width(), decoder.height()), (480, 270));
    let mut hundredths = 0;
    let mut frames = 0;
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        assert!(frames > 0 || (frame.width, frame.height) == (480, 270));
        hundredths += u64::from(frame.delay);
        frames += 1;
    }
    assert!(frames > 20 && frames <= film.frames, "{frames}");
    assert_eq!(hundredths, film.frames * 10);
    assert_eq!(decoder.repeat(), ::gif::Repeat::Infinite);
}

/// Returns the events of a cast after checking that every escape sequence is one that we write.
fn checked_cast(text: &str) -> Vec<(f64, String, String)> {
    let mut lines = text.lines();
    let head: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(head["version"], 2);
    assert!(head["width"].as_u64().unwrap() >= 20 && head["height"].as_u64().unwrap() >= 4);
    let events: Vec<(f64, String, String)> = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut last = 0.0;
    for (at, kind, data) in &events {
        assert!(*at >= last, "{at} after {last}");
        last = *at;
        match kind.as_str() {
            "m" => assert!(!data.contains(char::is_control), "{data:?}"),
            _ => check_codes(data),
        }
    }
    events
}

fn check_codes(data: &str) {
    let mut rest = data;
    while let Some(at) = rest.find(|c: char| c.is_control()) {
        let code = rest[at..]
            .strip_prefix("\u{1b}[")
            .unwrap_or_else(|| panic!("{:?}", &rest[at..]));
        let end = code
            .find(|c: char| !(c.is_ascii_digit() || c == ';' || c == '?'))
            .unwrap();
        let (numbers, last) = (&code[..end], code[end..].chars().next().unwrap());
        let is_ours = match last {
            'm' | 'H' | 'S' | 'r' => !numbers.contains('?'),
            'K' => numbers.is_empty(),
            'J' => numbers == "2",
            'l' | 'h' => numbers == "?25",
            _ => false,
        };
        assert!(is_ours, "{numbers}{last}");
        rest = &code[end + 1..];
    }
}

#[test]
fn a_cast_contains_chapter_markers_and_the_session() {
    let events = checked_cast(&made_cast(&session(), &SMALL));
    let markers: Vec<&str> = events
        .iter()
        .filter(|(_, kind, _)| kind == "m")
        .map(|(_, _, data)| data.as_str())
        .collect();
    assert_eq!(
        markers,
        [
            "make the tests green",
            "1 · make the tests green",
            "2 · und nun auf Deutsch: größer"
        ]
    );
    let shown: String = events.iter().map(|(_, _, data)| data.as_str()).collect();
    for word in ["cargo test", "漢字", "🚀", "mended", "tests passed"] {
        assert!(shown.contains(word), "{word}");
    }
    // A long wait is shortened, and a caption says so.
    assert!(shown.contains("9 min 58 s cut"), "{shown}");
}

/// Texts that try to control a terminal or to break the layout.
fn hostile() -> Vec<String> {
    let texts = [
        "\u{1b}[2J\u{1b}]0;title\u{7}\u{1b}[31mred\u{1b}[999999999999m\u{1b}[38;5;999m\u{9b}1m\u{1b}P1$q\u{1b}\\\u{1b}[?1049h",
        "photo\u{202e}gnp.exe \u{2066}x\u{2069} \u{200f}",
        "a\u{0}b\u{8}c\u{7f}d\u{85}e\r\nf\rg\u{c}h\u{b}i",
        "\u{200b}\u{200c}\u{200d}\u{feff}\u{2060}\u{e0041}\u{fe0f}\u{3164}\u{115f}",
        "👨‍👩‍👧‍👦🏳️‍🌈🇩🇪🇩e\u{20e3}1\u{fe0f}\u{20e3}🧑🏽‍🚀",
        "\u{10ffff}\u{e000}\u{fffe}\u{1f9ff}ﷺ𒐫𝕳",
        "مرحبا שלום नमस्ते ไทย 한국어 漢字 ｆｕｌｌ",
        "```\n**`*`**``` # - | > ~~~",
        "",
        "\n\n\n\t\t\t\n",
    ];
    let mut texts: Vec<String> = texts.map(str::to_owned).into();
    texts.push(format!("a{}", "\u{301}\u{30a}".repeat(5_000)));
    texts.push("x".repeat(400_000));
    texts.push("漢".repeat(50_000));
    texts.push("👨‍👩‍👧‍👦".repeat(5_000));
    texts.push("line\n".repeat(50_000));
    texts
}

fn hostile_session() -> Transcript {
    let mut log = Log::default();
    for text in hostile() {
        log.prompt(100_000, &text)
            .call("Bash", &json!({ "command": text }), &text)
            .call(
                "Edit",
                &json!({ "file_path": text, "old_string": text, "new_string": "b" }),
                &text,
            )
            .call(
                &text,
                &json!({ "query": text, "todos": [{ "content": text, "status": "done" }] }),
                &text,
            )
            .call(
                "TodoWrite",
                &json!({ "todos": [{ "content": text, "status": text }, text] }),
                &text,
            )
            .answer(&text);
    }
    log.transcript()
}

#[test]
fn control_characters_of_a_hostile_log_are_drawn_not_executed() {
    let transcript = hostile_session();
    let options = FilmOptions {
        max_duration_ms: 20_000,
        fps: 4,
        ..SMALL
    };
    for depth in [
        MarkdownDepth::Prompts,
        MarkdownDepth::Turns,
        MarkdownDepth::Tools,
        MarkdownDepth::Full,
    ] {
        let text = made_cast(&transcript, &FilmOptions { depth, ..options });
        checked_cast(&text);
        assert!(!text.contains(['\u{202e}', '\u{2066}', '\u{1b}', '\u{0}']), "{depth:?}");
    }
    let (film, bytes) = made_mp4(
        &transcript,
        &FilmOptions {
            depth: MarkdownDepth::Full,
            ..options
        },
    );
    assert!(film.duration_ms <= 20_000);
    for chapter in &film.chapters {
        assert!(
            !chapter.title.contains(|c: char| c.is_control() || c == '\u{202e}'),
            "{chapter:?}"
        );
    }
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&bytes).unwrap();
    let path = file.path().to_str().unwrap();
    ffmpeg::run("ffmpeg", &["-v", "error", "-xerror", "-i", path, "-f", "null", "-"]);
    made_gif(&transcript, &options);
}

#[test]
fn a_long_film_is_sped_up_and_then_cut_with_a_note() {
    let mut log = Log::default();
    for turn in 0..60 {
        log.prompt(5, &format!("question {turn}"));
        for step in 0..5 {
            log.call(
                "Bash",
                &json!({ "command": format!("echo {step}") }),
                "some\noutput\nhere",
            );
        }
        log.answer(&"words of an answer ".repeat(40));
    }
    let transcript = log.transcript();
    let cast_of = |max_duration_ms, speed| {
        let mut out = Vec::new();
        let options = FilmOptions {
            max_duration_ms,
            speed,
            ..SMALL
        };
        let film = cast(&transcript, &options, &mut out).unwrap();
        (film, String::from_utf8(out).unwrap())
    };
    let (whole, _) = cast_of(3_600_000, 1_000);
    assert_eq!((whole.cuts.steps, whole.chapters.len(), whole.speed), (0, 61, 1_000));
    // Twice the speed gives half the duration.
    let (fast, _) = cast_of(3_600_000, 2_000);
    assert!(
        fast.duration_ms.abs_diff(whole.duration_ms / 2) < 10,
        "{} {}",
        fast.duration_ms,
        whole.duration_ms
    );
    // A little too long: it is played faster, and nothing is omitted.
    let (squeezed, _) = cast_of(whole.duration_ms * 2 / 3, 1_000);
    assert_eq!(squeezed.cuts.steps, 0);
    assert!(squeezed.duration_ms <= whole.duration_ms * 2 / 3 && squeezed.speed > 1_000);
    // Far too long: the middle is omitted, and a row says so.
    let (short, text) = cast_of(30_000, 1_000);
    assert!(
        short.duration_ms <= 30_000 && short.duration_ms > 15_000,
        "{}",
        short.duration_ms
    );
    assert!(
        short.cuts.turns.len() > 10 && !short.cuts.turns.contains(&1) && !short.cuts.turns.contains(&60),
        "{:?}",
        short.cuts
    );
    assert!(text.contains("left out"));
}

#[test]
fn the_middle_of_an_endless_turn_is_omitted() {
    let mut log = Log::default();
    log.prompt(0, "go on for ever");
    for step in 0..2_000 {
        log.call("Bash", &json!({ "command": format!("echo number-{step}-") }), "output");
    }
    log.answer("the very end");
    let transcript = log.transcript();
    let mut out = Vec::new();
    let film = cast(
        &transcript,
        &FilmOptions {
            max_duration_ms: 30_000,
            ..SMALL
        },
        &mut out,
    )
    .unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        film.duration_ms <= 30_000 && film.cuts.steps > 1_000 && film.cuts.turns.is_empty(),
        "{:?}",
        film.cuts
    );
    for word in [
        "go on for ever",
        "number-1-",
        "number-1999-",
        "the very end",
        "steps left out",
    ] {
        assert!(text.contains(word), "{word}");
    }
}

#[test]
fn themes_differ_and_odd_sizes_work() {
    let (_, dark) = made_mp4(&session(), &SMALL);
    let (_, light) = made_mp4(
        &session(),
        &FilmOptions {
            theme: Theme::Light,
            ..SMALL
        },
    );
    assert!(dark != light);
    for (width, height) in [(320, 180), (362, 640), (1_000, 182)] {
        let options = FilmOptions {
            width,
            height,
            fps: 2,
            ..SMALL
        };
        let (film, bytes) = made_mp4(&session(), &options);
        let Some(report) = probed(&bytes, &["-show_streams", "-count_frames"]) else {
            return;
        };
        assert_eq!(
            (&report["streams"][0]["width"], &report["streams"][0]["height"]),
            (&json!(width), &json!(height))
        );
        assert_eq!(report["streams"][0]["nb_read_frames"], film.frames.to_string());
    }
}

/// A writer that fails with "storage full" after `room` bytes.
struct Full {
    room: usize,
    at: Cursor<Vec<u8>>,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.room = self.room.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        self.at.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Full {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.at.seek(to)
    }
}

#[test]
fn a_full_disk_is_an_error_not_a_panic() {
    let transcript = session();
    for room in [0, 100, 5_000, 20_000] {
        let full = || Full {
            room,
            at: Cursor::default(),
        };
        assert!(mp4(&transcript, &SMALL, &mut full(), &mut |_, _| {}).is_err());
        assert!(gif(&transcript, &SMALL, &mut full(), &mut |_, _| {}).is_err());
        assert!(room > 5_000 || cast(&transcript, &SMALL, &mut full()).is_err());
    }
}
