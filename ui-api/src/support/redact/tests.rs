//! What is given away holds none of the secrets, and still says what it is about.

use serde_json::{Value, json};

use super::{LAST_APPLIED, REDACTED, Redactor};

fn clean(value: &Value) -> String {
    let mut redactor = Redactor::default();
    redactor.study(value);
    redactor.value(value).to_string()
}

const COMPOSE: &str = "# root pw plant-05
services:
  web:
    image: a # plant-06
    command: [\"--token\", \"plant-07\", --secret=plant-08]
    environment:
      PASSWORD: plant-09
      URL: postgres://joe:plant-10@db/x
      CERT: |
        MIIplant11+/=
      API_KEY: >-
        plant-12
        plant-13
      FREE: Aplant/14==
    labels: { basic.auth: 'joe:plant-15' }
  db:
    environment: [ROOT_PASSWORD=plant-16, \"LONG=pl ant 17\"]
configs:
  c:
    content: |
      user plant-18
";

#[test]
fn every_place_where_people_put_secrets_is_found() {
    let test = "curl -H 'Authorization: Bearer plant-21abc' http://joe:plant-22@x/ -u --password plant-23";
    let planted = json!({
        "kind": "List",
        "items": [
            { "kind": "Secret", "metadata": { "name": "s" }, "data": { "pw": "plant-00" } },
            {
                "kind": "App",
                "metadata": { "annotations": { "note": "the admin password is: plant-01", "x/token": "plant-02" } },
                "spec": {
                    "values": [
                        { "name": "DB_PASSWORD", "value": "plant-03" }, { "name": "MOTD", "value": "Plant 04!" },
                    ],
                    "compose": COMPOSE,
                },
            },
            { "kind": "Container", "spec": {
                "command": ["run", "--admin-password", "plant-19"],
                "env": [{ "name": "SESSION_SALT", "value": "plant-20" }],
                "health": { "test": ["CMD-SHELL", test] },
            } },
        ],
        "differences": [
            { "field": "spec.values", "wanted": "[{\"name\":\"OTHER_TOKEN\",\"value\":\"plant-24\"}]" },
            { "field": "spec.env.FREE", "wanted": "Plant 25" },
        ],
        "events": ["login with plant-03 failed", "cGxhbnQtMDM= was sent"],
        "lines": "-----BEGIN PRIVATE KEY-----\nplant-26\n-----END PRIVATE KEY-----\nx",
    });
    let clean = clean(&planted);
    for number in 0..=26 {
        for lead in ["plant-", "Plant ", "plant", "plant/"] {
            let form = format!("{lead}{number:02}");
            assert!(!clean.contains(&form), "{form} in\n{clean}");
        }
    }
    for form in ["pl ant 17", "MIIplant11", "cGxhbnQtMDM"] {
        assert!(!clean.contains(form), "{form} in\n{clean}");
    }
}

#[test]
fn what_helps_a_helper_stays() {
    let digest = "sha256:7173b809ca12ec5dee4506cd86be934c4596dd234ee82c0662eac04a8c2c71dc";
    let compose = format!(
        "services:\n  web:\n    image: ghcr.io/example/photos@{digest}\n    environment:\n      TZ: Europe/Paris\n      PUID: 1000\n      DEBUG: \"true\"\n      DB_HOST: db\n      PW: ${{PW}}\n    volumes: [\"./data:/data\"]\n    depends_on: {{ db: {{ condition: service_healthy }} }}\n"
    );
    let kept = json!({
        "kind": "App",
        "metadata": { "name": "photos", "uid": "3d9c1a52-31f5-43f7-9a2b-4f7f2e3a9d10", "resourceVersion": "12" },
        "spec": {
            "compose": compose,
            "values": [
                { "name": "TZ", "value": "Europe/Paris" },
                { "name": "PW", "valueFrom": { "secretKeyRef": { "name": "vault", "key": "pw" } } },
            ],
        },
        "status": {
            "summary": "Waiting", "reason": "SecretMissing", "message": "Secret vault does not exist",
            "url": "http://photos.local",
        },
    });
    let clean = clean(&kept);
    for part in [
        digest,
        "TZ: Europe/Paris",
        "PUID: 1000",
        "DB_HOST: db",
        "PW: ${PW}",
        "./data:/data",
        "service_healthy",
        "\"key\":\"pw\"",
        "SecretMissing",
        "Secret vault does not exist",
        "http://photos.local",
        "3d9c1a52-31f5-43f7-9a2b-4f7f2e3a9d10",
    ] {
        assert!(clean.contains(part), "{part} in\n{clean}");
    }
    assert!(!clean.contains(REDACTED), "{clean}");
}

#[test]
fn a_known_secret_goes_from_logs_in_every_form_in_which_it_may_be_repeated() {
    let mut redactor = Redactor::default();
    redactor.learn("p@ss \"word\"/1");
    for said in [
        "got p@ss \"word\"/1!",
        "{\"x\":\"p@ss \\\"word\\\"/1\"}",
        "cEBzcyAid29yZCIvMQ==",
        "q=p%40ss%20%22word%22%2F1",
    ] {
        let clean = redactor.text(said);
        assert!(clean.contains(REDACTED) && !clean.contains("word"), "{said}: {clean}");
    }
    assert_eq!(redactor.count(), 4);
}

#[test]
fn what_kubectl_keeps_of_a_secret_goes_though_it_ends_its_json_with_a_new_line() {
    let applied =
        "{\"kind\":\"Secret\",\"stringData\":{\"a\":\"plant-1\"},\"data\":{\"b\":\"cGxhbnQtMg==\"}}\n";
    let planted = json!({
        "kind": "SecretList",
        "items": [{ "metadata": { "annotations": { LAST_APPLIED: applied } } }],
        "note": applied,
        "said": "plant-1 and plant-2 and cGxhbnQtMg==",
    });
    let clean = clean(&planted);
    assert!(!clean.contains("plant") && !clean.contains("cGxhbnQtM"), "{clean}");
    let broken =
        json!({ "annotations": { LAST_APPLIED: "{\"kind\":\"Secret\",\"stringData\":{\"a\":\"pl" } });
    assert!(!self::clean(&broken).contains("pl\""), "{broken}");
    let app =
        json!({ "annotations": { LAST_APPLIED: "{\"kind\":\"App\",\"spec\":{\"slug\":\"photos\"}}\n" } });
    assert!(self::clean(&app).contains("photos"), "that of another kind helps a helper");
}

#[test]
fn a_value_of_a_telling_name_goes_whole_whatever_is_in_it() {
    for said in [
        "services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: hunter,two2secret\n      TZ: Europe/Paris\n",
        "A=1\nPOSTGRES_PASSWORD=hunter} two2secret\n",
        "A=1\nPOSTGRES_PASSWORD={hunter] two2secret\n",
        "environment:\n  - POSTGRES_PASSWORD=hunter'two2secret\n",
        "export DB_PW=hunter, two2secret\nx",
        "db_password=hunter,two2secret",
        "db_password=hunter}two2secret",
        "environment: { PASSWORD: hunter]two2secret, TZ: Europe/Paris }",
    ] {
        let mut redactor = Redactor::default();
        redactor.study(&said.into());
        let clean = redactor.text(said);
        assert!(clean.contains(REDACTED) && !clean.contains("two2") && !clean.contains("hunter"), "{clean}");
        assert_eq!(clean.contains("Europe/Paris"), said.contains("Europe/Paris"), "{clean}");
    }
}

#[test]
fn short_words_tell_only_where_they_stand_for_themselves() {
    for name in ["PW", "DB_PW", "db.pw", "ADMIN_PIN", "pin", "adminPin", "masterKey", "pw2", "x-pin-code"] {
        let clean = clean(&json!({ name: "plant-1", "text": format!("{name}=plant-2") }));
        assert!(!clean.contains("plant"), "{name}: {clean}");
    }
    for name in ["spin", "ping", "pinned", "opinion", "monkey", "key", "spwn"] {
        let clean = clean(&json!({ name: "plant", "text": format!("{name}=plant") }));
        assert!(!clean.contains(REDACTED), "{name}: {clean}");
    }
}

#[test]
fn what_is_taken_out_of_a_variable_or_lies_within_a_secret_goes_from_logs_too() {
    let mut redactor = Redactor::default();
    redactor.study(&json!({ "values": [{ "name": "MOTD", "value": "Plant 04!" }] }));
    redactor.learn_value("{\"auths\":{\"x\":{\"auth\":\"plant-05\"}},\"n\":1234567890}\n");
    redactor.learn_value("A=1\nexport B=\"plant-06\"\n");
    for said in ["he said Plant 04!", "got plant-05", "got 1234567890", "got plant-06"] {
        assert!(redactor.text(said).ends_with(REDACTED), "{said}");
    }
}
