//! The real machine that `testbed/test` offers, for the `real*` modules.
//!
//! Without one a real test says `skipped:` and why, and returns; with
//! `HEARTH_REAL=1` it fails instead, so that a suite is never skipped unseen.

use std::env;
use std::path::PathBuf;

/// Where the parts of the machine are.
pub(crate) struct Machine {
    /// Docker, as the `--docker` flag takes it: `unix:///...`.
    pub(crate) docker: String,
    /// A Caddy image that Docker has.
    pub(crate) caddy_image: String,
    /// `127.0.0.1:PORT` of a registry that may be pushed to.
    pub(crate) registry: String,
    /// Stands before `/web:1`, `/db:1` and `/migrate:1`, and the same as `:2`.
    pub(crate) image_prefix: String,
    /// The `hearth` program.
    pub(crate) binary: PathBuf,
}

impl Machine {
    /// The machine, or nothing if none is offered and none is demanded.
    ///
    /// # Panics
    ///
    /// If `HEARTH_REAL=1` demands one and a part is missing.
    #[expect(clippy::print_stdout, reason = "the count of tests looks for this line")]
    pub(crate) fn offered() -> Option<Self> {
        let mut missing = Vec::new();
        let mut part = |name: &'static str| {
            let found = env::var(name).ok().filter(|value| !value.is_empty());
            if found.is_none() {
                missing.push(name);
            }
            found.unwrap_or_default()
        };
        let machine = Self {
            docker: part("HEARTH_TEST_DOCKER"),
            caddy_image: part("HEARTH_TEST_CADDY_IMAGE"),
            registry: part("HEARTH_TEST_REGISTRY"),
            image_prefix: part("HEARTH_TEST_IMAGE_PREFIX"),
            binary: part("HEARTH_TEST_BINARY").into(),
        };
        if missing.is_empty() {
            return Some(machine);
        }
        let missing = missing.join(", ");
        assert!(env::var("HEARTH_REAL").as_deref() != Ok("1"), "no real machine: {missing} not set");
        println!("skipped: no real machine, {missing} not set; testbed/test offers one");
        None
    }
}

#[test]
fn a_machine_that_is_offered_is_there() {
    use std::net::TcpStream;
    use std::os::unix::net::UnixStream;

    let Some(machine) = Machine::offered() else { return };
    let socket = machine.docker.strip_prefix("unix://").expect("Docker's address is a socket's");
    UnixStream::connect(socket).expect("Docker accepts connections");
    TcpStream::connect(&machine.registry).expect("the registry accepts connections");
    assert!(machine.image_prefix.starts_with(&machine.registry), "the samples are in that registry");
    assert!(machine.caddy_image.contains(':'), "the image of Caddy has a tag");
    assert!(machine.binary.is_file(), "{} is built", machine.binary.display());
}
