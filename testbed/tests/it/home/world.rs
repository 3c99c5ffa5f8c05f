//! What a person, a program or bad luck does to a machine behind Hearth's back, and what can be asked of it past
//! Hearth. Containers and networks go by the engine's names.

use std::collections::BTreeMap;
use std::path::Path;

use async_trait::async_trait;
use hearth::serve::wiring::Hands;
use hearth_capabilities::volumes::Leaf;

use super::real::Real;

/// A machine under a home.
#[async_trait]
pub(crate) trait World: Send + Sync {
    /// New hands on it, as a server that starts takes them.
    fn hands(&self) -> Hands;

    /// The reference of one of the sample images, such as `web:1`, in a registry and not on the machine.
    async fn image(&self, name: &str) -> String;

    /// The same, and the image is on the machine.
    async fn image_here(&self, name: &str) -> String;

    /// A reference whose pull never gets an answer.
    async fn hanging_image(&self, name: &str) -> String;

    /// What a browser of the household is answered for a host.
    async fn page(&self, host: &str) -> Page;

    /// `docker kill`.
    async fn kill(&self, container: &str);
    /// The process ends badly, by itself.
    async fn crash(&self, container: &str);
    /// `docker stop`.
    async fn stop(&self, container: &str);
    /// `docker rm -f`.
    async fn remove(&self, container: &str);
    /// `docker container prune`, as far as this home's containers go.
    async fn prune(&self);
    /// A container is replaced by one with the same name and labels that differs.
    async fn replace(&self, container: &str, alteration: &Alteration);
    /// `docker network disconnect -f`.
    async fn disconnect(&self, network: &str, container: &str);
    /// `docker network rm`, whoever was on it detached before.
    async fn remove_network(&self, network: &str);

    /// How often a one-shot has done its work; it keeps its file in that folder.
    async fn runs(&self, container: &str, folder: &Path) -> usize;

    /// `chmod` on a leaf.
    async fn chmod(&self, leaf: &Leaf, mode: u32);
    /// `rm -r` on a leaf.
    async fn remove_leaf(&self, leaf: &Leaf);
    /// A link to `/etc` in the place of a leaf.
    async fn link_leaf(&self, leaf: &Leaf);

    /// A file that was given to a container is written over.
    async fn overwrite(&self, path: &str, text: &str);

    /// The proxy's configuration is emptied.
    async fn empty_proxy(&self);
    /// The route of a host is made to answer something else.
    async fn edit_route(&self, host: &str);
    /// The catch-all is put before every other route.
    async fn catch_all_first(&self);
    /// How often the proxy was told a new configuration since it started.
    async fn reloads(&self) -> usize;

    /// From now on changes are counted.
    async fn mark(&self);
    /// Every change to the machine since the mark.
    async fn changes(&self) -> Vec<String>;

    /// The names of this home's containers and networks on the machine.
    async fn names(&self) -> (Vec<String>, Vec<String>);

    /// From now on another process works on the machine; nothing may be done to it through this until
    /// [`World::take_back`].
    async fn leave(&self);
    /// That process is over.
    async fn take_back(&self);
    /// How often each thing was made and started since [`World::leave`] or earlier, such as
    /// `create container NAME`.
    async fn made_and_started(&self) -> BTreeMap<String, u64>;

    /// Takes away everything that was made.
    async fn clear(&self);

    /// The pretend machine, for what only that can do.
    fn pretend(&self) -> Option<&hearth_pretend::Machine> {
        None
    }

    /// The real machine, for what only that can do.
    fn real(&self) -> Option<&Real> {
        None
    }
}

/// What a browser is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// 0 where nobody answers.
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Page {
    /// Whether an app answered, and not a page of Hearth's.
    pub(crate) fn is_the_apps(&self) -> bool {
        self.status == 200 && self.body.starts_with("Hello from")
    }
}

/// How a container differs from the one it replaces.
#[derive(Clone, Debug)]
pub(crate) enum Alteration {
    /// Another variable.
    Env,
    /// Another image, by reference; it is got first.
    Image(String),
    /// A folder of the host more.
    Mount,
    /// A capability more.
    Capability,
}
