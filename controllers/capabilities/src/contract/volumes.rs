//! What every hand that reaches folders of data promises.
