//! What a text is cut into.

/// What a text is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// A part whose origin can be traced.
    Atom {
        /// What it is.
        kind: AtomKind,
        /// How it is compared.
        text: &'t str,
    },
    /// The end of a run: what stands on both sides was not said together.
    Break,
}

/// What an atom is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomKind {
    /// `bob@corp.example`
    Mail,
    /// A web address, a host or an IP address, without its scheme.
    Link,
    /// The name of a file, or a path.
    File,
    /// An IBAN, or eight and more digits, also in groups.
    Account,
    /// A date or a time, to the letter.
    Date,
    /// A number, without grouping and without needless zeros.
    Number,
    /// Letters with digits or signs, to the letter.
    Mixed,
    /// Letters, in lower case.
    Word,
}

impl AtomKind {
    /// Whether it can be followed or paid to: that is what an attacker wants to bring in.
    #[must_use]
    pub fn is_address(self) -> bool {
        matches!(self, Self::Mail | Self::Link | Self::Account)
    }
}

/// Takes pieces, and puts breaks only between atoms.
pub(super) struct Joined<'f> {
    take: &'f mut dyn FnMut(Piece<'_>),
    is_broken: bool,
    has_begun: bool,
}

impl<'f> Joined<'f> {
    pub(super) fn new(take: &'f mut dyn FnMut(Piece<'_>)) -> Self {
        Self { take, is_broken: false, has_begun: false }
    }

    pub(super) fn atom(&mut self, kind: AtomKind, text: &str) {
        if self.is_broken && self.has_begun {
            (self.take)(Piece::Break);
        }
        self.is_broken = false;
        self.has_begun = true;
        (self.take)(Piece::Atom { kind, text });
    }

    pub(super) fn end_run(&mut self) {
        self.is_broken = true;
    }
}
