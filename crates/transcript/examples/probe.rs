//! scratch
use std::io::Write;
use transcript::*;
fn main() {
    let mut out = std::io::BufWriter::new(std::io::stdout());
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path).unwrap();
        let mut state = State::new(Agent::Claude, Origin::of(&path)).unwrap();
        let delta = state.resume(&mut Lines::new(&bytes[..])).unwrap();
        let mut r = Reading::default(); r.apply(delta); r.settle();
        for e in &r.events {
            if e.actor == Actor::Human { writeln!(out, "H\t{path}\t{}\t{}\t{}", e.line, if e.trigger {"trigger"} else {"human"}, e.summary.chars().take(40).collect::<String>().replace(['\n','\t'], " ")).unwrap(); }
        }
        let mut t = Tokens::default(); let mut n=0;
        let calls: Vec<&Call> = r.calls.iter().collect();
        for (c, k) in calls.iter().zip(counted(&calls)) { if k { n+=1; t.input+=c.tokens.input; t.output+=c.tokens.output; t.cache_read+=c.tokens.cache_read; t.cache_write_5m+=c.tokens.cache_write_5m; t.cache_write_1h+=c.tokens.cache_write_1h; } }
        writeln!(out, "T\t{path}\t{n}\t{}\t{}\t{}\t{}\t{}", t.input, t.output, t.cache_read, t.cache_write_5m, t.cache_write_1h).unwrap();
        writeln!(out, "F\t{path}\t{:?}\tstate {}", r.fates, state.to_bytes().len()).unwrap();
        for (u, n) in &r.unknown { writeln!(out, "U\t{path}\t{:?}\t{}\t{n}", u.version, u.record).unwrap(); }
        for f in &r.faults { writeln!(out, "X\t{path}\t{}\t{}\t{}", f.line, f.mended, f.reason).unwrap(); }
    }
}
