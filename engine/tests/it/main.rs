//! The engine's promises, kept over a real store in a temporary folder and a toy world.

#[cfg(test)]
mod toys;
#[cfg(test)]
mod world;
#[cfg(test)]
mod running;
#[cfg(test)]
mod store;
#[cfg(test)]
mod driver;
