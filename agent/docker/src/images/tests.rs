//! What Docker 20.10 really said of images and pulls, and what it means.

use bollard::models::{CreateImageInfo, ImageInspect};
use hearth_capabilities::images::PullProgress;

use super::pull::Sum;
use super::{Image, ImageCache, REMEMBERED, facts_from, image_from, is_meant};
use crate::names::Reference;

fn pulled() -> ImageInspect {
    serde_json::from_str(include_str!("captured/image-pulled.json")).unwrap()
}

#[test]
fn the_digest_is_the_one_under_the_references_own_name() {
    let digest = |reference: &str, digests: &[&str]| {
        let mut seen = pulled();
        seen.repo_digests = Some(digests.iter().map(|&digest| digest.to_owned()).collect());
        facts_from(&Reference::parse(reference).unwrap(), seen).digest
    };
    let (one, two) = (format!("sha256:{}", "1".repeat(64)), format!("sha256:{}", "2".repeat(64)));
    let (here, hub) = (format!("127.0.0.1:5000/library/x@{one}"), format!("x@{two}"));
    let all = [here.as_str(), hub.as_str()];
    assert_eq!(digest("127.0.0.1:5000/library/x:1", &all), Some(one.clone()));
    assert_eq!(digest("x:1", &all), Some(two.clone()));
    assert_eq!(digest("docker.io/library/x", &all), Some(two.clone()));
    assert_eq!(digest("y:1", &all), None);
    assert_eq!(digest("x:1", &[]), None, "what was never pushed has none");
    let both = [format!("x@{one}"), format!("x@{two}")];
    let both = [both[0].as_str(), both[1].as_str()];
    assert_eq!(digest(&format!("x@{two}"), &both), Some(two));
    assert_eq!(digest("x", &both), Some(one));
}

#[test]
fn a_captured_image_is_read_whole() {
    let facts = facts_from(&Reference::parse("127.0.0.1:39315/sample/web:1").unwrap(), pulled());
    assert!(facts.id.starts_with("sha256:86c70913"));
    assert!(facts.digest.unwrap().starts_with("sha256:8b0811ec"));
    assert_eq!(facts.size_bytes, 1_988_108);
    assert_eq!(facts.volumes, Vec::<String>::new());
    let seen: ImageInspect = serde_json::from_str(include_str!("captured/image.json")).unwrap();
    let image = image_from(&seen);
    assert_eq!(facts_from(&Reference::parse("x:1").unwrap(), seen).volumes, ["/kept"]);
    assert_eq!(image.defaults.command, ["true"]);
    assert_eq!((image.defaults.working_dir.as_str(), image.defaults.user.as_str()), ("/srv", "1000"));
    assert_eq!(image.defaults.volumes, ["/kept"]);
    assert_eq!(image.defaults.labels.get("org.example.said-by").map(String::as_str), Some("image"));
}

#[test]
fn the_beginning_of_an_id_is_not_meant() {
    let mut seen = pulled();
    let meant = |word: &str, seen: &ImageInspect| is_meant(&Reference::parse(word).unwrap(), seen);
    assert!(!meant("86c70913db8a", &seen));
    assert!(meant("127.0.0.1:39315/sample/web", &seen));
    seen.repo_tags = Some(vec!["cafe:latest".to_owned()]);
    assert!(meant("cafe", &seen), "an image may be named like that");
}

#[test]
fn a_captured_pull_sums_to_its_size() {
    let mut sum = Sum::default();
    let reports: Vec<PullProgress> = include_str!("captured/pull.jsonl")
        .lines()
        .map(|line| sum.after(&serde_json::from_str(line).unwrap()))
        .collect();
    assert_eq!(reports[0], PullProgress::default());
    assert!(reports.contains(&PullProgress { done_bytes: 36_445, total_bytes: 3_001_132 }));
    assert_eq!(reports.last(), Some(&PullProgress { done_bytes: 3_001_132, total_bytes: 3_001_132 }));
}

#[test]
fn layers_add_up_and_a_retry_begins_again() {
    let mut sum = Sum::default();
    let mut say = |layer: &str, status: &str, current: i64, total: i64| {
        let line = serde_json::json!({
            "id": layer, "status": status, "progressDetail": { "current": current, "total": total },
        });
        let message: CreateImageInfo = serde_json::from_value(line).unwrap();
        let PullProgress { done_bytes, total_bytes } = sum.after(&message);
        (done_bytes, total_bytes)
    };
    assert_eq!(say("a", "Downloading", 10, 100), (10, 100));
    assert_eq!(say("b", "Downloading", 5, 50), (15, 150));
    assert_eq!(say("a", "Download complete", 0, 0), (105, 150));
    assert_eq!(say("a", "Extracting", 30, 100), (105, 150));
    assert_eq!(say("b", "Downloading", 0, 50), (100, 150));
    assert_eq!(say("c", "Downloading", 7, -1), (107, 157));
    assert_eq!(say("d", "Already exists", 0, 0), (107, 157));
}

#[test]
fn what_is_remembered_of_images_is_bounded() {
    let cache = ImageCache::default();
    for number in 0..REMEMBERED + 10 {
        cache.keep(&number.to_string(), &Image::default().into());
    }
    assert!(cache.find("0").is_none());
    assert!(cache.find(&(REMEMBERED + 9).to_string()).is_some());
    assert!(cache.0.lock().unwrap().len() <= REMEMBERED);
}
