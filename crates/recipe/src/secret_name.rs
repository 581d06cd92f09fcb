//! Names that look secret. Compares whole words: `api_key` is a secret, `monkey` and `key_insights` are not.

/// Words that make a name secret at any place.
const ANYWHERE: &[&str] = &["secret", "password", "passwd", "passphrase", "credential", "credentials"];

/// Words before a final `key` that make the name ordinary.
const ORDINARY_KEYS: &[&str] =
    &["primary", "foreign", "public", "sort", "partition", "cache", "row", "idempotency"];

/// Whether a name looks secret. Dots lead into a value: all members of a secret value are secret.
pub fn looks_secret(name: &str) -> bool {
    let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
    ends.into_iter().any(|end| words_look_secret(&words(&name[..end])))
}

fn words_look_secret(words: &[String]) -> bool {
    if words.iter().any(|word| ANYWHERE.contains(&word.as_str())) {
        return true;
    }
    match words {
        [.., last] if last == "token" => true,
        [.., before, last] if last == "key" => !ORDINARY_KEYS.contains(&before.as_str()),
        [only] => only == "key",
        _ => false,
    }
}

/// The words of a name in lower case: split at `_`, `-`, `.` and changes of case, without numbers at the end.
fn words(name: &str) -> Vec<String> {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || "_-.".contains(c));
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1);
        let is_separator = "_-.".contains(*letter);
        // `apiKey`, and `APIKey`
        let begins = letter.is_uppercase()
            && (before.is_some_and(|before| !before.is_uppercase())
                || after.is_some_and(|after| after.is_lowercase()));
        if is_separator || begins {
            words.push(String::new());
        }
        if let (false, Some(word)) = (is_separator, words.last_mut()) {
            word.extend(letter.to_lowercase());
        }
    }
    let trimmed = words.iter().map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned());
    trimmed.filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_look_secret_by_whole_words() {
        let secret = "api_key ssh_key MyToken2 key token GITHUB_TOKEN githubToken APIKey api-key deploy.key token_2 \
            my_secret secret_name Password dbPasswd passphrase aws_credentials credential token.count config.api_key.x \
            password2 API_KEY1 accessKey key.x";
        for name in secret.split_whitespace() {
            assert!(looks_secret(name), "{name}: {:?}", words(name));
        }
        let plain = "key_insights monkey tokens_used token_count primary_key foreignKey public-key sort_key \
            partition_key CacheKey row_key idempotency_key keys tokens tokenizer secretary passwords keyboard \
            table.primary_key apikey key_2_insights name";
        for name in plain.split_whitespace() {
            assert!(!looks_secret(name), "{name}: {:?}", words(name));
        }
    }
}
