//! The stories of the store once more, with the memory on a PostgreSQL server. They are the same texts: the name of this test tells
//! `home.rs` where to keep it.

#[path = "../story/main.rs"]
mod story;
