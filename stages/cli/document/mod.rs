//! Commands that document the program itself: `kinds`, `schema`, `man`, `cite`.

pub mod cite;
pub mod kinds;
pub mod man;
pub mod schema;
