//! YAML as a careful person writes it: plain words where they are safe, `|` blocks for text, quotes otherwise.
//!
//! Whatever a value contains, reading the result gives the value again.

/// A scalar on one line.
pub(crate) fn scalar(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { quoted(text) }
}

/// A scalar in double quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if is_printable(c) => quoted.push(c),
            c if (c as u32) < 0x100 => quoted.push_str(&format!("\\x{:02x}", c as u32)),
            c if (c as u32) < 0x1_0000 => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push_str(&format!("\\U{:08x}", c as u32)),
        }
    }
    quoted.push('"');
    quoted
}

/// A list on one line.
pub(crate) fn flow<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| flow_item(item.as_ref())).collect();
    format!("[{}]", items.join(", "))
}

/// An item of a list on one line: brackets and commas need quotes there.
pub(crate) fn flow_item(text: &str) -> String {
    let is_plain = is_plain(text) && !text.contains([',', '[', ']', '{', '}']);
    if is_plain { text.to_owned() } else { quoted(text) }
}

/// `key: value`, as a block if the value has several lines, indented by `indent`.
pub(crate) fn entry(indent: usize, key: &str, value: &str) -> String {
    let pad = " ".repeat(indent);
    match block(indent + 2, value) {
        Some(block) => format!("{pad}{key}: {block}"),
        None => format!("{pad}{key}: {}\n", scalar(value)),
    }
}

/// A literal block that ends with a newline, if the text has several lines and can be one.
pub(crate) fn block(indent: usize, text: &str) -> Option<String> {
    let body = text.trim_end_matches('\n');
    let newlines = text.len() - body.len();
    let fits = body.contains('\n') && body.chars().all(|c| c == '\n' || c == '\t' || is_printable(c));
    // tabs and blanks at the beginning would count as indentation
    if !fits || body.starts_with([' ', '\t', '\n']) || newlines > 1 {
        return None;
    }
    let chomp = if newlines == 1 { "|" } else { "|-" };
    Some(format!("{chomp}\n{}", indented(indent, body)))
}

/// The command or prompt of a step: always a block, with one newline at its end.
pub(crate) fn body(indent: usize, key: &str, text: &str) -> String {
    let clean: String = text.chars().filter(|c| *c == '\n' || *c == '\t' || is_printable(*c)).collect();
    let clean = clean.trim_matches('\n');
    format!("{}{key}: |\n{}", " ".repeat(indent), indented(indent + 2, clean))
}

/// A comment, one line for each line of the text.
pub(crate) fn comment(indent: usize, text: &str) -> String {
    let clean: String = text.chars().map(|c| if c == '\n' || is_printable(c) { c } else { ' ' }).collect();
    let line = |line: &str| match line.trim_end() {
        "" => format!("{}#\n", " ".repeat(indent)),
        line => format!("{}# {line}\n", " ".repeat(indent)),
    };
    clean.lines().map(line).collect()
}

fn indented(indent: usize, text: &str) -> String {
    let pad = " ".repeat(indent);
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("{pad}{line}\n") };
    text.split('\n').map(line).collect()
}

/// Whether a text can be written without quotes and is read as the same text.
fn is_plain(text: &str) -> bool {
    let safe = |c: char| c.is_ascii_alphanumeric() || " _-./+@%()=;,'?!*&<>|~^$`\\[]{}:#\"".contains(c);
    let first = text.chars().next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '/' || c == '_' || c == '.')
        && text.chars().all(safe)
        && !text.ends_with([' ', ':'])
        && ![": ", " #", "{{", "}}"].iter().any(|part| text.contains(part))
        && !is_a_word_of_yaml(text)
}

/// A word that YAML, or a reader who knows YAML, takes for something other than text.
fn is_a_word_of_yaml(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan"];
    words.contains(&lower.as_str()) || text.parse::<f64>().is_ok()
}

fn is_printable(c: char) -> bool {
    let is_space = matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}');
    !c.is_control() && !is_space && !matches!(c as u32, 0xfff0..=0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let yaml = format!("a:\n  - {}", entry(4, "k", text).trim_start());
        let value: serde_json::Value = read_yaml(&yaml);
        value["a"][0]["k"].as_str().unwrap_or_else(|| panic!("not text: {yaml}")).to_owned()
    }

    fn read_yaml(yaml: &str) -> serde_json::Value {
        let value =
            recipe::document::read(yaml.as_bytes()).unwrap_or_else(|error| panic!("{error:?}: {yaml}"));
        serde_json::from_str(&value.to_json()).unwrap()
    }

    #[test]
    fn every_text_is_read_again_as_it_was() {
        for text in [
            "",
            " ",
            "a",
            "true",
            "1.4.2",
            "3.10",
            "null",
            "- a",
            "a: b",
            "a #b",
            "it's \"so\"",
            "{{x}}",
            "# no",
            "a\nb",
            "a\nb\n",
            "a\n\n b\n",
            " a\nb",
            "\ta\nb",
            "a\r\nb\r\n",
            "\u{1b}[1m",
            "é\u{2028}x",
            "a\n\n",
            "x\u{0}y",
            "[1, 2]",
            "*x",
            "&x",
            "!x",
            "%x",
            "@x",
            "`t`",
            "a:",
            "a ",
            "~",
            "=",
            "🦀\n🦀",
        ] {
            if text.contains('\0') {
                continue;
            }
            assert_eq!(read(text), text, "{}", entry(0, "k", text));
        }
    }
}
