//! How many published files become packages, and why the rest does not.

use std::collections::{BTreeMap, BTreeSet};

use hearth_charts::import::{Outcome, Request, SetApart, ValueKind, import};

use crate::corpus;

fn imported(text: &str, name: Option<&str>) -> Outcome {
    import(&Request { file: "compose.yml", text, name, template: None })
}

fn ours(outcome: &Outcome) -> &str {
    let files = outcome.files.as_ref().unwrap_or_else(|| panic!("refused: {:#?}", outcome.report.refused));
    &files["compose.yml"]
}

/// A reason without its names, so that files with the same one stand together.
fn kind(reason: &str) -> String {
    let mut out = String::new();
    for (index, part) in reason.split('`').enumerate() {
        out.push_str(if index % 2 == 0 { part } else { "..." });
    }
    let shorter = out.rsplit("compose.yml:").next().unwrap_or(&out);
    shorter
        .trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c == ' ')
        .chars()
        .take(90)
        .collect()
}

#[test]
fn nine_of_ten_published_files_become_packages() {
    let (cases, real) = corpus::cases();
    let mut table: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut by_catalogue: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    let (mut importable, mut apart, mut asked) = (0, 0, 0);
    for case in &cases {
        let (catalogue, app) = case.name.split_once('/').unwrap();
        let outcome = imported(&case.text, Some(&app.to_lowercase()));
        let counts = by_catalogue.entry(catalogue).or_default();
        counts.0 += 1;
        if outcome.files.is_some() {
            importable += 1;
            counts.1 += 1;
            asked += usize::from(!outcome.report.asked.is_empty());
            continue;
        }
        let set_apart = match (outcome.report.set_apart, &case.expected) {
            (Some(SetApart::Build), _) => Some("set apart: needs a build"),
            (Some(SetApart::Host), _) => Some("set apart: manages the host itself"),
            (_, None) => Some("set apart: Docker Compose refuses it too"),
            _ => None,
        };
        if let Some(why) = set_apart {
            apart += 1;
            counts.2 += 1;
            table.entry(why.to_owned()).or_default().insert(&case.name);
        } else {
            for entry in &outcome.report.refused {
                table.entry(kind(&entry.reason)).or_default().insert(&case.name);
            }
        }
    }
    let rest = cases.len() - apart;
    println!(
        "importable: {importable} of {rest} ({apart} of {} set apart, {asked} ask something)",
        cases.len()
    );
    for (catalogue, (all, good, apart)) in by_catalogue {
        println!("  {catalogue}: {good} of {} ({apart} of {all} set apart)", all - apart);
    }
    if std::env::var_os("HEARTH_SHOW_HOST").is_some() {
        show_host(&cases);
    }
    let mut rows: Vec<_> = table.into_iter().collect();
    rows.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    for (why, files) in rows {
        println!(
            "  {:4}  {why}: {}",
            files.len(),
            files.iter().take(6).copied().collect::<Vec<_>>().join(" ")
        );
    }
    if real {
        assert!(importable * 10 >= rest * 9, "{importable} of {rest}");
    }
}

#[test]
fn a_coolify_file_gets_its_front_its_values_and_its_folders() {
    let text = r#"
# port: 8000
services:
  web:
    image: example/web:1
    environment:
      - SERVICE_URL_WEB_8000
      - DATABASE_URL=postgres://${SERVICE_USER_POSTGRES}:${SERVICE_PASSWORD_POSTGRES}@db/${POSTGRES_DB:-web}
      - ADMIN_EMAIL=${ADMIN_EMAIL}
      - PRICE=5$$
    volumes: ["web-data:/data", "/etc/localtime:/etc/localtime:ro"]
    exclude_from_hc: true
  db:
    image: postgres:17
    command: postgres -c "password=${SERVICE_PASSWORD_POSTGRES}"
    container_name: db
    restart: always
    volumes: ["pg:/var/lib/postgresql/data"]
"#;
    let outcome = imported(text, Some("shop"));
    let report = &outcome.report;
    assert_eq!((report.main_service.as_deref(), report.main_port), (Some("web"), Some(8000)));
    let values: Vec<_> = report.values.iter().map(|value| (value.name.as_str(), value.kind)).collect();
    let wanted = [
        ("ADMIN_EMAIL", ValueKind::Asked),
        ("SERVICE_PASSWORD_POSTGRES", ValueKind::Secret),
        ("SERVICE_URL_WEB_8000", ValueKind::Asked),
        ("SERVICE_USER_POSTGRES", ValueKind::Plain),
    ];
    assert_eq!(values, wanted);
    let file = ours(&outcome);
    for line in [
        r#"DATABASE_URL: "postgres://${SERVICE_USER_POSTGRES}:${SERVICE_PASSWORD_POSTGRES}@db/web""#,
        r#"PRICE: "5$$""#,
        r#"- "./web-data:/data""#,
        r#"- "exec postgres -c password=\"$${SERVICE_PASSWORD_POSTGRES}\"""#,
    ] {
        assert!(file.contains(line), "{line} is not in\n{file}");
    }
    assert_eq!(outcome.files.as_ref().unwrap()["author/compose.yml"], text);
    assert!(report.dropped.iter().any(|entry| entry.field == "services.db.container_name"), "{report:#?}");
}

#[test]
fn a_dokploy_template_names_the_front_and_tells_secrets_from_settings() {
    let text = "services: {web: {image: w, environment: [\"A=${PW}\", \"B=${HOST}\", \"C=${MODE}\"]}, x: {image: x, ports: [1]}}";
    let template = "[variables]\npw = \"${password:32}\"\nmain = \"${domain}\"\n[config]\nenv = [\"PW=${pw}\", \"HOST=${main}\", \"MODE=fast\"]\n[[config.domains]]\nserviceName = \"web\"\nport = 5678\nhost = \"${main}\"\n";
    let request = Request { file: "compose.yml", text, name: None, template: Some(template) };
    let report = import(&request).report;
    assert_eq!((report.main_service.as_deref(), report.main_port), (Some("web"), Some(5678)));
    let values: Vec<_> =
        report.values.iter().map(|v| (v.name.as_str(), v.kind, v.default.as_str())).collect();
    let wanted =
        [("HOST", ValueKind::Asked, ""), ("MODE", ValueKind::Plain, "fast"), ("PW", ValueKind::Secret, "")];
    assert_eq!(values, wanted);
}

#[test]
fn an_umbrel_file_gets_its_front_from_the_proxy_it_names() {
    let text = r#"services: {app_proxy: {environment: {APP_HOST: notes_web_1, APP_PORT: 3000}}, web: {image: w, volumes: ["${APP_DATA_DIR}/db:/db"]}, db: {image: postgres:17}}"#;
    let outcome = imported(text, Some("notes"));
    assert!(ours(&outcome).contains(r#"- "./db:/db""#), "{}", ours(&outcome));
    assert_eq!((outcome.report.main_service.as_deref(), outcome.report.main_port), (Some("web"), Some(3000)));
    assert!(!ours(&outcome).contains("app_proxy"));
}

#[test]
fn what_cannot_be_carried_is_refused_by_field_and_nothing_is_written() {
    let text = r#"services: {a: {image: a, volumes: ["/var/run/docker.sock:/x", "./nginx.conf:/etc/nginx/nginx.conf"]}}"#;
    let outcome = imported(text, None);
    assert!(outcome.files.is_none());
    let fields: Vec<_> = outcome.report.refused.iter().map(|entry| entry.field.as_str()).collect();
    assert_eq!(fields, ["services.a.volumes[0]", "services.a.volumes[1]"]);
}

#[test]
fn a_secret_in_a_health_check_is_read_from_the_environment() {
    let text =
        r#"services: {a: {image: a, healthcheck: {test: [CMD, redis-cli, -a, "${REDIS_PASSWORD}", ping]}}}"#;
    let outcome = imported(text, None);
    let file = ours(&outcome);
    assert!(file.contains(r#"- "redis-cli -a \"$${REDIS_PASSWORD}\" ping""#), "{file}");
    assert!(file.contains(r#"REDIS_PASSWORD: "${REDIS_PASSWORD}""#), "{file}");
}

#[test]
fn configs_and_secrets_are_carried_and_what_was_in_a_file_becomes_a_secret_value() {
    let text = r#"
services:
  db:
    image: mariadb:11
    secrets: [db-password, tls]
    configs: [{source: my.cnf, target: /etc/mysql/conf.d/my.cnf}]
    environment: [MYSQL_PASSWORD_FILE=/run/secrets/db-password]
  web:
    image: example/web:1
    ports: ["80:80"]
    secrets: [db-password]
    configs: [unused, setup]
secrets:
  db-password: {file: db/password.txt}
  tls: {file: ./tls.pem}
configs:
  my.cnf: {content: "[mysqld]\nuser=${DB_USER:-app} $$PATH"}
  unused: {content: a}
  setup: {environment: SETUP}
  nobody: {file: ./x}
"#;
    let outcome = imported(text, Some("shop"));
    let file = ours(&outcome);
    for line in [
        "  db-password:\n    environment: \"DB_PASSWORD\"",
        "  my.cnf:\n    content: \"[mysqld]\\nuser=app $$PATH\"",
        "  setup:\n    environment: \"SETUP\"",
    ] {
        assert!(file.contains(line), "{line} is not in\n{file}");
    }
    let values: Vec<_> =
        outcome.report.values.iter().map(|value| (value.name.as_str(), value.kind)).collect();
    let wanted =
        [("DB_PASSWORD", ValueKind::Secret), ("SETUP", ValueKind::Asked), ("TLS", ValueKind::Secret)];
    assert_eq!(values, wanted);
    let asked: Vec<_> = outcome.report.asked.iter().map(|entry| entry.field.as_str()).collect();
    assert_eq!(asked, ["secrets.tls.file"], "a password may be any word, a certificate may not");
}

#[test]
fn a_file_that_another_tool_writes_at_install_becomes_a_config_with_its_dollars() {
    let text = r#"
services:
  web:
    image: nginx:1
    ports: ["80:80"]
    volumes:
      - type: bind
        source: ./nginx.conf
        target: /etc/nginx/nginx.conf
        content: "server { return 200 $host; }"
      - "data:/data"
"#;
    let outcome = imported(text, None);
    let file = ours(&outcome);
    assert!(file.contains(r#"content: "server { return 200 $$host; }""#), "{file}");
    assert!(file.contains(r#"{"source": "web-1", "target": "/etc/nginx/nginx.conf"}"#), "{file}");
    assert!(file.contains(r#"- "./data:/data""#), "{file}");
}

#[test]
fn a_restart_makes_a_job_only_of_what_serves_nobody() {
    let text = r#"
services:
  web: {image: w, restart: on-failure, ports: ["80:80"], depends_on: {migrate: {condition: service_completed_successfully}}}
  db: {image: "mongo:7", restart: on-failure}
  search: {image: s, restart: "no", expose: [7700]}
  setup: {image: w, restart: "no"}
  migrate: {image: w, restart: on-failure}
"#;
    let outcome = imported(text, None);
    let file = ours(&outcome);
    let kept: Vec<_> = outcome
        .report
        .kept
        .iter()
        .filter(|entry| entry.field.ends_with(".restart"))
        .map(|entry| entry.field.as_str())
        .collect();
    assert_eq!(kept, ["services.migrate.restart", "services.setup.restart"], "{file}");
}

fn show_host(cases: &[corpus::Case]) {
    for case in cases {
        let report = imported(&case.text, None).report;
        if report.set_apart == Some(SetApart::Host) {
            let refused: Vec<_> =
                report.refused.iter().map(|entry| format!("{}: {}", entry.field, entry.reason)).collect();
            println!("{}: {}", case.name, refused.join(" | "));
        }
    }
}
