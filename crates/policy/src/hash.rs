//! Hash tables over names the author wrote: fast, and seeded per process.

/// A map keyed by names of a policy.
pub type HashMap<K, V> = hashbrown::HashMap<K, V, foldhash::fast::RandomState>;

/// A set of names of a policy.
pub type HashSet<K> = hashbrown::HashSet<K, foldhash::fast::RandomState>;
