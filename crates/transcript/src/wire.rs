//! Lenient fields, by which the records of a log are parsed.
//!
//! A log's format is not guaranteed. So a null, a wrong type or a repeated key loses that field and never the record;
//! only broken JSON fails. Strings are borrowed from the line if JSON allows it.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Visitor methods that return the default of a lenient field, for values of an unexpected type.
macro_rules! default_visits {
    ($($visit:ident)*) => { $($crate::wire::default_visits!(@$visit);)* };
    (@bool) => { fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> { Ok(Default::default()) } };
    (@numbers) => {
        fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> { Ok(Default::default()) }
        fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> { Ok(Default::default()) }
        fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> { Ok(Default::default()) }
    };
    (@str) => { fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> { Ok(Default::default()) } };
    (@null) => { fn visit_unit<E: Error>(self) -> Result<Self::Value, E> { Ok(Default::default()) } };
    (@seq) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Default::default())
        }
    };
    (@map) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Default::default())
        }
    };
}
pub(crate) use default_visits;

/// Declares a record of a log: `field: Type = "key"`. Unknown keys are ignored, the last of equal keys counts, and
/// anything but an object is the empty record.
macro_rules! wire {
    ($(#[$meta:meta])* struct $name:ident<$life:lifetime> { $($field:ident: $ty:ty = $key:literal,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Default)]
        pub(crate) struct $name<$life> { $(pub(crate) $field: $ty,)* pub(crate) life: std::marker::PhantomData<&$life ()> }

        impl<$life> $name<$life> {
            /// Parses a record into its holder.
            fn read_into<'de: $life, H, D>(deserializer: D) -> Result<H, D::Error>
            where
                H: Default + std::borrow::BorrowMut<Self>,
                D: serde::Deserializer<'de>,
            {
                use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess};

                #[allow(non_camel_case_types)]
                enum FieldKey { $($field,)* Other }
                struct KeyVisitor;
                impl serde::de::Visitor<'_> for KeyVisitor {
                    type Value = FieldKey;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("a key") }
                    fn visit_str<E: Error>(self, key: &str) -> Result<FieldKey, E> {
                        Ok(match key { $($key => FieldKey::$field,)* _ => FieldKey::Other })
                    }
                }
                impl<'de> serde::Deserialize<'de> for FieldKey {
                    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                        deserializer.deserialize_identifier(KeyVisitor)
                    }
                }
                struct RecordVisitor<$life, H>(std::marker::PhantomData<(&$life (), H)>);
                impl<'de: $life, $life, H: Default + std::borrow::BorrowMut<$name<$life>>> serde::de::Visitor<'de> for RecordVisitor<$life, H> {
                    type Value = H;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("anything") }
                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        let mut holder = H::default();
                        let record = holder.borrow_mut();
                        while let Some(key) = map.next_key::<FieldKey>()? {
                            match key {
                                $(FieldKey::$field => record.$field = map.next_value()?,)*
                                FieldKey::Other => { map.next_value::<IgnoredAny>()?; }
                            }
                        }
                        Ok(holder)
                    }
                    $crate::wire::default_visits!(bool numbers str null seq);
                }
                deserializer.deserialize_any(RecordVisitor(std::marker::PhantomData))
            }
        }

        impl<'de: $life, $life> serde::Deserialize<'de> for $name<$life> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::read_into(deserializer)
            }
        }

        impl<'de: $life, $life> serde::Deserialize<'de> for $crate::wire::BoxedRecord<$name<$life>> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $name::read_into(deserializer).map($crate::wire::BoxedRecord)
            }
        }
    };
}
pub(crate) use wire;

/// A record that is parsed directly into a box, because moving one of several kilobytes is slow.
#[derive(Debug)]
pub(crate) struct BoxedRecord<T>(pub(crate) Box<T>);

/// A string, or nothing.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct WireText<'a>(pub(crate) Option<Cow<'a, str>>);

impl WireText<'_> {
    /// Returns the string unless it is empty.
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    /// Returns the string, or an empty one if there is none.
    pub(crate) fn or_empty(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for WireText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WireTextVisitor<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for WireTextVisitor<'a> {
            type Value = WireText<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(WireText(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(WireText(Some(Cow::Owned(text.to_owned()))))
            }
            default_visits!(bool numbers null seq map);
        }
        deserializer.deserialize_any(WireTextVisitor(PhantomData))
    }
}

/// An optional reference. An explicit null means that there is no target; a missing key means nothing.
#[derive(Debug, Default)]
pub(crate) struct WireLink<'a> {
    target_text: WireText<'a>,
    pub(crate) is_null: bool,
}

impl WireLink<'_> {
    /// Returns the target, if there is one.
    pub(crate) fn get(&self) -> Option<&str> {
        self.target_text.get()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for WireLink<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let target = Option::<WireText<'a>>::deserialize(deserializer)?;
        let is_null = target.is_none();
        let target_text = target.unwrap_or_default();
        Ok(Self { target_text, is_null })
    }
}

/// A non-negative integer in any notation, or nothing.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct WireNumber(pub(crate) Option<u64>);

impl<'de> Deserialize<'de> for WireNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WireNumberVisitor;
        impl<'de> Visitor<'de> for WireNumberVisitor {
            type Value = WireNumber;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<WireNumber, E> {
                Ok(WireNumber(Some(number)))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<WireNumber, E> {
                Ok(WireNumber(u64::try_from(number).ok()))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<WireNumber, E> {
                // Above 2^53, a float no longer represents every integer.
                let holds = (0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0;
                Ok(WireNumber(holds.then_some(number as u64)))
            }
            default_visits!(bool str null seq map);
        }
        deserializer.deserialize_any(WireNumberVisitor)
    }
}

/// A boolean; anything else is false.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct WireFlag(pub(crate) bool);

impl<'de> Deserialize<'de> for WireFlag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WireFlagVisitor;
        impl<'de> Visitor<'de> for WireFlagVisitor {
            type Value = WireFlag;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_bool<E: Error>(self, flag: bool) -> Result<WireFlag, E> {
                Ok(WireFlag(flag))
            }
            default_visits!(numbers str null seq map);
        }
        deserializer.deserialize_any(WireFlagVisitor)
    }
}

/// An object, or nothing.
#[derive(Debug, Clone)]
pub(crate) struct WireObject<T>(pub(crate) Option<T>);

impl<T> Default for WireObject<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for WireObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WireObjectVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for WireObjectVisitor<T> {
            type Value = WireObject<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|value| WireObject(Some(value)))
            }
            default_visits!(bool numbers str null seq);
        }
        deserializer.deserialize_any(WireObjectVisitor(PhantomData))
    }
}

/// Maximum number of elements of an array that are read; no agent writes as many.
const MANY_MAX: usize = 1 << 16;

/// The elements of an array; anything else is empty.
#[derive(Debug, Clone)]
pub(crate) struct WireArray<T>(pub(crate) Vec<T>);

impl<T> Default for WireArray<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for WireArray<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WireArrayVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for WireArrayVisitor<T> {
            type Value = WireArray<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut many = Vec::new();
                while let Some(element) = seq.next_element()? {
                    if many.len() < MANY_MAX {
                        many.push(element);
                    }
                }
                Ok(WireArray(many))
            }
            default_visits!(bool numbers str null map);
        }
        deserializer.deserialize_any(WireArrayVisitor(PhantomData))
    }
}

/// Any value as written in the line, to be parsed later or not at all.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct RawJson<'a>(pub(crate) Option<&'a serde_json::value::RawValue>);

impl RawJson<'_> {
    /// Returns the JSON text, or an empty one if there is no value.
    pub(crate) fn json(&self) -> &str {
        self.0.map(serde_json::value::RawValue::get).unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawJson<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'a serde_json::value::RawValue>::deserialize(deserializer).map(|raw| RawJson(Some(raw)))
    }
}
