//! The store's promises.

mod objects;
mod claims;
mod watches;
mod pages;
mod histories;
mod copies;
mod damage;
mod lasting;
mod lost;
mod failing_disk;
mod killed;
mod real_small_disk;
