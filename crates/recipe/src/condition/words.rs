//! The functions and methods that conditions may call: their names, and how many arguments they take.
//!
//! Never evaluates them.

use std::ops::RangeInclusive;

macro_rules! words {
    ($(#[$about:meta])+ $list:ident $kind:ident { $($name:ident $word:literal $arity:expr;)+ }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum $kind { $($name,)+ }

        $(#[$about])+
        pub const $list: &[&str] = &[$($word,)+];

        impl $kind {
            pub(super) fn find(word: &str) -> Option<$kind> {
                match word { $($word => Some($kind::$name),)+ _ => None }
            }

            pub(super) fn arity(self) -> RangeInclusive<usize> {
                match self { $($kind::$name => $arity,)+ }
            }

            pub(super) fn word(self) -> &'static str {
                match self { $($kind::$name => $word,)+ }
            }
        }
    };
}

words! {
    /// The functions that a condition may call.
    FUNCTIONS Function {
        Int "int" 1..=1;
        Float "float" 1..=1;
        Str "str" 1..=1;
        Bool "bool" 1..=1;
        Len "len" 1..=1;
        Min "min" 2..=usize::MAX;
        Max "max" 2..=usize::MAX;
    }
}

words! {
    /// The methods that a condition may call on text.
    METHODS Method {
        Strip "strip" 0..=0;
        Lstrip "lstrip" 0..=0;
        Rstrip "rstrip" 0..=0;
        Lower "lower" 0..=0;
        Upper "upper" 0..=0;
        Title "title" 0..=0;
        Startswith "startswith" 1..=1;
        Endswith "endswith" 1..=1;
        Replace "replace" 2..=2;
        Split "split" 0..=1;
        Join "join" 1..=1;
        Count "count" 1..=1;
        Find "find" 1..=1;
    }
}
