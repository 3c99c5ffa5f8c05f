//! What every hand that reaches a reverse proxy promises.
