#![forbid(unsafe_code)]
pub mod clock;
pub use clock::{Clock, ManualClock, SystemClock};
