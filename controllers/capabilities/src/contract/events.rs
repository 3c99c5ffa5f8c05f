//! What every hand that reaches events promises.
