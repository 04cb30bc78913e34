//! How a marking lies in machine words.
//!
//! A [`Layout`] gives every place a field of its own width in one word. While no place has held more than one
//! token a field is a single bit. After that each field has one bit more than its tokens need, the guard, which
//! is always zero: so one subtraction compares all fields of a word at once, and one addition shows which field
//! ran over. Places with more tokens than 63 bits can count get a whole word each, and so do all others then:
//! such nets are rare. A field that runs over is widened by [`Layout::widened`]; nothing shrinks again.

use crate::marking::Marking;

/// The three ways to use a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One bit for each place.
    Bits,
    /// Fields of different widths, each with a guard bit above it.
    Fields,
    /// One word for each place.
    Whole,
}

/// Where the tokens of each place lie.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    form: Form,
    fields: Vec<Field>,
    masks: Vec<Masks>,
}

/// Where the tokens of one place lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) word: usize,
    pub(super) shift: u32,
    /// Bits for tokens, the guard not among them.
    width: u32,
}

/// The ends of all fields of a word.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Masks {
    /// The lowest bit of every field.
    pub(super) low: u64,
    /// The guard bit of every field; none where a place is one bit or a whole word.
    pub(super) guard: u64,
}

/// Bits in a word.
pub(super) const WORD: u32 = u64::BITS;

impl Layout {
    /// A layout in which every place can count up to its number in `most`.
    pub(super) fn for_counts(most: impl Iterator<Item = u64>) -> Self {
        Self::of_widths(&most.map(width_of).collect::<Vec<_>>())
    }

    /// This layout with room for more tokens on a place. If `together`, every narrower place is widened as far.
    pub(super) fn widened(&self, place: usize, tokens: u64, together: bool) -> Self {
        let wider = width_of(tokens);
        let widths = self.fields.iter().enumerate().map(|(index, field)| match together || index == place {
            true => field.width.max(wider),
            false => field.width,
        });
        Self::of_widths(&widths.collect::<Vec<_>>())
    }

    fn of_widths(widths: &[u32]) -> Self {
        match widths.iter().max() {
            Some(&WORD) => Self::laid_out(Form::Whole, widths, WORD),
            Some(2..) => {
                // Bits that would be left over are shared out, so that fewer fields run over later.
                let at_least = |least| Self::laid_out(Form::Fields, widths, least);
                let tight = at_least(1);
                let roomier = (2..WORD).map(at_least).take_while(|layout| layout.words() == tight.words());
                roomier.last().unwrap_or(tight)
            }
            _ => Self::laid_out(Form::Bits, widths, 1),
        }
    }

    /// Fields of these widths, and of `least` where they are narrower.
    fn laid_out(form: Form, widths: &[u32], least: u32) -> Self {
        let mut layout = Self { form, fields: Vec::with_capacity(widths.len()), masks: Vec::new() };
        let (mut masks, mut shift) = (Masks::default(), 0);
        for width in widths.iter().map(|width| least.max(*width)) {
            let taken = if form == Form::Fields { width + 1 } else { width };
            if shift + taken > WORD {
                layout.masks.push(std::mem::take(&mut masks));
                shift = 0;
            }
            layout.fields.push(Field { word: layout.masks.len(), shift, width });
            masks.low |= 1 << shift;
            if form == Form::Fields {
                masks.guard |= 1 << (shift + width);
            }
            shift += taken;
        }
        // A net without places has one marking too, and it needs words to be found by.
        layout.masks.push(masks);
        layout
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }

    /// How many words a marking takes.
    pub(super) fn words(&self) -> usize {
        self.masks.len()
    }

    pub(super) fn masks(&self) -> &[Masks] {
        &self.masks
    }

    pub(super) fn field(&self, place: usize) -> Option<Field> {
        self.fields.get(place).copied()
    }

    /// The tokens of all places of a packed marking.
    pub(super) fn unpack<'a>(&'a self, packed: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
        self.fields.iter().map(|field| field.read(packed))
    }

    pub(super) fn marking(&self, packed: &[u64]) -> Marking {
        Marking::from_tokens(self.unpack(packed))
    }

    /// Puts the tokens of a place into a packed marking; `false` if they do not fit.
    pub(super) fn set(&self, packed: &mut [u64], place: usize, tokens: u64) -> bool {
        let Some(field) = self.field(place).filter(|field| tokens <= field.most()) else { return false };
        if let Some(word) = packed.get_mut(field.word) {
            *word = *word & !(field.most() << field.shift) | tokens << field.shift;
        }
        true
    }

    /// Packs tokens; none if a place has too many. Places beyond those of the net are passed over, and places
    /// without a number are empty.
    pub(super) fn pack(&self, tokens: impl Iterator<Item = u64>) -> Option<Vec<u64>> {
        let mut packed = vec![0; self.words()];
        self.pack_into(&mut packed, tokens).then_some(packed)
    }

    /// The same into a marking that is there already; `false` if a place has too many.
    pub(super) fn pack_into(&self, packed: &mut [u64], tokens: impl Iterator<Item = u64>) -> bool {
        (0..self.fields.len()).zip(tokens).all(|(place, tokens)| self.set(packed, place, tokens))
    }

    /// Whether a place can hold that many tokens.
    pub(super) fn fits(&self, place: usize, tokens: u64) -> bool {
        self.field(place).is_none_or(|field| tokens <= field.most())
    }

    /// The most tokens each place holds in any of these packed markings.
    pub(super) fn most(&self, markings: &[u64]) -> Vec<u64> {
        let mut top = vec![0; self.words()];
        let mut most = vec![0; self.fields.len()];
        for packed in markings.chunks_exact(self.words()) {
            // One comparison for each word; only a new record is looked at place by place.
            if top
                .iter()
                .zip(packed)
                .zip(&self.masks)
                .all(|((top, word), masks)| self.covers(*top, *word, *masks))
            {
                continue;
            }
            for (place, (most, tokens)) in most.iter_mut().zip(self.unpack(packed)).enumerate() {
                *most = tokens.max(*most);
                self.set(&mut top, place, *most);
            }
        }
        most
    }

    /// Whether every field of `top` holds as much as the same field of `word`.
    fn covers(&self, top: u64, word: u64, masks: Masks) -> bool {
        match self.form {
            Form::Bits => word & !top == 0,
            Form::Fields => (top | masks.guard).wrapping_sub(word) & masks.guard == masks.guard,
            Form::Whole => word <= top,
        }
    }
}

impl Field {
    /// The most tokens this field can hold.
    fn most(self) -> u64 {
        u64::MAX >> (WORD - self.width)
    }

    fn read(self, packed: &[u64]) -> u64 {
        packed.get(self.word).map_or(0, |word| word >> self.shift & self.most())
    }
}

/// The bits that a number of tokens needs: at least one, and a whole word where a guard has no room beside it.
fn width_of(tokens: u64) -> u32 {
    (WORD - tokens.leading_zeros()).max(1)
}
