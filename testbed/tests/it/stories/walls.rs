//! What an app cannot reach: the proxy's admin, Hearth's own network, another app.

use serde_json::Value;

use crate::home::{Home, on_real, page};

#[test]
fn real_an_app_reaches_neither_the_admin_of_the_proxy_nor_another_app() {
    on_real(walls);
}

async fn walls(home: &Home) {
    home.install(&page(home, "inside").await).await;
    home.install(&page(home, "other").await).await;
    let real = home.world.real().expect("only a real machine has walls");
    let inside = home.engine_name("inside-web");
    let connects = async |address: &str, port: u16| {
        let words = ["timeout", "3", "nc", "-w", "2", address, &port.to_string(), "-e", "true"];
        real.exec(&inside, &words).await.0 == 0
    };
    let address = |seen: &Value, network: &str| {
        let networks = &seen["NetworkSettings"]["Networks"];
        networks[network]["IPAddress"].as_str().filter(|ip| !ip.is_empty()).map(str::to_owned)
    };

    let caddy = real.inspect(&home.engine_name("system/caddy")).await;
    let beside =
        address(&caddy, &home.engine_name("inside")).expect("the proxy is a guest of the app's network");
    assert!(connects("127.0.0.1", 8080).await, "it reaches itself, so the question can be asked");
    assert!(connects(&beside, 80).await, "it reaches pages through the proxy, as any device can");
    assert!(!connects(&beside, 2019).await, "the admin listens on no port");

    let control =
        address(&caddy, &home.engine_name("system/control")).expect("the proxy is on Hearth's own network");
    for port in [80, 443, 2019] {
        assert!(!connects(&control, port).await, "port {port} of Hearth's own network");
    }
    let other = real.inspect(&home.engine_name("other-web")).await;
    let other = address(&other, &home.engine_name("other")).expect("it runs");
    assert!(!connects(&other, 8080).await, "another app by its address");
    let name = home.engine_name("other-web");
    assert!(!connects(&name, 8080).await, "another app by the name {name}");
    let mounts = real.inspect(&inside).await["Mounts"].to_string();
    assert!(!mounts.contains("admin") && !mounts.contains("docker.sock"), "{mounts}");
}
