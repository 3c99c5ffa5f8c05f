//! The promises of a reverse proxy, kept by a real Caddy.
//!
//! Each test starts a Caddy of its own: `$HEARTH_TEST_CADDY`, or `caddy` on the path. Where there is none the tests
//! say so and return; with `HEARTH_REAL=1` they fail.

#[cfg(test)]
mod real_caddy;
