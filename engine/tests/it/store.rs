//! The store's promises.

mod objects;
mod claims;
mod watches;
mod histories;
mod lasting;
mod lost;
