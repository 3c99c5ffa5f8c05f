//! One suite of promises per capability, which the pretend machine and the real one both keep. That is what keeps
//! the pretend one honest.
//!
//! A side that keeps them gives a world ([`ContainerWorld`] for containers, networks, images and events) and makes
//! one test of each promise. [`container_promises`](crate::container_promises) names them all, so that neither side
//! can forget one:
//!
//! ```ignore
//! macro_rules! tests {
//!     ($($room:ident { $($promise:ident)* })*) => {
//!         $(mod $room { $(
//!             #[tokio::test]
//!             async fn $promise() {
//!                 let world = super::world().await;
//!                 hearth_capabilities::contract::keep(&world, concat!(stringify!($room), "::", stringify!($promise))).await;
//!             }
//!         )* })*
//!     };
//! }
//! hearth_capabilities::container_promises!(tests);
//! ```
//!
//! A promise panics when it is broken, as a test does, and leaves nothing behind either way.
#![allow(clippy::panic, reason = "a broken promise fails the test that asked for it")]

pub mod world;
pub mod containers;
pub mod container_facts;
pub mod logs;
pub mod networks;
pub mod images;
pub mod events;
pub mod proxy;
pub mod volumes;
mod files;
mod given;

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures::FutureExt;
use futures::future::BoxFuture;

pub use world::{Check, ContainerWorld, Program, Scene};

/// One promise about containers, networks, images or events.
pub struct Promise {
    /// Its room and its sentence, such as `containers::start_is_repeatable`.
    pub name: &'static str,
    /// Sees whether it is kept.
    pub keep: for<'a> fn(&'a Scene<'a>) -> BoxFuture<'a, ()>,
}

/// Hands every promise about containers, networks, images and events to a macro, as
/// `room { promise promise ... } room { ... }`.
#[macro_export]
macro_rules! container_promises {
    ($callback:ident) => {
        $callback! {
            containers {
                what_is_not_there_is_none
                the_beginning_of_an_id_is_not_a_name
                a_name_that_reaches_elsewhere_is_refused
                a_created_container_does_not_run
                a_name_is_taken_once
                made_again_it_has_another_id
                an_image_that_is_not_here_is_missing
                a_folder_that_is_not_there_is_missing_and_not_made
                every_problem_of_a_bad_request_is_told_at_once
                start_is_repeatable
                what_is_gone_cannot_start
                a_program_that_is_not_there_does_not_start
                without_its_network_it_does_not_start
                a_container_on_no_network_has_none
                once_started_it_has_an_address_and_its_networks_id
                stop_waits_until_it_has_ended
                stop_is_repeatable
                what_ignores_the_signal_is_killed_after_the_grace
                what_was_stopped_can_start_again
                remove_takes_a_running_one_and_is_repeatable
                the_exit_code_is_told
                one_that_failed_is_started_again_where_asked
                one_that_succeeded_is_not_started_again_after_failures_only
                one_that_waits_to_be_started_again_does_not_run
                without_a_check_there_is_no_health
                a_passing_check_makes_it_healthy
                a_failing_check_makes_it_unhealthy
                list_tells_what_carries_the_uid_label_running_or_not
                what_runs_uses_memory_and_time_that_never_runs_back
                what_does_not_run_uses_nothing
                the_engine_tells_its_version
            }
            container_facts {
                what_is_asked_for_comes_back
                what_is_around_it_comes_back
                a_terminal_comes_back_and_its_log_can_be_read
                what_is_not_asked_for_is_the_images_own
                what_the_image_says_is_told
                labels_of_the_image_are_not_the_containers
                every_capability_is_dropped_but_those_named
                folders_come_back_sorted_by_path
                a_folder_over_a_volume_of_the_image_is_the_one_seen
                a_check_comes_back_as_asked
                ports_come_back_sorted
                aliases_are_those_asked_for_and_no_others
                an_entry_point_stands_without_a_command
                facts_and_requests_print_no_secret
            }
            logs {
                lines_come_oldest_first_with_time_and_origin
                only_the_last_lines_where_asked
                only_lines_since_a_time_where_asked
                a_followed_log_ends_with_its_container
                following_a_silent_container_begins_at_once
                what_is_gone_has_no_log
            }
            networks {
                what_is_not_there_is_none
                an_id_is_not_a_name
                a_name_that_reaches_elsewhere_is_refused
                what_is_asked_for_comes_back
                a_name_is_taken_once
                a_subnet_is_taken_once
                a_subnet_that_is_none_is_refused
                remove_is_repeatable
                made_again_it_has_another_id
                one_that_is_in_use_stays
                list_tells_what_carries_the_uid_label
                attached_names_those_that_run
                a_running_container_can_join_and_leave
                a_container_can_join_before_it_starts
                a_stopped_container_keeps_its_place
                joining_what_is_not_there_is_missing
                leaving_what_is_not_there_is_success
            }
            images {
                what_is_not_here_is_none
                what_is_no_reference_is_refused
                the_beginning_of_an_id_is_not_a_name
                a_pull_brings_it_with_its_digest
                tag_digest_and_id_mean_the_same_image
                a_pull_of_what_is_here_is_success
                a_pull_by_digest_brings_exactly_that
                progress_ends_where_it_should
                a_name_the_registry_does_not_know_is_refused
                no_registry_is_failed
                an_id_cannot_be_pulled
                a_dropped_pull_can_be_done_again
                remove_is_repeatable
                one_in_use_stays
            }
            events {
                a_container_tells_its_life
                a_container_tells_whose_it_is
                health_is_told_when_it_changes
                a_network_tells_its_life
                a_network_tells_who_joins_and_leaves
                an_image_tells_that_it_came_and_went
                everybody_who_listens_hears
            }
        }
    };
}

macro_rules! promises {
    ($($room:ident { $($promise:ident)* })*) => {
        /// Every promise about containers, networks, images and events.
        pub const ALL: &[Promise] = &[$($(Promise {
            name: concat!(stringify!($room), "::", stringify!($promise)),
            keep: |scene| Box::pin($room::$promise(scene)),
        }),*),*];
    };
}
container_promises!(promises);

/// Sees whether a world keeps the promise of that name, and clears away what was made for it either way.
///
/// # Panics
/// When the promise is broken, is not known, or something is left behind.
pub async fn keep(world: &dyn ContainerWorld, name: &str) {
    let promise = ALL.iter().find(|promise| promise.name == name).expect("the promise is one of ALL");
    let scene = Scene::new(world);
    let outcome = AssertUnwindSafe((promise.keep)(&scene)).catch_unwind().await;
    scene.clear().await;
    if let Err(broken) = outcome {
        resume_unwind(broken);
    }
}
