//! The kinds these tests play with, and a home that keeps them.

use std::sync::Arc;

use hearth_engine::store::{Deletion, OpenError, Preconditions};
use hearth_engine::{Key, ManualClock, Object, OpenOptions, Store, WriteError, WriteOptions};
use hearth_meta::{Claim, CommonStatus, HasCommon, KindInfo, Problem, Scope};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

/// A lamp: one object, one thing in the world.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "test.dev", version = "v1", kind = "Lamp", plural = "lamps", namespaced)]
#[kube(status = "LampStatus", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub(crate) struct LampSpec {
    pub(crate) color: String,
    /// Claimed, and chosen where absent.
    pub(crate) room: Option<String>,
    pub(crate) drift_policy: Option<String>,
    /// How its steps are: `slow`, `dangerous`, `slotted`, `patient`.
    #[serde(default)]
    pub(crate) ways: Vec<String>,
}

/// A sign: all of them are one set.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "test.dev", version = "v1", kind = "Sign", plural = "signs", namespaced)]
#[kube(status = "LampStatus", derive = "PartialEq")]
#[serde(rename_all = "camelCase")]
pub(crate) struct SignSpec {
    pub(crate) text: String,
    pub(crate) drift_policy: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LampStatus {
    #[serde(flatten)]
    pub(crate) common: CommonStatus,
}

impl HasCommon for LampStatus {
    fn common(&self) -> &CommonStatus {
        &self.common
    }
    fn common_mut(&mut self) -> &mut CommonStatus {
        &mut self.common
    }
}

const ROOMS: [&str; 3] = ["hall", "attic", "cellar"];

fn room(name: &str) -> Claim {
    Claim { space: "room", name: name.to_owned(), field: "spec.room" }
}

fn kind(kind: &'static str, plural: &'static str, scope: Scope) -> KindInfo {
    KindInfo { has_status: true, ..KindInfo::plain("test.dev", kind, (plural, kind), scope) }
}

/// `Lamp` and `Sign` as above; `Card` is plain; `Secret` is secret; `Namespace` holds the rest.
pub(crate) fn kinds() -> Vec<KindInfo> {
    let choose = |lamp: &mut Value, taken: &dyn Fn(&Claim) -> bool| {
        if lamp["spec"]["room"] == "any" {
            match ROOMS.iter().find(|name| !taken(&room(name))) {
                Some(free) => lamp["spec"]["room"] = (*free).into(),
                None => return vec![Problem::new("spec.room", "every room is taken")],
            }
        }
        Vec::new()
    };
    vec![
        KindInfo { has_status: false, ..kind("Namespace", "namespaces", Scope::Cluster) },
        KindInfo { has_status: false, is_secret: true, ..kind("Secret", "secrets", Scope::Namespaced) },
        KindInfo {
            claims: Some(|lamp| lamp["spec"]["room"].as_str().map(room).into_iter().collect()),
            choose: Arc::new(choose),
            finalizers: vec!["hearth.dev/lamp".into()],
            validate: |lamp, _| match lamp["spec"]["color"].as_str() {
                Some("") => vec![Problem::new("spec.color", "must not be empty")],
                _ => Vec::new(),
            },
            ..kind("Lamp", "lamps", Scope::Namespaced)
        },
        KindInfo { finalizers: vec!["hearth.dev/sign".into()], ..kind("Sign", "signs", Scope::Namespaced) },
        kind("Card", "cards", Scope::Namespaced),
    ]
}

/// A store in a folder of its own, and the clock it goes by.
pub(crate) struct Home {
    pub(crate) store: Store,
    pub(crate) clock: ManualClock,
    pub(crate) folder: TempDir,
}

impl Home {
    pub(crate) async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let clock = ManualClock::new("2026-11-29T12:00:00Z".parse().unwrap());
        let store = Store::open(options(&folder, &clock)).await.unwrap();
        let home = Self { store, clock, folder };
        home.create(json!({"kind": "Namespace", "metadata": {"name": "den"}})).await.unwrap();
        home
    }

    /// The same home after its process died without a word.
    pub(crate) async fn reopened(self) -> Self {
        let Self { store, clock, folder } = self;
        drop(store);
        // The dead store's last connection closes on a thread of its own.
        for _ in 0..100_000 {
            match Store::open(options(&folder, &clock)).await {
                // What is damaged stays so.
                Err(error @ OpenError::Damaged { .. }) => panic!("{error}"),
                Err(_) => tokio::task::yield_now().await,
                Ok(store) => return Self { store, clock, folder },
            }
        }
        Self { store: Store::open(options(&folder, &clock)).await.unwrap(), clock, folder }
    }

    /// Every row of every table of its file.
    pub(crate) async fn rows(&self) -> Vec<String> {
        let file = self.folder.path().join("store.db");
        let mut connection =
            SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap();
        let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
        let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut connection).await.unwrap();
        let mut rows = Vec::new();
        for table in tables {
            let columns = format!(
                "SELECT group_concat('quote(' || name || ')', '||'' ''||') FROM pragma_table_info('{table}')"
            );
            let columns: String =
                sqlx::query_scalar(sqlx::AssertSqlSafe(columns)).fetch_one(&mut connection).await.unwrap();
            let all = sqlx::AssertSqlSafe(format!("SELECT '{table} ' || {columns} FROM {table} ORDER BY 1"));
            rows.extend(sqlx::query_scalar::<_, String>(all).fetch_all(&mut connection).await.unwrap());
        }
        connection.close().await.unwrap();
        rows
    }

    /// Rows of a kind vanish from the file of a closed store, as no program of ours would have it; the changes that
    /// would tell of it are no longer kept.
    pub(crate) async fn rows_vanish(&self, kind: &str, count: usize) {
        let file = self.folder.path().join("store.db");
        let mut connection =
            SqliteConnection::connect(&format!("sqlite://{}", file.display())).await.unwrap();
        let count = i64::try_from(count).unwrap();
        let sql = "SELECT max(rv) FROM (SELECT rv FROM objects WHERE kind = ? ORDER BY rv LIMIT ?)";
        let up_to: i64 =
            sqlx::query_scalar(sql).bind(kind).bind(count).fetch_one(&mut connection).await.unwrap();
        let sql = "DELETE FROM standing WHERE kind = ? AND rv <= ?";
        let gone = sqlx::query(sql).bind(kind).bind(up_to).execute(&mut connection).await.unwrap();
        assert_eq!(i64::try_from(gone.rows_affected()).unwrap(), count);
        let sql = "DELETE FROM changes WHERE rv <= ? AND rv NOT IN (SELECT rv FROM standing)";
        sqlx::query(sql).bind(up_to).execute(&mut connection).await.unwrap();
        let sql = "INSERT OR REPLACE INTO meta (key, value) VALUES ('compacted', ?)";
        sqlx::query(sql).bind(up_to.to_string()).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    pub(crate) async fn create(&self, value: Value) -> Result<Arc<Object>, WriteError> {
        self.store.create(object(value), &person()).await
    }

    pub(crate) async fn lamp(&self, name: &str, spec: Value) -> Arc<Object> {
        self.create(json!({"kind": "Lamp", "metadata": {"name": name, "namespace": "den"}, "spec": spec}))
            .await
            .unwrap()
    }

    pub(crate) async fn card(&self, name: &str) -> Arc<Object> {
        self.create(card(name)).await.unwrap()
    }

    /// Replaces fields of an object, as a person would.
    pub(crate) async fn patch(&self, key: Key, patch: Value) -> Result<Arc<Object>, WriteError> {
        let patched = move |old: &Object| {
            let mut value = old.to_value();
            merge(&mut value, patch);
            Ok(object(value))
        };
        self.store.update(&key, &person(), patched).await
    }

    pub(crate) async fn delete(&self, key: Key) -> Result<Arc<Object>, WriteError> {
        let deletion = Deletion { key, preconditions: Preconditions::default() };
        self.store.delete(deletion, &person()).await
    }
}

pub(crate) fn options(folder: &TempDir, clock: &ManualClock) -> OpenOptions {
    OpenOptions { data_dir: folder.path().to_owned(), kinds: kinds(), clock: Arc::new(clock.clone()) }
}

pub(crate) fn person() -> WriteOptions {
    WriteOptions { actor: "admin".into(), source: "api".into(), dry_run: false }
}

pub(crate) fn dry() -> WriteOptions {
    WriteOptions { dry_run: true, ..person() }
}

pub(crate) fn object(mut value: Value) -> Object {
    if value["apiVersion"].is_null() {
        value["apiVersion"] = "test.dev/v1".into();
    }
    Object::from_value(value).unwrap()
}

pub(crate) fn card(name: &str) -> Value {
    json!({"kind": "Card", "metadata": {"name": name, "namespace": "den"}, "spec": {"n": 0}})
}

pub(crate) fn key(kind: &str, name: &str) -> Key {
    Key::new(kind, if kind == "Namespace" { "" } else { "den" }, name)
}

pub(crate) fn owner(object: &Object) -> Value {
    json!({"apiVersion": object.api_version, "kind": object.kind, "name": object.name(), "uid": object.uid()})
}

/// A JSON merge patch.
fn merge(into: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *into = patch;
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (name, value) in patch {
        if value.is_null() {
            into.as_object_mut().unwrap().remove(&name);
        } else {
            merge(&mut into[name.as_str()], value);
        }
    }
}
