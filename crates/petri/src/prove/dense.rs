//! Lists read and written by number without a panic.
//!
//! [`At::at`] gives the default beyond the end, [`At::put`] then does nothing. Neither ever happens where
//! the numbers come from the list itself; there is no growing in here.

/// Reading and writing a list by position.
pub(super) trait At<T> {
    fn at(&self, position: usize) -> T;
    fn put(&mut self, position: usize, value: T);
    fn change(&mut self, position: usize, change: impl FnOnce(T) -> T);
}

impl<T: Copy + Default> At<T> for [T] {
    #[inline]
    fn at(&self, position: usize) -> T {
        self.get(position).copied().unwrap_or_default()
    }

    #[inline]
    fn put(&mut self, position: usize, value: T) {
        if let Some(place) = self.get_mut(position) {
            *place = value;
        }
    }

    #[inline]
    fn change(&mut self, position: usize, change: impl FnOnce(T) -> T) {
        if let Some(place) = self.get_mut(position) {
            *place = change(*place);
        }
    }
}

/// Marks on numbers that are all taken away at once, so that a question costs nothing for what it does not
/// look at.
#[derive(Debug, Default)]
pub(super) struct Marks {
    values: Vec<(u32, u32)>,
    round: u32,
}

impl Marks {
    /// Takes all marks away and makes room for the numbers below `len`.
    pub(super) fn clear(&mut self, len: usize) {
        if self.round == u32::MAX {
            self.values.clear();
            self.round = 0;
        }
        self.round += 1;
        if self.values.len() < len {
            self.values.resize(len, (0, 0));
        }
    }

    #[inline]
    pub(super) fn get(&self, number: usize) -> Option<usize> {
        let (round, value) = self.values.at(number);
        (round == self.round).then_some(value as usize)
    }

    #[inline]
    pub(super) fn set(&mut self, number: usize, value: usize) {
        self.values.put(number, (self.round, u32::try_from(value).unwrap_or(u32::MAX)));
    }
}
