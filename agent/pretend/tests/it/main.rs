//! The promises of every capability, kept by the pretend machine: at once, and with everything taking its time.

#[cfg(test)]
mod pretend;
