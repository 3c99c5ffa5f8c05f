//! How much one file may ask for, so that no file, however hostile, takes the machine with it.

/// Bytes of one file. The largest of two thousand published compose files has 106 kB.
pub(crate) const MOST_BYTES: usize = 1 << 20;

/// Nesting of lists and mappings. Published files stay under 12.
pub(crate) const MOST_DEPTH: usize = 100;

/// What one file may hold once its aliases are unfolded, in values plus a share for long texts
/// (see [`weight`]). A file of [`MOST_BYTES`] that has no aliases cannot reach it.
pub(crate) const MOST_WEIGHT: usize = 400_000;

/// What a text of this length counts for against [`MOST_WEIGHT`].
pub(crate) const fn weight(bytes: usize) -> usize {
    1 + bytes / 32
}
