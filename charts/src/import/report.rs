//! What an import did, for people and programs.

use serde::Serialize;

/// The report of an import.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The app's name.
    pub name: String,
    /// The service people open; asked when the file does not tell.
    pub main_service: Option<String>,
    /// Its port.
    pub main_port: Option<u16>,
    /// Ports the file published. The first is the main one; the others can have routes too.
    pub routes: Vec<Route>,
    /// Values the App needs, by name.
    pub values: Vec<Wanted>,
    /// Devices the app asks for; they must be granted.
    pub devices: Vec<String>,
    /// Fields taken over as they are.
    pub kept: Vec<Entry>,
    /// Fields that say something else now.
    pub changed: Vec<Entry>,
    /// Fields left out.
    pub dropped: Vec<Entry>,
    /// What a person has to answer.
    pub asked: Vec<Entry>,
    /// What cannot be carried; then there is no package.
    pub refused: Vec<Entry>,
    /// Why the file is not one a home server can run as an app, if so.
    pub set_apart: Option<SetApart>,
}

/// One field and what happened to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The field's path in the author's file.
    pub field: String,
    /// Why, in one sentence.
    pub reason: String,
}

impl Entry {
    /// An entry of the report.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

/// A port people can reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Route {
    /// The service.
    pub service: String,
    /// The port of its container.
    pub port: u16,
}

/// A value of the App.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wanted {
    /// The variable's name.
    pub name: String,
    /// What it is.
    pub kind: ValueKind,
    /// What it is when nobody says otherwise; never set for a secret.
    pub default: String,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ValueKind {
    /// A setting with a sensible default.
    Plain,
    /// Made once and kept secret.
    Secret,
    /// Only a person knows it.
    Asked,
}

/// Why a file is no app for a home server, whatever is done to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SetApart {
    /// It cannot be read, or contradicts itself.
    Unreadable,
    /// Its image has to be built first.
    Build,
    /// It manages the host itself: its engine, network, processes or kernel.
    Host,
}
