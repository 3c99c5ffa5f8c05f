//! A sum over each row. SQLite checks the shape of its pages and not what they hold, so a byte that flipped on the
//! disk inside a value would be read as if somebody had written it.

use crc::{CRC_64_XZ, Crc, Table};

static CRC: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_XZ);

/// The sum of the parts of a row, each with its length, so that nothing moves from one into the next unseen.
pub(super) fn sum(parts: &[&[u8]]) -> i64 {
    let mut digest = CRC.digest();
    for part in parts {
        digest.update(&part.len().to_le_bytes());
        digest.update(part);
    }
    digest.finalize().cast_signed()
}

/// Whether a row is what was written. One from before there were sums cannot be told.
pub(super) fn fits(kept: Option<i64>, parts: &[&[u8]]) -> bool {
    kept.is_none_or(|kept| kept == sum(parts))
}

#[cfg(test)]
mod tests {
    use super::{fits, sum};

    #[test]
    fn a_sum_tells_one_byte_and_where_a_part_ends() {
        let kept = Some(sum(&[b"lamp", b"red"]));
        assert!(fits(kept, &[b"lamp", b"red"]) && fits(None, &[b"anything"]));
        for other in [[&b"lamp"[..], b"rfd"], [b"lampr", b"ed"], [b"lamp", b"redd"]] {
            assert!(!fits(kept, &other));
        }
    }
}
