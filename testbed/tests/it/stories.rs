//! The stories: what people may count on, told from outside on the pretend machine and on a real one.
//!
//! One story is one function over a [`Home`](crate::home::Home); the two tests below it are where it is told.

mod app;
