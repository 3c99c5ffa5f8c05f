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

/// Services of one project. People have up to thirty; every pair of them may be looked at.
pub(crate) const MOST_SERVICES: usize = 1_000;

/// Files read for one project, each as often as it is read.
pub(crate) const MOST_READS: usize = 200;

/// Bytes read, and bytes that variables may add, for one project.
pub(crate) const MOST_PROJECT_BYTES: usize = 16 << 20;

/// Ports that ranges may unfold into, in one file: twice the ports that telephony and relays take, for both protocols.
/// Each is a mapping of its own, here and in what is printed.
pub(crate) const MOST_PORTS: usize = 35_000;

/// Documents of one file. Each is merged onto those before it.
pub(crate) const MOST_DOCUMENTS: usize = 1_000;
