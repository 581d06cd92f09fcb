//! Options that every verb takes, also where they change nothing: a wrapper can give them to all its calls.
//!
//! Never changes what an option means to the verbs that define it themselves.

use std::ffi::OsString;

use clap::{Arg, Command};

/// What a caller may say of every call: where things are, and how much is shown.
const PLACES: &[&str] = &["state-dir", "working-dir", "recipe-dir", "quiet", "progress"];

/// What those do not take: it is what they are, or has a meaning of its own there.
const NOT_THEIRS: &[&str] = &["help", "validate-only", "explain", "graph"];

/// The verbs that stand for flags of a run, and take what a run takes.
const LIKE_A_RUN: &[&str] = &["validate", "explain"];

/// The command line with these options added to the verb that is asked for, where it lacks them. They are not shown there.
pub(super) fn taken(command: Command, asked: Option<&OsString>) -> Command {
    let is_verb = |name: &&str| command.find_subcommand(name).is_some();
    let Some(name) = asked.and_then(|word| word.to_str()).filter(is_verb) else { return command };
    let is_run = LIKE_A_RUN.contains(&name);
    let is_taken = |long: &str| PLACES.contains(&long) || (is_run && !NOT_THEIRS.contains(&long));
    let wanted = |arg: &&Arg| arg.get_long().is_some_and(is_taken);
    let options: Vec<Arg> = command.get_arguments().filter(wanted).cloned().collect();
    command.mut_subcommand(name, |verb| {
        let missing: Vec<Arg> = options.iter().filter_map(|arg| hidden(arg, &verb)).collect();
        verb.args(missing)
    })
}

/// The option as the verb can take it, unless it has one of that name.
fn hidden(option: &Arg, verb: &Command) -> Option<Arg> {
    let own: Vec<&str> = longs(option).collect();
    let known = |arg: &Arg| longs(arg).any(|long| own.contains(&long));
    if verb.get_arguments().any(|arg| known(arg) || arg.get_id() == option.get_id()) {
        return None;
    }
    let is_taken = verb.get_arguments().any(|arg| arg.get_short() == option.get_short());
    let short = option.get_short().filter(|_| !is_taken);
    Some(option.clone().short(short).hide(true))
}

/// The long names of an option.
pub(crate) fn longs(arg: &Arg) -> impl Iterator<Item = &str> {
    arg.get_long().into_iter().chain(arg.get_all_aliases().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use crate::args::parse;

    #[test]
    fn a_wrapper_may_say_the_same_of_every_call() {
        for line in [
            "list --state-dir d",
            "--state-dir d list",
            "-C d runs",
            "show last -C d -R e --quiet",
            "logs last --quiet --state-dir d",
            "cancel last -R e --progress",
            "resume last -C d -R e --quiet --state-dir d",
            "schema --state-dir d --quiet",
            "completions bash --state-dir d",
            "branch-name x --state-dir d",
            "sync url --state-dir d -C e",
            "prune -C d --state-dir e",
            "health -R d",
            "doctor -R d --quiet",
            "init --state-dir d",
            "validate a.yaml --state-dir d --quiet --include-tags x --audit-dir y --dry-run --max-parallel 3",
            "explain a.yaml --state-dir d --progress --step-timeout 3 --recovery off --auto-fix",
            "run a.yaml --state-dir d",
        ] {
            let arguments = std::iter::once("program").chain(line.split(' ')).map(Into::into).collect();
            assert!(parse(arguments).is_ok(), "{line}");
        }
        for line in
            ["runs --audit-dir d", "list --dry-run", "validate a.yaml --nonsense", "runs --quiet --progress"]
        {
            let arguments = std::iter::once("program").chain(line.split(' ')).map(Into::into).collect();
            assert!(parse(arguments).is_err(), "{line}");
        }
    }
}
