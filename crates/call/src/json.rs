//! JSON as calls hold it: selectors, one text for equal values, strict reading, keys that are alike, and mistakes with their place.

pub(crate) mod canonical;
pub(crate) mod mistake;
pub(crate) mod selector;
pub(crate) mod strict;
pub(crate) mod twins;
