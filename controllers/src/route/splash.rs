//! The pages of ours that answer in an app's place (AL-57): it is starting, it is stopped, it failed.
//!
//! They refresh themselves and need nothing from outside, so they work while everything else does not.

use hearth_capabilities::proxy::Answer;
use hearth_kinds::route::Splash;

/// How often a page looks again, in seconds.
const REFRESH_SECONDS: u32 = 2;

/// The page for a thing called `title`.
pub(super) fn page(title: &str, splash: Option<Splash>) -> Answer {
    let (heading, text) = match splash.unwrap_or(Splash::Starting) {
        Splash::Starting => ("is starting", "This page opens it as soon as it is ready."),
        Splash::Stopped => ("is stopped", "It was stopped on purpose. Start it again in Hearth."),
        Splash::Failed => ("does not run", "Something is wrong with it. Hearth says what, and keeps trying."),
    };
    let title = escape(title);
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
<meta http-equiv=\"refresh\" content=\"{REFRESH_SECONDS}\"><title>{title} {heading}</title>\
<style>body{{font:18px/1.5 system-ui,sans-serif;display:grid;place-items:center;min-height:100vh;margin:0;\
color:#222;background:#faf7f2}}main{{text-align:center;padding:2rem}}\
@media(prefers-color-scheme:dark){{body{{color:#eee;background:#1c1a18}}}}</style></head>\
<body><main role=\"status\"><h1>{title} {heading}</h1><p>{text}</p></main></body></html>"
    );
    Answer::Page { status: 503, html }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
