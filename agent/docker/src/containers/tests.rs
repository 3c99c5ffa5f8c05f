//! What Docker really said, and what it means.
