//! What every hand that reaches images promises.
