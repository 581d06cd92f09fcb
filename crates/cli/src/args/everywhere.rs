//! Options that every verb takes, also where they change nothing: a wrapper can give them to all its calls.
//!
//! Never changes what an option means to the verbs that define it themselves.

use clap::{Arg, Command};

/// What a caller may say of every call: where things are, and how much is shown.
const PLACES: &[&str] = &["state-dir", "working-dir", "recipe-dir", "quiet", "progress"];

/// What those do not take: it is what they are, or has a meaning of its own there.
const NOT_THEIRS: &[&str] = &["help", "validate-only", "explain", "graph"];

/// The verbs that stand for flags of a run, and take what a run takes.
const LIKE_A_RUN: &[&str] = &["validate", "explain"];

/// The command line with these options added to the verbs that lack them. They are not shown there.
pub(super) fn taken(command: Command) -> Command {
    let options: Vec<Arg> = command.get_arguments().filter(|arg| arg.get_long().is_some()).cloned().collect();
    command.mut_subcommands(|verb| {
        let is_run = LIKE_A_RUN.contains(&verb.get_name());
        let wanted = |arg: &&Arg| {
            let long = arg.get_long().unwrap_or_default();
            PLACES.contains(&long) || (is_run && !NOT_THEIRS.contains(&long))
        };
        let missing: Vec<Arg> = options.iter().filter(wanted).filter_map(|arg| hidden(arg, &verb)).collect();
        verb.args(missing)
    })
}

/// The option as the verb can take it, unless it has one of that name.
fn hidden(option: &Arg, verb: &Command) -> Option<Arg> {
    let longs = |arg: &Arg| {
        let others = arg.get_all_aliases().unwrap_or_default();
        arg.get_long().into_iter().chain(others).map(str::to_owned).collect::<Vec<String>>()
    };
    let known = |arg: &Arg| longs(arg).iter().any(|long| longs(option).contains(long));
    if verb.get_arguments().any(|arg| known(arg) || arg.get_id() == option.get_id()) {
        return None;
    }
    let is_taken = verb.get_arguments().any(|arg| arg.get_short() == option.get_short());
    let short = option.get_short().filter(|_| !is_taken);
    Some(option.clone().short(short).hide(true))
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
