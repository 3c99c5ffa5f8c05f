//! The engine's promises, kept over a real store in a temporary folder and a toy world.

// What the derive of kube names.
use k8s_openapi as _;

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
