//! The stories of the store with a memory on a PostgreSQL server. They are the same source files: `home.rs` chooses the
//! store by the name of this test.

#[path = "../story/main.rs"]
mod story;
