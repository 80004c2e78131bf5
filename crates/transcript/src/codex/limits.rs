//! The rate limits of the account, which Codex logs with its token counts: how much of each window is used, and when
//! it resets.

use jiff::{SignedDuration, Timestamp};

use crate::session::{RateLimit, RateLimits};
use crate::wire::{RawJson, WireNumber, WireObject, wire};

/// Parses the limits in a record written at `ts`. Returns `None` if there are none.
pub(super) fn parse(raw: RawJson<'_>, ts: Option<Timestamp>) -> Option<RateLimits> {
    let record: LimitsRecord<'_> = serde_json::from_str(raw.json()).ok()?;
    let flat = |used: RawJson<'_>, minutes: WireNumber| limit(used, minutes, None);
    let window = |window_record: &WireObject<LimitRecord<'_>>| {
        let window = window_record.0.as_ref()?;
        let at = window
            .resets_at
            .0
            .and_then(|at| Timestamp::from_second(i64::try_from(at).ok()?).ok());
        // Earlier versions logged the time until the reset.
        let relative_reset = || {
            let seconds = i64::try_from(window.resets_in_seconds.0?).ok()?;
            ts?.checked_add(SignedDuration::from_secs(seconds)).ok()
        };
        limit(window.used_percent, window.window_minutes, at.or_else(relative_reset))
    };
    let limits = RateLimits {
        told_at: ts,
        primary: window(&record.primary).or_else(|| flat(record.primary_used, record.primary_minutes)),
        secondary: window(&record.secondary).or_else(|| flat(record.secondary_used, record.secondary_minutes)),
    };
    (limits.primary.is_some() || limits.secondary.is_some()).then_some(limits)
}

fn limit(used: RawJson<'_>, minutes: WireNumber, resets_at: Option<Timestamp>) -> Option<RateLimit> {
    let percent: f64 = used.json().parse().ok()?;
    Some(RateLimit {
        used_basis_points: (percent.clamp(0.0, 1_000_000.0) * 100.0).round() as u32,
        window_minutes: minutes.0,
        resets_at,
    })
}

wire! {
    struct LimitsRecord<'a> {
        primary: WireObject<LimitRecord<'a>> = "primary",
        secondary: WireObject<LimitRecord<'a>> = "secondary",
        // The first version had no nested objects.
        primary_used: RawJson<'a> = "primary_used_percent",
        primary_minutes: WireNumber = "primary_window_minutes",
        secondary_used: RawJson<'a> = "secondary_used_percent",
        secondary_minutes: WireNumber = "secondary_window_minutes",
    }
}

wire! {
    struct LimitRecord<'a> {
        used_percent: RawJson<'a> = "used_percent",
        window_minutes: WireNumber = "window_minutes",
        resets_at: WireNumber = "resets_at",
        resets_in_seconds: WireNumber = "resets_in_seconds",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) -> String {
        let raw: Box<serde_json::value::RawValue> = serde_json::from_str(json).unwrap();
        let limits = parse(RawJson(Some(&raw)), "2026-04-01T09:00:00Z".parse().ok());
        let print = |limit: Option<RateLimit>| match limit {
            Some(limit) => format!(
                "{} of {:?} until {}",
                limit.used_basis_points,
                limit.window_minutes,
                limit.resets_at.map(|at| at.to_string()).unwrap_or_default()
            ),
            None => "-".to_owned(),
        };
        limits.map_or("none".to_owned(), |limits| {
            format!("{}; {}", print(limits.primary), print(limits.secondary))
        })
    }

    #[test]
    fn every_version_gives_the_same_limits() {
        let newest = r#"{"limit_id":"codex","primary":{"used_percent":12.5,"window_minutes":300,"resets_at":1775041200},"secondary":null,"plan_type":"pro"}"#;
        assert_eq!(check(newest), "1250 of Some(300) until 2026-04-01T11:00:00Z; -");
        let older = r#"{"primary":{"used_percent":3,"window_minutes":299,"resets_in_seconds":60},"secondary":{"used_percent":40.0,"window_minutes":10079}}"#;
        assert_eq!(
            check(older),
            "300 of Some(299) until 2026-04-01T09:01:00Z; 4000 of Some(10079) until "
        );
        let oldest = r#"{"primary_used_percent":1.0,"primary_window_minutes":300,"secondary_used_percent":2.0,"secondary_window_minutes":10080}"#;
        assert_eq!(check(oldest), "100 of Some(300) until ; 200 of Some(10080) until ");
        for nothing in [
            "null",
            "{}",
            "7",
            r#"{"primary":{"used_percent":"much"}}"#,
            r#"{"primary":[]}"#,
        ] {
            assert_eq!(check(nothing), "none", "{nothing}");
        }
    }
}
