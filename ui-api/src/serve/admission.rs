//! The kinds as the server takes them in: their own rules, and what admission has against an app's compose file.
//!
//! `charts` decides and knows no kind, `resources` knows the kinds and no charts; here the two meet, so that a file
//! that may not run is refused at the door, by field, and not only later in a status.

use hearth_kinds::{App, Settings, all};
use hearth_meta::{KindInfo, Problem};
use serde_json::Value;

/// Every kind, with admission.
pub fn kinds(settings: &Settings) -> Vec<KindInfo> {
    let with_admission = |kind: KindInfo| match kind.kind {
        "App" => KindInfo { validate: check_app, ..kind },
        _ => kind,
    };
    all(settings).into_iter().map(with_admission).collect()
}

fn check_app(new: &Value, old: Option<&Value>) -> Vec<Problem> {
    let parsed: Result<App, _> = serde_json::from_value(new.clone());
    let old: Option<App> = old.and_then(|old| serde_json::from_value(old.clone()).ok());
    match parsed {
        Ok(new) => {
            let mut problems = hearth_kinds::app::validate(&new, old.as_ref());
            problems.extend(hearth_controllers::app::refusals(&new));
            problems
        }
        Err(error) => vec![Problem::new("", error.to_string())],
    }
}

#[cfg(test)]
mod tests {
    use hearth_kinds::Settings;
    use serde_json::json;

    #[test]
    fn a_compose_file_that_may_not_run_is_refused_at_the_door_with_every_reason() {
        let kinds = super::kinds(&Settings::default());
        let app = kinds.iter().find(|kind| kind.kind == "App").unwrap();
        let compose = "services: { web: { image: a, privileged: true, network_mode: host } }";
        let new = json!({"kind": "App", "apiVersion": "hearth.dev/v1", "metadata": {"name": "a"}, "spec": {"compose": compose}});
        let problems: Vec<String> = (app.validate)(&new, None).iter().map(ToString::to_string).collect();
        assert!(
            problems.iter().any(|p| p.starts_with("spec.compose: ") && p.contains("privileged")),
            "{problems:?}"
        );
        assert!(problems.iter().any(|p| p.contains("network_mode")), "{problems:?}");
    }
}
