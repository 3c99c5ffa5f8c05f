//! What wakes a controller: which changes of other objects, and what its backend tells.

use crate::object::{Key, Object};
use crate::store::Store;

/// What wakes a controller besides its own objects. Waking twice, or for nothing, does no harm.
#[derive(Default)]
pub struct Triggers {
    /// Kinds whose objects it owns: a change wakes the owner.
    pub owned: Vec<&'static str>,
    /// Kinds its objects refer to.
    pub referenced: Vec<Reference>,
}

/// Which keys a change of an object wakes.
pub type Referrers = fn(&Object, &Store) -> Vec<Key>;

/// A kind that a controller's objects refer to.
#[derive(Clone, Copy)]
pub struct Reference {
    /// The kind.
    pub kind: &'static str,
    /// Which keys an object of it wakes.
    pub referrers: Referrers,
    /// Whether a change from one form to the other means anything to them.
    pub matters: fn(&Object, &Object) -> bool,
}

impl Reference {
    /// Every change of such an object matters.
    pub fn to(kind: &'static str, referrers: Referrers) -> Self {
        Self { kind, referrers, matters: |_, _| true }
    }

    /// Only a change that `matters`, and that one comes or goes. What a look reads of the object has to be told apart
    /// here, or a change of it is found only by the next full look.
    #[must_use]
    pub fn where_it(self, matters: fn(&Object, &Object) -> bool) -> Self {
        Self { matters, ..self }
    }
}

/// Something has happened in the backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Anything may have.
    All,
    /// To what was made for the object of this uid.
    Uid(String),
    /// To this object.
    Key(Key),
}
