//! How many requests each token may make.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Instant,
};

/// A bucket for each token. It is keyed by the token and not by an address: behind a proxy all have one address.
#[derive(Debug)]
pub(crate) struct Rates {
    per_second: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    /// So many a second, and twice as many at once.
    pub(crate) fn new(per_second: u32) -> Self {
        Self { per_second: f64::from(per_second), buckets: Mutex::default() }
    }

    /// Whether a token may make one more request.
    pub(crate) fn take(&self, token: &str, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let full = self.per_second * 2.0;
        // Only tokens that exist come here, so there are no more buckets than tokens.
        let bucket = buckets.entry(token.to_owned()).or_insert(Bucket { left: full, at: now });
        let passed = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + passed * self.per_second).min(full);
        bucket.at = now;
        let may = bucket.left >= 1.0;
        if may {
            bucket.left -= 1.0;
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_token_has_its_own_bucket_that_fills_again() {
        let (rates, start) = (Rates::new(2), Instant::now());
        let taken = |token: &str, at: Instant| (0..10).filter(|_| rates.take(token, at)).count();
        assert_eq!(taken("a", start), 4);
        assert_eq!(taken("b", start), 4);
        assert_eq!(taken("a", start + Duration::from_secs(1)), 2);
        assert_eq!(taken("a", start + Duration::from_secs(60)), 4);
    }
}
