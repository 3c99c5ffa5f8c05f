//! Does the crate keep its promises from outside?

mod corpus;
mod oracle;
mod admission;
