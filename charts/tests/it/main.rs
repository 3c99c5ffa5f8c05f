//! Does the crate keep its promises from outside?
#![expect(clippy::panic, reason = "tests fail by panicking")]
#![expect(clippy::print_stdout, reason = "a test says what it ran on and what it found")]

mod corpus;
mod oracle;
mod admission;
mod hostile;
mod importing;
mod styles;
mod limits;
mod faults;
mod disk;
mod escape;
mod fuzz;
