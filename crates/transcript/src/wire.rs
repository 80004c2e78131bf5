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
macro_rules! otherwise {
    ($($visit:ident)*) => { $($crate::wire::otherwise!(@$visit);)* };
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
pub(crate) use otherwise;

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
                enum Key { $($field,)* Other }
                struct Keys;
                impl serde::de::Visitor<'_> for Keys {
                    type Value = Key;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("a key") }
                    fn visit_str<E: Error>(self, key: &str) -> Result<Key, E> {
                        Ok(match key { $($key => Key::$field,)* _ => Key::Other })
                    }
                }
                impl<'de> serde::Deserialize<'de> for Key {
                    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                        deserializer.deserialize_identifier(Keys)
                    }
                }
                struct Fields<$life, H>(std::marker::PhantomData<(&$life (), H)>);
                impl<'de: $life, $life, H: Default + std::borrow::BorrowMut<$name<$life>>> serde::de::Visitor<'de> for Fields<$life, H> {
                    type Value = H;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("anything") }
                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        let mut holder = H::default();
                        let record = holder.borrow_mut();
                        while let Some(key) = map.next_key::<Key>()? {
                            match key {
                                $(Key::$field => record.$field = map.next_value()?,)*
                                Key::Other => { map.next_value::<IgnoredAny>()?; }
                            }
                        }
                        Ok(holder)
                    }
                    $crate::wire::otherwise!(bool numbers str null seq);
                }
                deserializer.deserialize_any(Fields(std::marker::PhantomData))
            }
        }

        impl<'de: $life, $life> serde::Deserialize<'de> for $name<$life> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::read_into(deserializer)
            }
        }

        impl<'de: $life, $life> serde::Deserialize<'de> for $crate::wire::Boxed<$name<$life>> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $name::read_into(deserializer).map($crate::wire::Boxed)
            }
        }
    };
}
pub(crate) use wire;

/// A record that is parsed directly into a box, because moving one of several kilobytes is slow.
#[derive(Debug)]
pub(crate) struct Boxed<T>(pub(crate) Box<T>);

/// A string, or nothing.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Text<'a>(pub(crate) Option<Cow<'a, str>>);

impl Text<'_> {
    /// Returns the string unless it is empty.
    pub(crate) fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    /// Returns the string, or an empty one if there is none.
    pub(crate) fn or_empty(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for V<'a> {
            type Value = Text<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Some(Cow::Borrowed(text))))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Some(Cow::Owned(text.to_owned()))))
            }
            otherwise!(bool numbers null seq map);
        }
        deserializer.deserialize_any(V(PhantomData))
    }
}

/// An optional reference. An explicit null means that there is no target; a missing key means nothing.
#[derive(Debug, Default)]
pub(crate) struct Link<'a> {
    to: Text<'a>,
    pub(crate) is_null: bool,
}

impl Link<'_> {
    /// Returns the target, if there is one.
    pub(crate) fn get(&self) -> Option<&str> {
        self.to.get()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Link<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let told = Option::<Text<'a>>::deserialize(deserializer)?;
        let is_null = told.is_none();
        let to = told.unwrap_or_default();
        Ok(Self { to, is_null })
    }
}

/// A non-negative integer in any notation, or nothing.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Number(pub(crate) Option<u64>);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
                Ok(Number(Some(number)))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
                Ok(Number(u64::try_from(number).ok()))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Number, E> {
                // Above 2^53, a float no longer represents every integer.
                let holds = (0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0;
                Ok(Number(holds.then_some(number as u64)))
            }
            otherwise!(bool str null seq map);
        }
        deserializer.deserialize_any(V)
    }
}

/// A boolean; anything else is false.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Flag(pub(crate) bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Flag;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_bool<E: Error>(self, flag: bool) -> Result<Flag, E> {
                Ok(Flag(flag))
            }
            otherwise!(numbers str null seq map);
        }
        deserializer.deserialize_any(V)
    }
}

/// An object, or nothing.
#[derive(Debug, Clone)]
pub(crate) struct Maybe<T>(pub(crate) Option<T>);

impl<T> Default for Maybe<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = Maybe<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|value| Maybe(Some(value)))
            }
            otherwise!(bool numbers str null seq);
        }
        deserializer.deserialize_any(V(PhantomData))
    }
}

/// Maximum number of elements of an array that are read; no agent writes as many.
const MANY_MAX: usize = 1 << 16;

/// The elements of an array; anything else is empty.
#[derive(Debug, Clone)]
pub(crate) struct Many<T>(pub(crate) Vec<T>);

impl<T> Default for Many<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = Many<T>;
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
                Ok(Many(many))
            }
            otherwise!(bool numbers str null map);
        }
        deserializer.deserialize_any(V(PhantomData))
    }
}

/// Any value as written in the line, to be parsed later or not at all.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Raw<'a>(pub(crate) Option<&'a serde_json::value::RawValue>);

impl Raw<'_> {
    /// Returns the JSON text, or an empty one if there is no value.
    pub(crate) fn json(&self) -> &str {
        self.0.map(serde_json::value::RawValue::get).unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'a serde_json::value::RawValue>::deserialize(deserializer).map(|raw| Raw(Some(raw)))
    }
}
