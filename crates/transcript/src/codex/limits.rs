//! The rate limits of the account, which Codex logs with its token counts: how much of each window is used, and when
//! it resets.

use jiff::{SignedDuration, Timestamp};

use crate::session::{RateLimit, RateLimits};
use crate::wire::{Maybe, Number, Raw, wire};

/// Parses the limits in a record written at `ts`. Returns `None` if there are none.
pub(super) fn of(raw: Raw<'_>, ts: Option<Timestamp>) -> Option<RateLimits> {
    let told: Limits<'_> = serde_json::from_str(raw.json()).ok()?;
    let flat = |used: Raw<'_>, minutes: Number| limit(used, minutes, None);
    let window = |limit_told: &Maybe<Limit<'_>>| {
        let told = limit_told.0.as_ref()?;
        let at = told
            .resets_at
            .0
            .and_then(|at| Timestamp::from_second(i64::try_from(at).ok()?).ok());
        // Earlier versions logged the time until the reset.
        let in_a_while = || {
            let seconds = i64::try_from(told.resets_in_seconds.0?).ok()?;
            ts?.checked_add(SignedDuration::from_secs(seconds)).ok()
        };
        limit(told.used_percent, told.window_minutes, at.or_else(in_a_while))
    };
    let limits = RateLimits {
        told_at: ts,
        primary: window(&told.primary).or_else(|| flat(told.primary_used, told.primary_minutes)),
        secondary: window(&told.secondary).or_else(|| flat(told.secondary_used, told.secondary_minutes)),
    };
    (limits.primary.is_some() || limits.secondary.is_some()).then_some(limits)
}

fn limit(used: Raw<'_>, minutes: Number, resets_at: Option<Timestamp>) -> Option<RateLimit> {
    let percent: f64 = used.json().parse().ok()?;
    Some(RateLimit {
        used_basis_points: (percent.clamp(0.0, 1_000_000.0) * 100.0).round() as u32,
        window_minutes: minutes.0,
        resets_at,
    })
}

wire! {
    struct Limits<'a> {
        primary: Maybe<Limit<'a>> = "primary",
        secondary: Maybe<Limit<'a>> = "secondary",
        // The first version had no nested objects.
        primary_used: Raw<'a> = "primary_used_percent",
        primary_minutes: Number = "primary_window_minutes",
        secondary_used: Raw<'a> = "secondary_used_percent",
        secondary_minutes: Number = "secondary_window_minutes",
    }
}

wire! {
    struct Limit<'a> {
        used_percent: Raw<'a> = "used_percent",
        window_minutes: Number = "window_minutes",
        resets_at: Number = "resets_at",
        resets_in_seconds: Number = "resets_in_seconds",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) -> String {
        let raw: Box<serde_json::value::RawValue> = serde_json::from_str(json).unwrap();
        let limits = of(Raw(Some(&raw)), "2026-04-01T09:00:00Z".parse().ok());
        let told = |limit: Option<RateLimit>| match limit {
            Some(limit) => format!(
                "{} of {:?} until {}",
                limit.used_basis_points,
                limit.window_minutes,
                limit.resets_at.map(|at| at.to_string()).unwrap_or_default()
            ),
            None => "-".to_owned(),
        };
        limits.map_or("none".to_owned(), |limits| {
            format!("{}; {}", told(limits.primary), told(limits.secondary))
        })
    }

    #[test]
    fn every_version_tells_the_same() {
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
