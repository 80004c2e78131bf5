//! Conversion of values to and from PostgreSQL.
//!
//! Numbers have several widths: a count is wider than a literal, and a sum of wide numbers is wider still. The
//! modules above use only `i64`.

use std::error::Error;

use bytes::{BufMut, BytesMut};
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::ServerError;
use crate::store::StoreError;
use crate::store::engine::Value;

/// Replacement for NUL characters, which PostgreSQL cannot store in text.
const NUL: &str = "\u{2400}";

/// Returns the declared type of a value. The type of a null value is inferred by the server.
pub(super) fn declared_type(value: &Value<'_>) -> Type {
    match value {
        Value::Null => Type::UNKNOWN,
        Value::Int(_) => Type::INT8,
        Value::Text(_) => Type::TEXT,
        Value::Blob(_) => Type::BYTEA,
    }
}

/// Writes the bytes of a value and returns whether it is null.
pub(super) fn write_value(value: &Value<'_>, out: &mut BytesMut) -> IsNull {
    match value {
        Value::Null => return IsNull::Yes,
        Value::Int(number) => out.put_i64(*number),
        Value::Text(text) if text.contains('\0') => out.put_slice(text.replace('\0', NUL).as_bytes()),
        Value::Text(text) => out.put_slice(text.as_bytes()),
        Value::Blob(bytes) => out.put_slice(bytes),
    }
    IsNull::No
}

impl ToSql for Value<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            // Declared as INT8, but the server may infer INT4 from the context.
            Self::Int(number) if *ty == Type::INT4 => {
                out.put_i32(i32::try_from(*number)?);
                Ok(IsNull::No)
            }
            value => Ok(write_value(value, out)),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// The raw bytes of a column of any type.
struct RawColumn<'r>(Option<&'r [u8]>, Type);

impl<'r> FromSql<'r> for RawColumn<'r> {
    fn from_sql(ty: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Some(raw), ty.clone()))
    }

    fn from_sql_null(ty: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(None, ty.clone()))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Typed access to the columns of a row.
pub(in crate::store::engine) trait RowExt {
    fn int_opt(&self, column: usize) -> Result<Option<i64>, StoreError>;
    fn text_opt(&self, column: usize) -> Result<Option<&str>, StoreError>;
    fn blob_opt(&self, column: usize) -> Result<Option<&[u8]>, StoreError>;
}

impl RowExt for postgres::Row {
    fn int_opt(&self, column: usize) -> Result<Option<i64>, StoreError> {
        let RawColumn(bytes, ty) = self.try_get(column)?;
        let Some(bytes) = bytes else { return Ok(None) };
        let unexpected = || StoreError::from(ServerError::value(column));
        let number = match ty {
            Type::INT8 => i64::from_be_bytes(bytes.try_into().map_err(|_| unexpected())?),
            Type::INT4 => i32::from_be_bytes(bytes.try_into().map_err(|_| unexpected())?).into(),
            Type::INT2 => i16::from_be_bytes(bytes.try_into().map_err(|_| unexpected())?).into(),
            Type::NUMERIC => parse_numeric(bytes).ok_or_else(unexpected)?,
            _ => return Err(unexpected()),
        };
        Ok(Some(number))
    }

    fn text_opt(&self, column: usize) -> Result<Option<&str>, StoreError> {
        let RawColumn(bytes, _) = self.try_get(column)?;
        let text = bytes.map(std::str::from_utf8).transpose();
        text.map_err(|_| ServerError::value(column).into())
    }

    fn blob_opt(&self, column: usize) -> Result<Option<&[u8]>, StoreError> {
        let RawColumn(bytes, _) = self.try_get(column)?;
        Ok(bytes)
    }
}

/// Parses an integer of any width: the number of base-10000 digits, the weight of the first digit, the sign, the
/// number of decimals, and the digits.
fn parse_numeric(bytes: &[u8]) -> Option<i64> {
    let word = |at: usize| Some(i16::from_be_bytes(bytes.get(at * 2..at * 2 + 2)?.try_into().ok()?));
    let (digits, weight, sign) = (word(0)?, word(1)?, word(2)?);
    let mut number: i128 = 0;
    for power in 0..=weight {
        let digit = if power < digits {
            word(4 + usize::try_from(power).ok()?)?
        } else {
            0
        };
        number = number.checked_mul(10_000)?.checked_add(digit.into())?;
    }
    i64::try_from(if sign == 0 { number } else { -number }).ok()
}

impl From<ServerError> for StoreError {
    fn from(error: ServerError) -> Self {
        Self::Server(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_sums_of_any_width_are_parsed() {
        let words = |words: &[i16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        assert_eq!(parse_numeric(&words(&[0, 0, 0, 0])), Some(0));
        assert_eq!(parse_numeric(&words(&[1, 0, 0, 0, 42])), Some(42));
        assert_eq!(parse_numeric(&words(&[1, 2, 0, 0, 7])), Some(700_000_000));
        assert_eq!(parse_numeric(&words(&[2, 1, 0x4000, 0, 3, 21])), Some(-30_021));
        assert_eq!(
            parse_numeric(&words(&[5, 4, 0, 0, 922, 3372, 368, 5477, 5807])),
            Some(i64::MAX)
        );
        assert_eq!(parse_numeric(&words(&[1, 9, 0, 0, 1])), None);
    }
}
