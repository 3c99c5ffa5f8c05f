//! How often somebody may ask: in memory, bounded, by the engine's clock.
//!
//! A wrong token costs the place it came from, never whoever has a right one: a right token is let in however many wrong
//! ones came from there before. The admin's own credential and root on this machine are not counted: it is with them
//! that somebody puts things right.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use hearth_engine::Clock;
use hearth_wire::Failure;

/// Failed sign-ins from one place: 30 at once, then 30 a minute.
const FAILURES: Rate = Rate { burst: 30.0, per_second: 0.5 };
/// Requests with one token: what kubectl allows itself, so that it never meets the limit.
const REQUESTS: Rate = Rate { burst: 300.0, per_second: 50.0 };
/// Streams that are open at once with one token: a program that watches every kind, and a few logs. A screen needs one.
const STREAMS: usize = 16;
/// When to ask again where too many streams are open.
const STREAM_AGAIN: Duration = Duration::from_secs(10);
/// Requests with one token that are being answered at once; what a client sends in parallel is far less.
const AT_ONCE: usize = 64;
/// When to ask again where so many are.
const AT_ONCE_AGAIN: Duration = Duration::from_secs(1);
/// How long the body of a request may take to come, after which whoever sends it has gone.
const BODY: Duration = Duration::from_secs(60);
/// How many askers are remembered; beyond that, who asked least goes first.
const MOST: usize = 4096;

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Peer {
    /// Over the network.
    Network(IpAddr),
    /// Over the socket on this machine, by this user.
    Socket(u32),
}

impl Peer {
    /// One who has an IPv6 address has all of its network.
    fn source(self) -> Self {
        match self {
            Self::Network(IpAddr::V6(ip)) if ip.to_ipv4_mapped().is_none() => {
                let masked = u128::from(ip) & !u128::from(u64::MAX);
                Self::Network(IpAddr::V6(masked.into()))
            }
            Self::Network(ip) => Self::Network(ip.to_canonical()),
            other => other,
        }
    }
}

/// So many at once, and so many more as time goes by.
#[derive(Clone, Copy)]
struct Rate {
    burst: f64,
    per_second: f64,
}

/// What is counted. Clones are the same.
#[derive(Clone)]
pub(super) struct Limits {
    clock: Arc<dyn Clock>,
    counted: Arc<Mutex<Counted>>,
}

#[derive(Default)]
struct Counted {
    failures: Buckets<Peer>,
    requests: Buckets<String>,
    open: HashMap<(Open, String), usize>,
}

/// What is counted while it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Open {
    Stream,
    Request,
}

impl Limits {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, counted: Arc::default() }
    }

    /// Counts a failed sign-in.
    ///
    /// # Errors
    /// How long until the next one is answered.
    pub(super) fn failed(&self, peer: Peer) -> Result<(), Duration> {
        self.lock().failures.take(&peer.source(), FAILURES, self.clock.elapsed())
    }

    /// Counts a request with a token, by its uid.
    ///
    /// # Errors
    /// How long until the next one is answered.
    pub(super) fn request(&self, token: &str) -> Result<(), Duration> {
        self.lock().requests.take(&token.to_owned(), REQUESTS, self.clock.elapsed())
    }

    /// Counts an open stream until it is dropped.
    ///
    /// # Errors
    /// When to ask again, where too many are open.
    pub(super) fn stream(&self, token: &str) -> Result<Held, Duration> {
        self.hold(Open::Stream, token, STREAMS).ok_or(STREAM_AGAIN)
    }

    /// Counts a request that is being answered until it is dropped.
    ///
    /// # Errors
    /// When to ask again, where too many are.
    pub(super) fn at_once(&self, token: &str) -> Result<Held, Duration> {
        self.hold(Open::Request, token, AT_ONCE).ok_or(AT_ONCE_AGAIN)
    }

    fn hold(&self, what: Open, token: &str, most: usize) -> Option<Held> {
        let mut counted = self.lock();
        let key = (what, token.to_owned());
        let open = counted.open.entry(key.clone()).or_default();
        if *open >= most {
            return None;
        }
        *open += 1;
        Some(Held { limits: self.clone(), key })
    }

    /// Returns when a body that begins now has taken too long.
    pub(super) async fn body_is_late(self) {
        self.clock.sleep(BODY).await;
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that is counted while this lives.
pub(super) struct Held {
    limits: Limits,
    key: (Open, String),
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut counted = self.limits.lock();
        if let Some(open) = counted.open.get_mut(&self.key) {
            *open -= 1;
            if *open == 0 {
                counted.open.remove(&self.key);
            }
        }
    }
}

/// The answer to whoever asks too often, which clients of the protocol heed.
pub(super) fn too_many(what: &str, wait: Duration) -> Response {
    let seconds = wait.as_secs_f64().ceil().max(1.0);
    let message = format!("{what}; ask again in {seconds} s");
    let failure = Failure::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message);
    let details = serde_json::json!({ "retryAfterSeconds": seconds as u64 });
    let mut answer = failure.with_details(details).into_response();
    answer.headers_mut().insert(RETRY_AFTER, (seconds as u64).into());
    answer
}

/// How much each may still ask.
struct Buckets<K> {
    left: HashMap<K, (f64, Duration)>,
}

impl<K> Default for Buckets<K> {
    fn default() -> Self {
        Self { left: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash> Buckets<K> {
    fn take(&mut self, key: &K, rate: Rate, now: Duration) -> Result<(), Duration> {
        if !self.left.contains_key(key) && self.left.len() >= MOST {
            self.make_room(rate, now);
        }
        let (left, at) = self.left.entry(key.clone()).or_insert((rate.burst, now));
        *left = refilled((*left, *at), rate, now);
        *at = now;
        if *left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - *left) / rate.per_second));
        }
        *left -= 1.0;
        Ok(())
    }

    /// Forgets whoever has asked for nothing lately; where everybody has, whoever asked least.
    fn make_room(&mut self, rate: Rate, now: Duration) {
        self.left.retain(|_, bucket| refilled(*bucket, rate, now) < rate.burst);
        if self.left.len() < MOST {
            return;
        }
        let fullest = self.left.iter().max_by(|(_, one), (_, other)| {
            refilled(**one, rate, now).total_cmp(&refilled(**other, rate, now))
        });
        if let Some(key) = fullest.map(|(key, _)| key.clone()) {
            self.left.remove(&key);
        }
    }
}

fn refilled((left, at): (f64, Duration), rate: Rate, now: Duration) -> f64 {
    let since = now.saturating_sub(at).as_secs_f64();
    (left + since * rate.per_second).min(rate.burst)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use hearth_engine::clock::ManualClock;

    use super::{AT_ONCE, Buckets, Limits, MOST, Peer, REQUESTS, STREAMS};

    fn limits() -> (ManualClock, Limits) {
        let clock = ManualClock::new("2030-01-01T00:00:00Z".parse().unwrap());
        (clock.clone(), Limits::new(Arc::new(clock)))
    }

    #[test]
    fn thirty_wrong_tokens_at_once_and_then_one_every_two_seconds() {
        let (clock, limits) = limits();
        let (one, other) = (Peer::Network([192, 0, 2, 1].into()), Peer::Network([192, 0, 2, 2].into()));
        assert_eq!((0..30).filter(|_| limits.failed(one).is_ok()).count(), 30);
        let wait = limits.failed(one).unwrap_err();
        assert_eq!(wait, Duration::from_secs(2));
        assert!(limits.failed(other).is_ok(), "another place is not held to it");
        clock.advance(wait);
        assert!(limits.failed(one).is_ok());
        assert!(limits.failed(one).is_err());
        clock.advance(Duration::from_secs(3600));
        assert_eq!((0..60).filter(|_| limits.failed(one).is_ok()).count(), 30);
    }

    #[test]
    fn so_many_requests_of_one_token_are_answered_at_once_and_each_makes_room_when_it_is_over() {
        let (_, limits) = limits();
        let mut held: Vec<_> = (0..AT_ONCE).map(|_| limits.at_once("a").unwrap()).collect();
        assert!(limits.at_once("a").is_err());
        assert!(
            limits.at_once("b").is_ok() && limits.stream("a").is_ok(),
            "others, and streams, are not held to it"
        );
        held.pop();
        assert!(limits.at_once("a").is_ok());
        drop(held);
        assert!(limits.lock().open.is_empty());
    }

    #[test]
    fn all_of_an_ipv6_network_is_one_place() {
        let (_, limits) = limits();
        for host in 0..30u16 {
            let peer = Peer::Network(std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, host).into());
            assert!(limits.failed(peer).is_ok());
        }
        assert!(limits.failed(Peer::Network("2001:db8:0:1::ffff".parse().unwrap())).is_err());
        assert!(limits.failed(Peer::Network("2001:db8:0:2::1".parse().unwrap())).is_ok());
        let mapped = Peer::Network("::ffff:192.0.2.1".parse().unwrap());
        assert_eq!(mapped.source(), Peer::Network([192, 0, 2, 1].into()));
    }

    #[test]
    fn a_token_has_its_own_measure_and_its_own_streams() {
        let (clock, limits) = limits();
        assert_eq!((0..400).filter(|_| limits.request("a").is_ok()).count(), 300);
        assert!(limits.request("b").is_ok());
        clock.advance(Duration::from_secs(1));
        assert_eq!((0..400).filter(|_| limits.request("a").is_ok()).count(), 50);
        let open: Vec<_> = (0..STREAMS).map(|_| limits.stream("a").ok().unwrap()).collect();
        assert!(limits.stream("a").is_err() && limits.stream("b").is_ok());
        drop(open);
        assert!(limits.stream("a").is_ok());
        assert!(limits.lock().open.len() <= 1, "nothing is kept of those that ended");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut buckets = Buckets::default();
        let now = Duration::from_secs(1);
        for _ in 0..REQUESTS.burst as u32 {
            buckets.take(&u32::MAX, REQUESTS, now).unwrap();
        }
        for key in 0..(MOST as u32 * 2) {
            buckets.take(&key, REQUESTS, now).unwrap();
        }
        assert!(buckets.left.len() <= MOST);
        assert!(buckets.take(&u32::MAX, REQUESTS, now).is_err(), "who asked most is not forgotten");
    }
}
