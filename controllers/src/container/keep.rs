//! *Keep this*: which fields of a container, as inspected, can become its spec.

use hearth_engine::keep;
use hearth_meta::FieldDiff;
use serde_json::Value;

/// Fields whose inspected form is the spec's own.
const AS_SEEN: [&str; 11] = [
    "spec.command",
    "spec.entrypoint",
    "spec.workingDir",
    "spec.user",
    "spec.init",
    "spec.hostname",
    "spec.readOnlyRoot",
    "spec.power",
    "spec.restart",
    "spec.stop.graceSeconds",
    "spec.stop.signal",
];

/// Takes over what is seen in one field.
///
/// # Errors
/// Why it cannot be taken over: a mount, a network or an image is known to the machine by other names than the spec's.
pub(super) fn keep(spec: &mut Value, difference: &FieldDiff) -> Result<(), String> {
    match difference.field.as_str() {
        field if field.starts_with("spec.env[") => keep::entry(spec, "env", difference),
        field if field.starts_with("spec.labels[") => keep::entry(spec, "labels", difference),
        // Shown as plain numbers, written as quantities.
        "spec.resources.memoryLimit" => quantity(spec, "memoryLimit", difference, ""),
        "spec.resources.cpuLimit" => quantity(spec, "cpuLimit", difference, "m"),
        "spec.power" if difference.seen.as_deref().is_some_and(|seen| seen != "running") => {
            let stopped = FieldDiff { seen: Some("Stopped".into()), ..difference.clone() };
            keep::plain(spec, &stopped)
        }
        field if AS_SEEN.contains(&field) => keep::plain(spec, difference),
        _ => Err(keep::NOT_A_WISH.into()),
    }
}

fn quantity(spec: &mut Value, name: &str, difference: &FieldDiff, unit: &str) -> Result<(), String> {
    let Some(seen) = &difference.seen else { return keep::plain(spec, difference) };
    spec["resources"][name] = format!("{seen}{unit}").into();
    Ok(())
}

#[cfg(test)]
mod tests {
    use hearth_meta::FieldDiff;
    use hearth_meta::difference::SECRET;
    use serde_json::json;

    use super::keep;

    #[test]
    fn what_a_container_is_known_by_in_the_spec_can_be_kept_and_nothing_else() {
        let mut spec = json!({"image": {"ref": "a", "digest": "d"}, "power": "Running",
            "env": [{"name": "TZ", "value": "UTC"}], "stop": {"graceSeconds": 10}});
        let kept = [
            ("spec.env[TZ]", Some("Europe/Paris")),
            ("spec.labels[who]", Some("me")),
            ("spec.resources.memoryLimit", Some("67108864")),
            ("spec.resources.cpuLimit", Some("500")),
            ("spec.stop.graceSeconds", Some("20")),
            ("spec.power", Some("exited")),
            ("spec.user", Some("0755")),
        ];
        for (field, seen) in kept {
            keep(&mut spec, &FieldDiff::new(field, None, seen.map(str::to_owned))).unwrap();
        }
        let expected = json!({"image": {"ref": "a", "digest": "d"}, "power": "Stopped",
            "env": [{"name": "TZ", "value": "Europe/Paris"}], "stop": {"graceSeconds": 20}, "user": "0755",
            "labels": [{"name": "who", "value": "me"}],
            "resources": {"memoryLimit": "67108864", "cpuLimit": "500m"}});
        assert_eq!(spec, expected);
        for field in
            ["spec.image", "spec.mounts", "spec.networks[a]", "sandbox", "metadata.name", "spec.ports"]
        {
            let refused = keep(&mut spec, &FieldDiff::new(field, None, Some("x".into())));
            assert!(refused.is_err(), "{field}");
        }
        let secret =
            FieldDiff::new("spec.env[PW]", Some(SECRET.into()), Some(format!("{SECRET}, another one")));
        assert!(keep(&mut spec, &secret).unwrap_err().contains("secret"));
        assert_eq!(spec, expected, "what is refused changes nothing");
    }
}
