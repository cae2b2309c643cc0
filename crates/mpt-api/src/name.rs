//! Names of connections and paths.

/// Longest name of a connection or path, in characters.
pub const MAX_NAME: usize = 63;

/// True if the text is the name of a connection or path: a word that needs no quoting on a command line, of at most
/// [`MAX_NAME`] characters.
pub fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && text.chars().count() <= MAX_NAME
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_need_no_quoting() {
        assert!(is_name("office-2.b\u{fc}ro"));
        assert!(is_name(&"x".repeat(MAX_NAME)));
        for bad in ["", "-x", "a b", "a/b", "a\"b", "a\nb", &"x".repeat(MAX_NAME + 1)] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
