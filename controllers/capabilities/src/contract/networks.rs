//! What every hand that reaches networks promises.
