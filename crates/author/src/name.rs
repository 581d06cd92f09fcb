//! The name of a recipe, from the title of its spec.

/// Longest name; it is cut between words.
const LONGEST: usize = 60;

/// The name for a title: letters, digits and hyphens. None if nothing is left.
pub(crate) fn name(title: &str) -> Option<String> {
    let lower: String = title.to_lowercase().chars().map(plain).collect();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut name = String::new();
    for word in words {
        let length = name.len() + usize::from(!name.is_empty()) + word.len();
        if length > LONGEST {
            if name.is_empty() {
                name.push_str(&word[..LONGEST]);
            }
            break;
        }
        name.push_str(if name.is_empty() { "" } else { "-" });
        name.push_str(word);
    }
    (!name.is_empty()).then_some(name)
}

/// A letter without its accent.
fn plain(letter: char) -> String {
    let same = match letter {
        'à'..='å' | 'ā' | 'ă' | 'ą' => "a",
        'æ' => "ae",
        'ç' | 'ć' | 'č' => "c",
        'ð' | 'ď' | 'đ' => "d",
        'è'..='ë' | 'ē' | 'ė' | 'ę' | 'ě' => "e",
        'ì'..='ï' | 'ī' | 'į' | 'ı' => "i",
        'ł' => "l",
        'ñ' | 'ń' | 'ň' => "n",
        'ò'..='ö' | 'ø' | 'ō' | 'ő' => "o",
        'ř' => "r",
        'ß' => "ss",
        'ś' | 'š' | 'ş' => "s",
        'ť' | 'ţ' => "t",
        'ù'..='ü' | 'ū' | 'ů' | 'ű' => "u",
        'ý' | 'ÿ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        _ => return letter.to_string(),
    };
    same.to_owned()
}

/// Whether a name that the user gives can be the stem of a file.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 100 && name.chars().all(is_plain) && !name.starts_with('-')
}
