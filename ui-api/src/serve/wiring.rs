//! The one place where hands are chosen, and where controllers meet them.

use std::sync::Arc;

use hearth_capabilities::Containers;
use hearth_engine::{Engine, Store};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::Config;

/// What this home works with.
#[derive(Clone, Default)]
pub struct Hands {
    /// The container engine.
    pub containers: Option<Arc<dyn Containers>>,
}

/// Controllers that run.
pub struct Controllers {
    hands: Hands,
    engine: Engine,
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl Controllers {
    /// Where logs come from.
    pub fn containers(&self) -> Option<Arc<dyn Containers>> {
        self.hands.containers.clone()
    }

    /// Whose diagnostics are shown.
    pub fn engine(&self) -> Option<Engine> {
        Some(self.engine.clone())
    }

    /// Stops them; turns that have begun are finished.
    pub async fn stop(self) {
        self.stop.cancel();
        if let Err(error) = self.running.await {
            tracing::error!(error = %error, "the controllers ended badly");
        }
    }
}

/// Chooses the hands: pretend ones with `--pretend`, else those on the real machine.
///
/// # Errors
/// Where an address is wrong or a folder cannot be had.
pub fn machine(config: &Config, store: &Store) -> anyhow::Result<Hands> {
    let _ = store;
    if config.pretend {
        return Ok(Hands::default());
    }
    let docker = hearth_docker::Docker::connect(&config.docker)?;
    Ok(Hands { containers: Some(Arc::new(docker)) })
}

/// Starts every controller over the store.
///
/// # Errors
/// Where the system's own objects cannot be written.
pub async fn start_controllers(store: &Store, hands: Hands, config: &Config) -> anyhow::Result<Controllers> {
    let _ = config;
    let engine = Engine::new(store.clone(), store.epoch().unsigned_abs());
    let stop = CancellationToken::new();
    let running = tokio::spawn({
        let (engine, stop) = (engine.clone(), stop.clone());
        async move { engine.run(stop).await }
    });
    Ok(Controllers { hands, engine, stop, running })
}
