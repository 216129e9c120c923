//! Tests that are one call each, as a table.

/// `fn name => call;` is a test of that name that makes the call; a comment above a row is that of its test.
#[macro_export]
macro_rules! cases {
    ($($(#[$about:meta])* fn $name:ident => $call:expr;)+) => {
        $(
            $(#[$about])*
            #[test]
            fn $name() {
                $call;
            }
        )+
    };
}
