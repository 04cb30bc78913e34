//! The scripts of one call that were read already.
//!
//! [`ScriptCache`] answers as [`read_script`] and [`read_words`] do, and reads each script once, however many look at it:
//! maps, sandboxes, workflows and the gate's own protection. It goes by the text itself.

use std::sync::{Arc, Mutex, PoisonError};

use super::read::{read_script, read_words};
use super::script::Script;

/// The most scripts that are kept; further ones are read each time.
const SCRIPTS_MAX: usize = 16;

/// Scripts with what was read in them.
#[derive(Debug, Default)]
pub(crate) struct ScriptCache {
    read: Mutex<Vec<(Key, Arc<Script>)>>,
}

#[derive(Debug, PartialEq, Eq)]
enum Key {
    Text(String),
    Words(Vec<String>),
}

impl ScriptCache {
    /// What a script would run.
    pub(crate) fn script(&self, text: &str) -> Arc<Script> {
        let is_same = |key: &Key| matches!(key, Key::Text(known) if known == text);
        self.find(is_same).unwrap_or_else(|| self.keep(Key::Text(text.to_owned()), read_script(text)))
    }

    /// What a command would run that is given as words.
    pub(crate) fn words(&self, words: &[String]) -> Arc<Script> {
        let is_same = |key: &Key| matches!(key, Key::Words(known) if known == words);
        self.find(is_same).unwrap_or_else(|| self.keep(Key::Words(words.to_vec()), read_words(words)))
    }

    fn find(&self, is_same: impl Fn(&Key) -> bool) -> Option<Arc<Script>> {
        let kept = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(key, _)| is_same(key)).map(|(_, script)| Arc::clone(script))
    }

    fn keep(&self, key: Key, script: Script) -> Arc<Script> {
        let script = Arc::new(script);
        let mut kept = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < SCRIPTS_MAX {
            kept.push((key, Arc::clone(&script)));
        }
        script
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_once_and_by_its_own_text() {
        let cache = ScriptCache::default();
        let first = cache.script("rm x");
        assert!(Arc::ptr_eq(&first, &cache.script("rm x")));
        assert_eq!(*first, read_script("rm x"));
        let words = ["rm x".to_owned()];
        assert_eq!(*cache.words(&words), read_words(&words));
        assert!(Arc::ptr_eq(&cache.words(&words), &cache.words(&words)));
        assert_eq!(*cache.script("rm y"), read_script("rm y"));
        for i in 0..2 * SCRIPTS_MAX {
            let text = format!("echo {i}");
            assert_eq!(*cache.script(&text), read_script(&text));
        }
    }
}
