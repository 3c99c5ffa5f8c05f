//! The drift matrix: every class, under each policy, and what is done, told and tried again (hazards 3.4).

use hearth_engine::driver::Class;
use hearth_engine::store::EventQuery;
use serde_json::json;

use crate::running::Running;

/// What has become of a thing when it is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    Untouched,
    ForeignInItsPlace,
    DiedOverAStep,
    DiedOverADangerousStep,
    WishChangedToo,
    FieldChanged,
    Gone,
    SwitchedOff,
    FieldChangedAndSwitchedOff,
    KeyOfASetChanged,
    KeyOfASetGone,
    InTheDark,
}

/// The cases of a class. A class that is new has none, and does not compile.
fn cases(class: Class) -> &'static [Case] {
    match class {
        Class::InSync => &[Case::Untouched],
        Class::Unowned => &[Case::ForeignInItsPlace],
        Class::Interrupted => &[Case::DiedOverAStep, Case::DiedOverADangerousStep],
        Class::Pending => &[Case::WishChangedToo],
        Class::Drifted => &[
            Case::FieldChanged,
            Case::Gone,
            Case::SwitchedOff,
            Case::FieldChangedAndSwitchedOff,
            Case::KeyOfASetChanged,
            Case::KeyOfASetGone,
        ],
    }
}

/// What came of it.
#[derive(Debug, PartialEq)]
struct Row {
    steps: Vec<&'static str>,
    verdict: &'static str,
    /// The condition `Drifted`, where there is one.
    drifted: &'static str,
    /// Events but those of the steps themselves.
    told: Vec<&'static str>,
    is_tried_again: bool,
}

fn expected(case: Case, reports: bool) -> Row {
    let row = |steps: &[&'static str], verdict| Row {
        steps: steps.to_vec(),
        verdict,
        drifted: "",
        told: Vec::new(),
        is_tried_again: false,
    };
    let repaired = |steps: &[&'static str]| Row { told: vec!["Drifted"], ..row(steps, "Ready InSync") };
    let reported =
        Row { drifted: "True Drifted", told: vec!["DriftReported"], ..row(&[], "NeedsYou Drifted") };
    match case {
        Case::Untouched => row(&[], "Ready InSync"),
        Case::InTheDark => Row { is_tried_again: true, ..row(&[], "Degraded CannotSee") },
        Case::ForeignInItsPlace => row(&[], "NeedsYou NotOurs"),
        Case::DiedOverAStep | Case::WishChangedToo => row(&["Paint a blue"], "Ready InSync"),
        Case::DiedOverADangerousStep => row(&[], "NeedsYou Interrupted"),
        // Whether it is there, and whether it runs, is put right under every policy.
        Case::Gone => repaired(&["Install a", "Paint a red"]),
        Case::SwitchedOff => repaired(&["Light a"]),
        Case::KeyOfASetGone => repaired(&["Write 1 signs"]),
        Case::FieldChanged | Case::FieldChangedAndSwitchedOff | Case::KeyOfASetChanged if reports => reported,
        Case::FieldChanged => repaired(&["Paint a red"]),
        Case::FieldChangedAndSwitchedOff => repaired(&["Paint a red", "Light a"]),
        Case::KeyOfASetChanged => repaired(&["Write 1 signs"]),
    }
}

fn kind_of(case: Case) -> &'static str {
    if matches!(case, Case::KeyOfASetChanged | Case::KeyOfASetGone) { "Sign" } else { "Lamp" }
}

/// Brings a home into the case; what happens from then on is what the row tells.
async fn met(case: Case, policy: &str) -> Running {
    let mut engine = Running::new().await;
    let ways = match case {
        Case::DiedOverAStep => vec!["slow"],
        Case::DiedOverADangerousStep => vec!["slow", "dangerous"],
        _ => Vec::new(),
    };
    let died = !ways.is_empty();
    let mut spec = json!({"color": "red", "ways": ways, "driftPolicy": policy});
    if kind_of(case) == "Sign" {
        spec = json!({"text": "hello", "driftPolicy": policy});
    }
    let metadata = json!({"name": "a", "namespace": "den"});
    engine.home.create(json!({"kind": kind_of(case), "metadata": metadata, "spec": spec})).await.unwrap();
    engine.seconds(2).await;
    if died {
        engine.world.gate.send_replace(false);
        engine.paint("a", "blue").await;
        let began = |engine: &Running| engine.world.lock().steps.iter().any(|step| step.ends_with("blue"));
        engine.until("the slow step", began).await;
        let (home, world) = engine.ended(true).await;
        world.gate.send_replace(true);
        engine = Running::over(home, world, None);
    }
    if !died {
        engine.world.done();
    }
    engine
}

async fn come_about(case: Case, engine: &Running) {
    let world = &engine.world;
    match case {
        Case::Untouched | Case::DiedOverAStep | Case::DiedOverADangerousStep => {}
        Case::InTheDark => world.lock().blind = true,
        Case::ForeignInItsPlace => world.screw_in("a", "of another", "another lineage"),
        Case::WishChangedToo => {
            world.paint("a", "green");
            engine.paint("a", "blue").await;
        }
        Case::FieldChanged => world.paint("a", "green"),
        Case::Gone => drop(world.lock().bulbs.remove("a")),
        Case::SwitchedOff => world.switch_off("a"),
        Case::FieldChangedAndSwitchedOff => {
            world.paint("a", "green");
            world.switch_off("a");
        }
        Case::KeyOfASetChanged => drop(world.lock().signs.insert("a".into(), "bye".into())),
        Case::KeyOfASetGone => world.lock().signs.clear(),
    }
}

async fn told(engine: &Running, case: Case) -> Vec<String> {
    let query = EventQuery { kind: Some(kind_of(case).into()), ..EventQuery::default() };
    // Events go down with the next batch; this one is after them.
    let _ = engine.home.delete(hearth_engine::Key::new("Card", "den", "not there")).await;
    let rows = engine.home.store.events(&query).await.unwrap();
    let reasons = rows.into_iter().map(|row| row.note.reason);
    reasons.filter(|reason| !["Done", "Written"].contains(&reason.as_str())).collect()
}

async fn check(case: Case, reports: bool) {
    let row = expected(case, reports);
    let engine = met(case, if reports { "Report" } else { "Enforce" }).await;
    if case == Case::DiedOverAStep || case == Case::DiedOverADangerousStep {
        engine.world.done();
    }
    come_about(case, &engine).await;
    engine.engine.wake_all();
    engine.seconds(2).await;
    let at = format!("{case:?}, {}", if reports { "Report" } else { "Enforce" });
    assert_eq!(engine.world.done(), row.steps, "{at}");
    let status = engine.status(kind_of(case), "a");
    let verdict = format!("{:?} {}", status.summary.unwrap(), status.reason.unwrap());
    assert_eq!(verdict, row.verdict, "{at}");
    let condition = status.conditions.iter().find(|condition| condition.type_ == "Drifted");
    let drifted = condition.map(|c| format!("{} {}", c.status, c.reason)).unwrap_or_default();
    assert_eq!(drifted, row.drifted, "{at}");
    assert_eq!(status.drift.is_some(), !row.drifted.is_empty(), "{at}");
    assert_eq!(told(&engine, case).await, row.told, "{at}");
    assert_eq!(status.next_try_at.is_some(), row.is_tried_again, "{at}");
    // What was done holds, and what was not done is not done later either.
    engine.seconds(1300).await;
    assert!(engine.world.done().is_empty(), "{at}");
    assert_eq!(told(&engine, case).await, row.told, "{at}: told once");
}

#[tokio::test]
async fn every_class_is_acted_on_by_its_policy_told_and_tried_again_as_the_matrix_says() {
    for reports in [false, true] {
        for case in Class::ALL.into_iter().flat_map(cases).copied() {
            check(case, reports).await;
        }
        check(Case::InTheDark, reports).await;
    }
}

#[tokio::test]
async fn in_a_fight_what_is_gone_or_switched_off_is_still_put_right_at_once() {
    for case in [Case::FieldChanged, Case::Gone, Case::SwitchedOff, Case::FieldChangedAndSwitchedOff] {
        let engine = met(case, "Enforce").await;
        for _ in 0..30 {
            engine.world.paint("a", "green");
            engine.engine.wake_all();
            engine.seconds(10).await;
        }
        // Now it is just put back, so that the case alone is what is new.
        engine.seconds(600).await;
        engine.world.done();
        come_about(case, &engine).await;
        engine.engine.wake_all();
        engine.seconds(2).await;
        let is_held = case == Case::FieldChanged;
        assert_eq!(engine.world.done().is_empty(), is_held, "{case:?}");
        assert_eq!(
            engine.verdict("a"),
            if is_held { "NeedsYou Contested" } else { "Ready InSync" },
            "{case:?}"
        );
    }
}
