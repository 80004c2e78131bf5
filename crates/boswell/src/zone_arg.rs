//! A time zone as the command line names it.

use jiff::tz::TimeZone;

use crate::context::Context;
use crate::error::CommandError;

/// The zone in which times are shown.
pub(crate) fn zone_of(context: &Context, name: Option<&str>) -> Result<TimeZone, CommandError> {
    let Some(name) = name else {
        return Ok(context.zone.clone());
    };
    TimeZone::get(name).map_err(|_| {
        CommandError::usage(format_args!("unknown time zone: `{name}`")).with_hint("name it like `Europe/Berlin`")
    })
}
