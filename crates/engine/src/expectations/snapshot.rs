//! The snapshot of a case: what came of it as a YAML text that is the same each time.

use recipe::value::Value;

use super::{CaseFacts, FileFact};

/// The scratch folder in a snapshot.
const SCRATCH: &str = "{scratch}";

/// The snapshot: statuses, order, values, prompts and files.
pub fn snapshot(facts: &CaseFacts) -> String {
    let mut text = format!("exit: {}\nstatus: {}\n", facts.exit, facts.status);
    section(&mut text, "steps", facts.steps.iter().map(|step| (step.path.as_str(), step.status.clone())));
    text.push_str(if facts.started.is_empty() { "order: []\n" } else { "order:\n" });
    for path in &facts.started {
        text.push_str(&format!("  - {}\n", word(path)));
    }
    let mut names: Vec<&String> = facts.context.keys().collect();
    names.sort();
    let values = names.iter().map(|name| (name.as_str(), block(&facts.context[*name], 2)));
    section(&mut text, "values", values);
    text.push_str(if facts.prompts.is_empty() { "prompts: []\n" } else { "prompts:\n" });
    for (path, prompt) in &facts.prompts {
        text.push_str(&format!("  - {}: {}\n", word(path), block(&Value::text(prompt.as_str()), 4)));
    }
    let changed = facts.files.iter().filter(|(path, _)| facts.changed.contains(path));
    let files = changed.map(|(path, fact)| match fact {
        FileFact::Absent => (path.as_str(), "null".to_owned()),
        fact => (path.as_str(), block(&fact.to_value().unwrap_or_default(), 2)),
    });
    section(&mut text, "files", files);
    match facts.scratch.as_str() {
        "" => text,
        scratch => text.replace(scratch, SCRATCH),
    }
}

fn section<'a>(text: &mut String, name: &str, entries: impl Iterator<Item = (&'a str, String)>) {
    let entries: Vec<String> = entries.map(|(key, value)| format!("  {}: {value}\n", word(key))).collect();
    match entries.is_empty() {
        true => text.push_str(&format!("{name}: {{}}\n")),
        false => text.push_str(&format!("{name}:\n{}", entries.concat())),
    }
}

/// A key: plain if that cannot be misread, otherwise in quotes.
fn word(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'))
        && !["true", "false", "null", "True", "False", "Null", "TRUE", "FALSE", "NULL"].contains(&text);
    if is_plain { text.to_owned() } else { Value::text(text).to_json() }
}

/// A value: text of several lines as a block, everything else as JSON.
fn block(value: &Value, indent: usize) -> String {
    let Value::Text(text) = value else { return value.to_json() };
    let is_printable = |c: char| c == '\n' || c == '\t' || !c.is_control();
    let is_block = text.trim_end_matches('\n').contains('\n')
        && text.chars().all(is_printable)
        && !text.starts_with([' ', '\t', '\n'])
        && !text.contains(['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}']);
    if !is_block {
        return value.to_json();
    }
    let chomp = match text.len() - text.trim_end_matches('\n').len() {
        0 => "-",
        1 => "",
        _ => "+",
    };
    let margin = " ".repeat(indent + 2);
    let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("{margin}{line}\n") };
    let body = text.strip_suffix('\n').unwrap_or(text);
    let lines: String = body.split('\n').map(line).collect();
    format!("|{chomp}\n{}", lines.trim_end_matches('\n').to_owned() + &"\n".repeat(trailing(&lines) - 1))
}

fn trailing(lines: &str) -> usize {
    lines.len() - lines.trim_end_matches('\n').len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use recipe::{source::Sources, yaml};

    #[test]
    fn a_snapshot_reads_back_as_what_it_says() {
        let texts = [
            "one",
            "a\nb\n",
            "a\n\n  b",
            "a\nb\n\n\n",
            " lead\nx",
            "tab\there\nx",
            "\u{7}\nx",
            "",
            "3",
            "a: b\n- c\n",
        ];
        for text in texts {
            let mut facts = CaseFacts::default();
            facts.context.insert("value".to_owned(), Value::text(text));
            facts.prompts.push(("review[1]".to_owned(), text.to_owned()));
            let mut sources = Sources::default();
            let file = sources.add("snapshot.yaml", snapshot(&facts));
            let mut problems = Vec::new();
            let root = yaml::parse(&sources, file, &mut problems).expect("a map").to_value();
            assert_eq!(problems, [], "{}", snapshot(&facts));
            let Value::Map(root) = root else { panic!("a map") };
            let Value::Map(values) = &root["values"] else { panic!("a map") };
            assert_eq!(values["value"], Value::text(text), "{}", snapshot(&facts));
            let Value::List(prompts) = &root["prompts"] else { panic!("a list") };
            let Value::Map(prompt) = &prompts[0] else { panic!("a map") };
            assert_eq!(prompt["review[1]"], Value::text(text), "{}", snapshot(&facts));
        }
    }
}
