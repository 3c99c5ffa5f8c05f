//! Does the crate keep its promises from outside?
#![expect(clippy::panic, reason = "tests fail by panicking")]

mod corpus;
mod oracle;
mod admission;
mod hostile;
mod fuzz;
