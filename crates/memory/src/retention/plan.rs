//! Plans what a retention run evicts, and why: a pure function of the candidates and the caps. It accesses neither
//! disk nor store nor clock, so that the plan that was shown is the plan that is applied.

use jiff::Timestamp;

pub use crate::store::EvictionCandidate;

const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

/// How much raw text may stay, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Above this size, sessions with a digest are evicted, oldest first.
    pub raw_soft_cap_bytes: u64,
    /// Raw text never exceeds this size.
    pub raw_hard_cap_bytes: u64,
    /// Maximum age of raw text, or `None` for no limit.
    pub raw_max_age_days: Option<u32>,
    /// If digests and other distilled data exceed this size, the user is warned. They are never deleted.
    pub distilled_cap_bytes: u64,
    /// The start of the current day in the user's time zone. Sessions that grew since then are evicted only above the
    /// hard cap.
    pub today_began: Timestamp,
}

/// Why a session is evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvictionReason {
    /// It is older than the maximum age. `days` is its age.
    Age { days: u32 },
    /// Raw text exceeds the soft cap, and this session is the oldest with a digest.
    Budget,
    /// It grew today, and raw text exceeds the hard cap.
    HardCap,
    /// Raw text exceeds the hard cap, and no digest of this session can be made. Its contents are lost.
    Overflow,
}

impl EvictionReason {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Age { .. } => "age",
            Self::Budget => "budget",
            Self::HardCap => "hard_cap",
            Self::Overflow => "overflow",
        }
    }

    /// Returns the name shown to users.
    fn label(self) -> &'static str {
        match self {
            Self::HardCap => "hard cap",
            Self::Age { .. } | Self::Budget | Self::Overflow => self.as_str(),
        }
    }
}

/// Counts evictions by their reasons: the most frequent first, by the words of [`EvictionReason::as_str`].
pub fn count_reasons(drops: &[PlannedEviction]) -> Vec<(&'static str, u64)> {
    count_by(drops, EvictionReason::as_str)
}

/// Returns why sessions are evicted, such as `by age`, or `2 by age, 1 by budget` if the reasons differ.
pub fn reasons_in_words(drops: &[PlannedEviction]) -> String {
    match count_by(drops, EvictionReason::label).as_slice() {
        [(only, _)] => format!("by {only}"),
        counts => {
            let counts: Vec<String> = counts
                .iter()
                .map(|(word, count)| format!("{count} by {word}"))
                .collect();
            counts.join(", ")
        }
    }
}

fn count_by(drops: &[PlannedEviction], word: fn(EvictionReason) -> &'static str) -> Vec<(&'static str, u64)> {
    let mut counts: Vec<(&'static str, u64)> = Vec::new();
    for drop in drops {
        let word = word(drop.reason);
        match counts.iter_mut().find(|(known, _)| *known == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    counts.sort_by_key(|(word, count)| (std::cmp::Reverse(*count), *word));
    counts
}

/// A session to evict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedEviction {
    pub session_uid: String,
    pub flavor: String,
    pub bytes: u64,
    pub reason: EvictionReason,
    /// `true` if its digest must be made first.
    pub needs_digest: bool,
    /// When the session was last read, as of the plan. If it has grown since, it stays.
    pub ingested_at: i64,
}

/// What is evicted, and what stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EvictionPlan {
    pub drops: Vec<PlannedEviction>,
    pub bytes_before: u64,
    pub bytes_after: u64,
    pub sessions_staying: u64,
    /// How many of the sessions that stay are protected by the user.
    pub sessions_kept: u64,
}

impl EvictionPlan {
    /// Returns the number of bytes that the plan frees.
    pub fn bytes_freed(&self) -> u64 {
        self.bytes_before - self.bytes_after
    }
}

/// Which session will be evicted next if nothing is read until then, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextEviction {
    pub session_uid: String,
    pub reason: EvictionReason,
    pub bytes: u64,
    /// When it is due. A sweep after that evicts it.
    pub at_micros: i64,
}

/// Plans what to evict. `unowned_bytes` belong to no candidate and cannot be evicted: for example, a session that is
/// being derived again.
pub fn plan_evictions(
    candidates: &[EvictionCandidate],
    unowned_bytes: u64,
    policy: &RetentionPolicy,
    now: Timestamp,
) -> EvictionPlan {
    let mut passes = EvictionPasses::new(candidates, unowned_bytes, policy, now);
    passes.evict_too_old();
    let (soft, hard) = (policy.raw_soft_cap_bytes, policy.raw_hard_cap_bytes);
    passes.evict_while_above(soft, EvictionReason::Budget, |one| one.is_old && one.is_analyzed);
    if passes.usage > hard {
        // Their digests can be made now, so they are treated like the others.
        passes.evict_while_above(soft, EvictionReason::Budget, |one| one.is_old && one.can_be_analyzed);
        passes.evict_while_above(hard, EvictionReason::HardCap, |one| {
            one.is_analyzed || one.can_be_analyzed
        });
        passes.evict_while_above(hard, EvictionReason::Overflow, |_| true);
    }
    passes.finish()
}

/// Returns what will be evicted next and when, even if nothing is due today.
pub fn find_next_eviction(
    candidates: &[EvictionCandidate],
    unowned_bytes: u64,
    policy: &RetentionPolicy,
    now: Timestamp,
) -> Option<NextEviction> {
    if let Some(drop) = plan_evictions(candidates, unowned_bytes, policy, now)
        .drops
        .into_iter()
        .next()
    {
        return Some(NextEviction {
            session_uid: drop.session_uid,
            reason: drop.reason,
            bytes: drop.bytes,
            at_micros: now.as_microsecond(),
        });
    }
    let days = policy.raw_max_age_days?;
    let oldest = candidates
        .iter()
        .filter(|one| one.analyzed_at.is_some() && !one.is_kept);
    let oldest = oldest.min_by_key(|one| (one.ingested_at, &one.session_uid))?;
    Some(NextEviction {
        session_uid: oldest.session_uid.clone(),
        reason: EvictionReason::Age { days },
        bytes: oldest.bytes,
        at_micros: oldest
            .ingested_at
            .saturating_add(i64::from(days).saturating_mul(DAY_MICROS)),
    })
}

/// A candidate with the properties that the passes check.
struct JudgedCandidate<'c> {
    candidate: &'c EvictionCandidate,
    is_analyzed: bool,
    can_be_analyzed: bool,
    /// `true` if the session did not grow today.
    is_old: bool,
    age_micros: i64,
    is_dropped: bool,
}

struct EvictionPasses<'c> {
    policy: &'c RetentionPolicy,
    /// In order of eviction.
    judged: Vec<JudgedCandidate<'c>>,
    usage: u64,
    plan: EvictionPlan,
}

impl<'c> EvictionPasses<'c> {
    fn new(
        candidates: &'c [EvictionCandidate],
        unowned_bytes: u64,
        policy: &'c RetentionPolicy,
        now: Timestamp,
    ) -> Self {
        let (now, today) = (now.as_microsecond(), policy.today_began.as_microsecond());
        let mut judged: Vec<JudgedCandidate<'_>> = candidates
            .iter()
            .map(|candidate| JudgedCandidate {
                candidate,
                is_analyzed: candidate.analyzed_at.is_some(),
                can_be_analyzed: candidate.analyzed_at.is_none() && !candidate.is_opaque,
                is_old: candidate.ended_at.unwrap_or(candidate.ingested_at) < today,
                age_micros: now.saturating_sub(candidate.ingested_at),
                is_dropped: false,
            })
            .collect();
        // If a session has no digest, the time of the last read is used in place of the digest's.
        judged.sort_by_key(|one| {
            let one = one.candidate;
            let analyzed = one.analyzed_at.unwrap_or(one.ingested_at);
            (analyzed, one.ended_at.unwrap_or(one.ingested_at), &one.session_uid)
        });
        let usage = unowned_bytes + candidates.iter().map(|one| one.bytes).sum::<u64>();
        Self {
            policy,
            judged,
            usage,
            plan: EvictionPlan {
                bytes_before: usage,
                ..EvictionPlan::default()
            },
        }
    }

    /// Evicts sessions that have a digest and are too old, whether or not there is room.
    fn evict_too_old(&mut self) {
        let Some(days) = self.policy.raw_max_age_days else {
            return;
        };
        let limit = i64::from(days).saturating_mul(DAY_MICROS);
        for at in 0..self.judged.len() {
            let one = &self.judged[at];
            if one.is_analyzed && one.is_old && one.age_micros > limit {
                let days = u32::try_from(one.age_micros / DAY_MICROS).unwrap_or(u32::MAX);
                self.evict(at, EvictionReason::Age { days });
            }
        }
    }

    /// Evicts the oldest eligible sessions until usage is at or below `cap`.
    fn evict_while_above(&mut self, cap: u64, reason: EvictionReason, may_go: impl Fn(&JudgedCandidate<'_>) -> bool) {
        for at in 0..self.judged.len() {
            if self.usage <= cap {
                return;
            }
            if self.judged[at].candidate.bytes > 0 && may_go(&self.judged[at]) {
                self.evict(at, reason);
            }
        }
    }

    fn evict(&mut self, at: usize, reason: EvictionReason) {
        let one = &mut self.judged[at];
        if one.is_dropped || one.candidate.is_kept || one.candidate.is_busy {
            return;
        }
        one.is_dropped = true;
        self.usage -= one.candidate.bytes;
        self.plan.drops.push(PlannedEviction {
            session_uid: one.candidate.session_uid.clone(),
            flavor: one.candidate.flavor.clone(),
            bytes: one.candidate.bytes,
            reason,
            needs_digest: one.can_be_analyzed,
            ingested_at: one.candidate.ingested_at,
        });
    }

    fn finish(self) -> EvictionPlan {
        let staying = || self.judged.iter().filter(|one| !one.is_dropped);
        EvictionPlan {
            bytes_after: self.usage,
            sessions_staying: staying().count() as u64,
            sessions_kept: staying().filter(|one| one.candidate.is_kept).count() as u64,
            ..self.plan
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TODAY: i64 = 1_000;

    fn policy(soft: u64, hard: u64, days: Option<u32>) -> RetentionPolicy {
        RetentionPolicy {
            raw_soft_cap_bytes: soft,
            raw_hard_cap_bytes: hard,
            raw_max_age_days: days,
            distilled_cap_bytes: u64::MAX,
            today_began: at_day(TODAY),
        }
    }

    fn at_day(day: i64) -> Timestamp {
        Timestamp::from_microsecond(day * DAY_MICROS).unwrap()
    }

    /// Parses `name ingested-analyzed-ended bytes flags`: days, `-` for none; flags `k`ept, `b`usy, `o`paque.
    fn candidate(text: &str) -> EvictionCandidate {
        let words: Vec<&str> = text.split(' ').collect();
        let day = |word: &str| (word != "-").then(|| word.parse::<i64>().unwrap() * DAY_MICROS);
        let flags = words.get(5).copied().unwrap_or_default();
        EvictionCandidate {
            session_uid: words[0].to_owned(),
            flavor: "claude".to_owned(),
            ingested_at: day(words[1]).unwrap(),
            analyzed_at: day(words[2]),
            ended_at: day(words[3]),
            bytes: words[4].parse().unwrap(),
            is_kept: flags.contains('k'),
            is_busy: flags.contains('b'),
            is_opaque: flags.contains('o'),
        }
    }

    fn check(policy: &RetentionPolicy, sessions: &[&str]) -> String {
        let candidates: Vec<EvictionCandidate> = sessions.iter().map(|text| candidate(text)).collect();
        let plan = plan_evictions(&candidates, 0, policy, at_day(TODAY));
        let drops = plan.drops.iter().map(|drop| {
            let first = if drop.needs_digest { " (digest first)" } else { "" };
            format!("{} {:?}{first}", drop.session_uid, drop.reason)
        });
        let drops: Vec<String> = drops.collect();
        format!("{} -> {}: {}", plan.bytes_before, plan.bytes_after, drops.join(", "))
    }

    #[test]
    fn young_sessions_below_the_caps_stay() {
        let plan = check(&policy(100, 200, Some(45)), &["a 980 980 970 60", "b 999 - 999 40"]);
        insta::assert_snapshot!(plan, @"100 -> 100: ");
    }

    #[test]
    fn analyzed_sessions_that_are_too_old_are_evicted_although_there_is_room() {
        let sessions = [
            "a 954 955 900 10",
            "b 955 955 900 10",
            "c 900 - 900 10",
            "d 900 901 900 10 k",
            "e 900 901 900 10 b",
        ];
        insta::assert_snapshot!(check(&policy(100, 200, Some(45)), &sessions), @"50 -> 40: a Age { days: 46 }");
        insta::assert_snapshot!(check(&policy(100, 200, None), &sessions), @"50 -> 50: ");
    }

    #[test]
    fn above_the_soft_cap_the_oldest_analyzed_sessions_are_evicted_until_it_is_met() {
        let sessions = [
            "c 990 992 980 40",
            "b 990 991 985 40",
            "a 990 991 980 40",
            "d 990 - 970 40",
            "e 990 980 970 40 k",
        ];
        insta::assert_snapshot!(check(&policy(120, 300, None), &sessions), @"200 -> 120: a Budget, b Budget");
        insta::assert_snapshot!(check(&policy(10, 300, None), &sessions), @"200 -> 80: a Budget, b Budget, c Budget");
    }

    #[test]
    fn sessions_of_today_are_evicted_only_above_the_hard_cap_and_only_down_to_it() {
        let sessions = ["a 1000 1000 1000 40", "b 1000 1000 1000 40", "c 990 - 1001 40"];
        insta::assert_snapshot!(check(&policy(10, 120, None), &sessions), @"120 -> 120: ");
        insta::assert_snapshot!(check(&policy(10, 100, None), &sessions), @"120 -> 80: c HardCap (digest first)");
    }

    #[test]
    fn above_the_hard_cap_sessions_are_analyzed_and_evicted_down_to_the_soft_cap() {
        let sessions = ["a 990 - 980 40", "b 991 - 981 40", "c 992 - 982 40", "d 993 - 983 40"];
        insta::assert_snapshot!(check(&policy(50, 150, None), &sessions), @"160 -> 40: a Budget (digest first), b Budget (digest first), c Budget (digest first)");
    }

    #[test]
    fn sessions_that_cannot_be_analyzed_are_lost_last_and_oldest_first() {
        let sessions = [
            "a 990 - 980 60 o",
            "b 989 - 988 60 o",
            "c 992 - 982 60",
            "d 993 - 983 60 ok",
        ];
        insta::assert_snapshot!(check(&policy(50, 130, None), &sessions), @"240 -> 120: c Budget (digest first), b Overflow");
        let sessions = ["a 990 - 980 60 o", "b 1000 1000 1000 60"];
        insta::assert_snapshot!(check(&policy(50, 100, None), &sessions), @"120 -> 60: b HardCap");
    }

    #[test]
    fn the_next_eviction_is_due_now_or_when_a_session_is_too_old() {
        let candidates = [
            "a 980 981 970 60",
            "b 970 - 960 40",
            "c 975 999 960 40",
            "d 960 970 960 1 k",
        ]
        .map(candidate);
        let next_eviction = |policy: &RetentionPolicy| {
            let next = find_next_eviction(&candidates, 0, policy, at_day(TODAY))?;
            Some((next.session_uid, next.at_micros / DAY_MICROS))
        };
        assert_eq!(
            next_eviction(&policy(1_000, 2_000, Some(45))),
            Some(("c".to_owned(), 1_020))
        );
        assert_eq!(
            next_eviction(&policy(100, 2_000, Some(45))),
            Some(("a".to_owned(), TODAY))
        );
        assert_eq!(next_eviction(&policy(1_000, 2_000, None)), None);
    }
}
