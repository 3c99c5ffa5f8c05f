//! How far a pull has come, summed over its layers.

use std::collections::HashMap;

use bollard::models::CreateImageInfo;
use hearth_capabilities::images::PullProgress;

/// Bytes by layer. Docker loads three layers at a time and tells a layer's size only once it has begun, so the total
/// grows as the pull goes on. Unpacking is not counted: it is the same bytes once more.
#[derive(Debug, Default)]
pub(super) struct Sum {
    layers: HashMap<String, PullProgress>,
}

impl Sum {
    /// How far it has come once Docker has said this.
    pub(super) fn after(&mut self, message: &CreateImageInfo) -> PullProgress {
        if let Some(layer) = &message.id {
            self.note(layer, message);
        }
        let mut all = PullProgress::default();
        for layer in self.layers.values() {
            all.done_bytes += layer.done_bytes;
            all.total_bytes += layer.total_bytes;
        }
        all
    }

    fn note(&mut self, layer: &str, message: &CreateImageInfo) {
        match message.status.as_deref() {
            Some("Downloading") => {
                let detail = message.progress_detail.as_ref();
                let done_bytes = detail.and_then(|detail| detail.current).unwrap_or_default().max(0);
                // The size is unknown where the registry does not tell it.
                let total_bytes = detail.and_then(|detail| detail.total).unwrap_or_default().max(done_bytes);
                self.layers.insert(layer.to_owned(), PullProgress { done_bytes, total_bytes });
            }
            Some("Verifying Checksum" | "Download complete" | "Pull complete") => {
                if let Some(known) = self.layers.get_mut(layer) {
                    known.done_bytes = known.total_bytes;
                }
            }
            // A layer that is here already, waits, or is being unpacked.
            _ => {}
        }
    }
}
