//! The pure beats of the route controller are tested through the whole set in `testbed`; here, the pages.

use hearth_capabilities::proxy::Answer;
use hearth_kinds::route::Splash;

use super::splash::page;

#[test]
fn pages_refresh_themselves_need_nothing_from_outside_and_escape_names() {
    for splash in [Splash::Starting, Splash::Stopped, Splash::Failed] {
        let Answer::Page { status, html } = page("<b>Photos</b>", Some(splash)) else {
            panic!("a splash is a page")
        };
        assert_eq!(status, 503);
        assert!(
            html.contains("http-equiv=\"refresh\"")
                && !html.contains("http://")
                && !html.contains("https://")
        );
        assert!(!html.contains("<b>"), "{html}");
    }
}
