//! Events: what happened, in the past tense, merged by what they say and kept for 30 days (UX contract C6).

use hearth_meta::{ObjectRef, Timestamp};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

/// How long an event is kept after it last happened.
pub(super) const KEPT_DAYS: i64 = 30;

/// Whether an event calls for attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It went as it should.
    Normal,
    /// Somebody may want to look.
    Warning,
}

impl EventKind {
    /// The word as the API writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Something that happened, to be noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventNote {
    /// The object it happened to.
    pub about: ObjectRef,
    /// That object's uid.
    pub uid: String,
    /// Whether it calls for attention.
    pub kind: EventKind,
    /// Why, in one CamelCase word.
    pub reason: String,
    /// What happened, in the past tense, without times and without ids that change.
    pub message: String,
    /// Who noted it, such as `controller/container`.
    pub reporter: String,
}

impl EventNote {
    /// An event of the store itself, which is no object: it stands for one of that name.
    pub(super) fn of_store(lineage: &str, kind: EventKind, reason: &str, message: &str) -> Self {
        Self {
            about: ObjectRef { kind: "Store".into(), namespace: None, name: "store".into() },
            uid: lineage.to_owned(),
            kind,
            reason: reason.to_owned(),
            message: message.to_owned(),
            reporter: "store".into(),
        }
    }
}

/// Asks for events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// Only in this namespace.
    pub namespace: Option<String>,
    /// Only about this kind.
    pub kind: Option<String>,
    /// Only about this name.
    pub name: Option<String>,
    /// Only about this uid.
    pub uid: Option<String>,
}

/// An event as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Its number.
    pub id: i64,
    /// What happened.
    pub note: EventNote,
    /// How often.
    pub count: i64,
    /// When first.
    pub first_at: Timestamp,
    /// When last.
    pub last_at: Timestamp,
}

impl EventRow {
    pub(super) fn read(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        let time = |name: &str| -> Result<Timestamp, sqlx::Error> {
            row.try_get::<&str, _>(name)?.parse().map_err(|error| sqlx::Error::Decode(Box::new(error)))
        };
        let namespace: String = row.try_get("namespace")?;
        Ok(Self {
            id: row.try_get("id")?,
            note: EventNote {
                about: ObjectRef {
                    kind: row.try_get("kind")?,
                    namespace: (!namespace.is_empty()).then_some(namespace),
                    name: row.try_get("name")?,
                },
                uid: row.try_get("uid")?,
                kind: if row.try_get::<&str, _>("type")? == "Warning" {
                    EventKind::Warning
                } else {
                    EventKind::Normal
                },
                reason: row.try_get("reason")?,
                message: row.try_get("message")?,
                reporter: row.try_get("reporter")?,
            },
            count: row.try_get("count")?,
            first_at: time("first_at")?,
            last_at: time("last_at")?,
        })
    }
}
