//! The one table of the format: every key of the specification, the shape it may have, what is
//! read from it, and what Hearth does about it.
//!
//! Three stages walk it: [`super::shape`] (is the file well formed?), [`super::typed`] (what does
//! it mean?) and [`crate::admit`] (may an app ask for that?). A key that is not here does not
//! exist; a key cannot be added without a decision, since the decision is a field of its row.
//!
//! - [`service`]: the keys of a service.
//! - [`parts`]: the sections inside a service.
//! - [`building`]: `build` and `develop`, which are read and never honoured.
//! - [`top`]: the file itself, networks, volumes, secrets and configs.

pub(crate) mod service;
pub(crate) mod parts;
pub(crate) mod building;
pub(crate) mod top;
#[cfg(test)]
mod tests;

/// Top-level sections whose entries are named resources beside the services.
pub(crate) const SECTIONS: &[&str] = &["volumes", "networks", "secrets", "configs"];

/// One key of a section.
#[derive(Debug)]
pub(crate) struct Field {
    pub key: &'static str,
    pub shape: Shape,
    pub read: Read,
    pub rule: Rule,
}

/// A section: a mapping with known keys.
#[derive(Debug)]
pub(crate) struct Section {
    pub fields: &'static [Field],
    /// Keys that must be there.
    pub required: &'static [&'static str],
    /// Whether keys beginning with `x-` are allowed.
    pub extensions: bool,
    /// Whether unknown keys are allowed: the specification forgot to forbid them there.
    pub open: bool,
}

/// What Hearth does about a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Honoured as written.
    Kept,
    /// Honoured within limits; code in `admit` looks at the value.
    Judged,
    /// Has no effect here, and the person is told so in these words.
    Ignored(&'static str),
    /// Not allowed: why, and what to do instead.
    Refused(&'static str),
    /// Stands inside a section that is ignored or refused as a whole.
    Within,
}

/// The simple types a value may have, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Types(pub u8);

impl Types {
    pub(crate) const TEXT: u8 = 1;
    pub(crate) const BOOL: u8 = 2;
    /// Whole numbers; `1.0` is one.
    pub(crate) const INT: u8 = 4;
    pub(crate) const NUMBER: u8 = 8;
    pub(crate) const NULL: u8 = 16;
    pub(crate) const LIST: u8 = 32;
    pub(crate) const MAP: u8 = 64;
}

/// The shape a value must have.
#[derive(Debug)]
pub(crate) enum Shape {
    Simple(Types),
    /// One of these words.
    Words(&'static [&'static str]),
    /// Text that fits; the second is how it is described.
    Fits(fn(&str) -> bool, &'static str),
    /// A whole number from one to the other.
    Range(i64, i64),
    List(&'static List),
    Map(&'static MapOf),
    Section(&'static Section),
    /// Any of these.
    Either(&'static [Shape]),
}

/// A list.
#[derive(Debug)]
pub(crate) struct List {
    pub item: Shape,
    /// Whether no two items may be the same.
    pub unique: bool,
}

/// A mapping whose keys people choose.
#[derive(Debug)]
pub(crate) struct MapOf {
    pub value: Shape,
    pub keys: Keys,
    /// Whether keys of another form are an error; if not, what they hold is not looked at.
    pub closed: bool,
}

/// Which keys people may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Letters, digits, `.`, `_` and `-`.
    Name,
    /// Small letters.
    Lower,
    /// Anything but nothing.
    Any,
}

impl Keys {
    pub(crate) fn fits(self, key: &str) -> bool {
        match self {
            Self::Name => {
                !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
            }
            Self::Lower => !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase()),
            Self::Any => !key.is_empty(),
        }
    }
}

/// How a value is read, and when it shows in the printed model. Unless said otherwise a value that
/// is empty, zero or false does not show.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Read {
    /// Understood by an earlier stage, not part of the model.
    Drop,
    Text,
    Bool,
    /// Shows whenever it was set.
    SetBool,
    Int,
    SetInt,
    /// Not below zero.
    Count,
    SetCount,
    Single,
    Bytes,
    Duration,
    SetDuration,
    /// A file mode; shows whenever it was set.
    Mode,
    /// A list of texts.
    Texts,
    /// A text or a list of texts.
    TextOrTexts,
    /// A list of texts or numbers.
    Loose,
    /// A command line; shows even when it was not set.
    Command,
    HealthTest,
    /// Names with values; a name may have none.
    Variables,
    /// Names with values; without one it is empty.
    Labels,
    /// The same, where a list item without `=` is a name too.
    Mapping,
    /// Options of a driver.
    Options,
    /// Options that may be lists.
    ManyOptions,
    /// A plain mapping of texts.
    TextMap,
    Hosts,
    Ulimits,
    SshKeys,
    /// Devices counted, or all of them.
    DeviceCount,
    /// A device with a speed (`Rate`, in bytes) or a weight; shows as such.
    Throttle(&'static str),
    /// A section that shows when it was set.
    Section(&'static Section),
    /// A section that shows even when it was not set.
    Always(&'static Section),
    Sections(&'static Section),
    /// Named sections; the second says whether one without content shows as null.
    Named(&'static Section, bool),
}

pub(crate) const TEXT: Shape = Shape::Simple(Types(Types::TEXT));
pub(crate) const BOOL: Shape = Shape::Simple(Types(Types::BOOL));
pub(crate) const INT: Shape = Shape::Simple(Types(Types::INT));
pub(crate) const NUMBER: Shape = Shape::Simple(Types(Types::NUMBER));
pub(crate) const NULL: Shape = Shape::Simple(Types(Types::NULL));
pub(crate) const BOOL_TEXT: Shape = Shape::Simple(Types(Types::BOOL | Types::TEXT));
pub(crate) const INT_TEXT: Shape = Shape::Simple(Types(Types::INT | Types::TEXT));
pub(crate) const NUMBER_TEXT: Shape = Shape::Simple(Types(Types::NUMBER | Types::TEXT));
pub(crate) const TEXT_NULL: Shape = Shape::Simple(Types(Types::TEXT | Types::NULL));
pub(crate) const ANY_MAP: Shape = Shape::Simple(Types(Types::MAP));
const SCALAR: Shape = Shape::Simple(Types(Types::TEXT | Types::NUMBER | Types::BOOL | Types::NULL));

/// A list of texts, none twice.
pub(crate) const TEXT_SET: Shape = Shape::List(&List { item: TEXT, unique: true });
/// A list of texts.
pub(crate) const TEXTS: Shape = Shape::List(&List { item: TEXT, unique: false });
/// A list of texts and numbers, none twice.
pub(crate) const LOOSE_SET: Shape = Shape::List(&List { item: NUMBER_TEXT, unique: true });
pub(crate) const TEXT_OR_SET: Shape = Shape::Either(&[TEXT, TEXT_SET]);
pub(crate) const TEXT_OR_TEXTS: Shape = Shape::Either(&[TEXT, TEXTS]);
pub(crate) const COMMAND: Shape = Shape::Either(&[TEXT_NULL, TEXTS]);
/// `key=value` in a list, or a mapping.
pub(crate) const PAIRS: Shape =
    Shape::Either(&[Shape::Map(&MapOf { value: SCALAR, keys: Keys::Any, closed: true }), TEXT_SET]);
pub(crate) const HOSTS: Shape =
    Shape::Either(&[Shape::Map(&MapOf { value: TEXT_OR_TEXTS, keys: Keys::Any, closed: true }), TEXT_SET]);
/// Options of a driver: texts and numbers.
pub(crate) const OPTIONS: Shape = Shape::Map(&MapOf { value: NUMBER_TEXT, keys: Keys::Any, closed: false });

/// A row of the table.
pub(crate) const fn field(key: &'static str, shape: Shape, read: Read, rule: Rule) -> Field {
    Field { key, shape, read, rule }
}

/// A section with extensions and without required keys, which most are.
pub(crate) const fn section(fields: &'static [Field]) -> Section {
    Section { fields, required: &[], extensions: true, open: false }
}

impl Section {
    pub(crate) fn find(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.key == key)
    }
}
