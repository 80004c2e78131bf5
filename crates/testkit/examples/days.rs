//! Writes synthetic days to disk, for comparisons with other programs: `days DIR FIRST COUNT none|all`.
//!
//! Each day is a directory named by its seed, with `claude/`, `codex/` and a `day.json` that contains the date and the zone.

use std::fs;
use std::io;
use std::path::Path;

use testkit::days::{Traps, day};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, first, count, traps] = arguments.as_slice() else {
        return Err(io::Error::other("usage: days DIR FIRST COUNT none|all"));
    };
    let number = |text: &str| text.parse::<u64>().map_err(io::Error::other);
    let traps = if traps == "all" { Traps::All } else { Traps::None };
    for seed in number(first)?..number(first)? + number(count)? {
        let made = day(seed, traps);
        let home = Path::new(directory).join(seed.to_string());
        for name in ["claude/projects", "codex/sessions"] {
            fs::create_dir_all(home.join(name))?;
        }
        for (path, bytes) in &made.files {
            let path = home.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&home))?;
            fs::write(path, bytes)?;
        }
        let about = format!("{{\"date\":\"{}\",\"timezone\":\"{}\"}}\n", made.date, made.timezone);
        fs::write(home.join("day.json"), about)?;
    }
    Ok(())
}
