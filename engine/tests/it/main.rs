//! The engine's promises, kept over a real store in a temporary folder and a toy world.

mod toys;
mod store;
