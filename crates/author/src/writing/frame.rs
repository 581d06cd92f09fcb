//! The steps around the work: reading the spec, the state before it, the scope after it, the end.

use super::{
    gates::{self, CHECK_TIMEOUT},
    loops::{self, Part},
    outline, shell,
    step::{Role, StepDraft},
};
use crate::brief::{AnsweredBy, Brief, Check, Effect, EffectKind, Target, TargetKind, TargetSource};

/// Reads the spec, if it is the one that the recipe was written from.
pub(super) fn read_spec(brief: &Brief) -> StepDraft {
    let script = format!(
        "spec={path}\nexpected={digest}\n\
         actual=$({{ sha256sum -- \"$spec\" 2>/dev/null || shasum -a 256 -- \"$spec\"; }} | cut -d' ' -f1)\n\
         if [ \"$actual\" != \"$expected\" ]; then\n  \
         printf '%s has changed since this recipe was generated\\nexpected: %s\\nactual:   %s\\n' \"$spec\" \"$expected\" \"$actual\" >&2\n  \
         exit 1\nfi\ncat -- \"$spec\"\n",
        path = shell::quote(&brief.spec.path),
        digest = brief.spec.sha256,
    );
    StepDraft::new("read-spec", Role::ReadSpec, "The spec, as it was when this recipe was generated")
        .yaml("output", "spec_text")
        .yaml("timeout", "1m")
        .body("command", &script)
}

/// Tools, git, clean targets, the base commit, and the files as they are now.
pub(super) fn preflight(brief: &Brief) -> StepDraft {
    let mut script = String::new();
    let tools = tools(brief);
    if !tools.is_empty() {
        script.push_str(&format!(
            "for tool in {}; do\n  command -v \"$tool\" > /dev/null || {{ printf 'program not found: %s\\n' \"$tool\" >&2; exit 1; }}\ndone\n",
            tools.join(" ")
        ));
    }
    if brief.project.git {
        script.push_str("commit=$(git rev-parse --verify HEAD)\n");
        let targets: Vec<&Target> = brief.targets.paths.iter().collect();
        if brief.targets.source != TargetSource::Unstated && !targets.is_empty() {
            script.push_str(&format!(
                "dirty=$(git status --porcelain -- {})\n\
                 if [ -n \"$dirty\" ]; then\n  printf 'commit or undo these changes first:\\n%s\\n' \"$dirty\" >&2\n  exit 1\nfi\n",
                pathspecs(&targets, "")
            ));
        }
        script.push_str(
            "# the files as they are now, kept in the folder of the run: `scope` compares with them\n",
        );
        script.push_str(&private_index("base"));
        script
            .push_str("git write-tree > \"$RECIPE_RUNNER_RUN_DIR/base.tree\"\nprintf '%s\\n' \"$commit\"\n");
    } else {
        script.push_str(&format!("{LISTING} > \"$RECIPE_RUNNER_RUN_DIR/base.list\"\nprintf 'no git\\n'\n"));
    }
    StepDraft::new("preflight", Role::Preflight, "Tools, clean targets and the base commit")
        .yaml("output", "base_commit")
        .yaml("timeout", "5m")
        .body("command", &script)
}

/// Every file with its digest, for projects without git.
const LISTING: &str = "find . -type f -not -path '*/node_modules/*' -not -path '*/target/*' -not -path '*/__pycache__/*' -exec cksum {} + | sort";

/// An index of all files that git does not ignore; nothing is written into the repository.
fn private_index(name: &str) -> String {
    format!(
        "export GIT_ALTERNATE_OBJECT_DIRECTORIES=$(git rev-parse --path-format=absolute --git-path objects)\n\
         index=$(git rev-parse --path-format=absolute --git-path index)\n\
         export GIT_OBJECT_DIRECTORY=$RECIPE_RUNNER_RUN_DIR/objects GIT_INDEX_FILE=$RECIPE_RUNNER_RUN_DIR/{name}.index\n\
         mkdir -p \"$GIT_OBJECT_DIRECTORY\"\n\
         if [ -e \"$index\" ]; then cp -p -- \"$index\" \"$GIT_INDEX_FILE\"; fi\n\
         git add -A -- ':(top)'\n"
    )
}

/// Targets as arguments of git.
pub(super) fn pathspecs(targets: &[&Target], magic: &str) -> String {
    let one = |target: &&Target| {
        let kind = if target.kind == TargetKind::Glob { "glob" } else { "literal" };
        shell::quote(&format!(":({magic}{kind}){}", target.path.trim_end_matches('/')))
    };
    targets.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// The programs that the steps of this recipe need.
fn tools(brief: &Brief) -> Vec<String> {
    let mut tools = Vec::new();
    if brief.project.git {
        tools.push("git".to_owned());
    }
    for command in loops::checks(brief) {
        let first = shell::simple_commands(&command).first().and_then(|words| words.first().cloned());
        tools
            .extend(first.filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))));
    }
    if brief.criteria.iter().any(|criterion| matches!(criterion.check, Check::Http { .. })) {
        tools.push("curl".to_owned());
    }
    if brief.delivery.effects.iter().any(|effect| effect.kind == EffectKind::Pr) {
        tools.push("gh".to_owned());
    }
    let mut seen = Vec::new();
    tools.retain(|tool| {
        let is_new = !seen.contains(tool);
        seen.push(tool.clone());
        is_new
    });
    tools
}

/// The tests before the change.
pub(super) fn baseline(brief: &Brief) -> Option<StepDraft> {
    let command = loops::test_command(brief)?;
    let command = shell::inline(command);
    let script = format!(
        "if output=$({command} 2>&1); then\n  printf 'passed\\n'\nelse\n  \
         printf 'failed with exit code %s:\\n%s\\n' \"$?\" \"${{output: -2000}}\"\nfi\n"
    );
    let script = if shell::is_compound(&command) {
        script.replace(&format!("$({command} 2>&1)"), &format!("$({{ {command}; }} 2>&1)"))
    } else {
        script
    };
    let step = StepDraft::new("baseline", Role::Baseline, "The tests before the change")
        .yaml("output", "tests_before")
        .yaml("timeout", CHECK_TIMEOUT)
        .body("command", &script);
    Some(step)
}

/// Only the targets have changed.
pub(super) fn scope(brief: &Brief) -> StepDraft {
    let mut script = String::new();
    if brief.project.git {
        script.push_str(
            "if [ \"$(git rev-parse HEAD)\" != {{base_commit}} ]; then\n  \
             printf 'an agent has made a commit; undo it with: git reset --soft %s\\n' {{base_commit}} >&2\n  exit 1\nfi\n\
             base=$(cat \"$RECIPE_RUNNER_RUN_DIR/base.tree\")\n",
        );
        script.push_str(&private_index("now"));
        script.push_str("changed=$(git diff --cached --name-only --no-renames \"$base\")\n");
        script.push_str(&outside(brief));
    } else {
        script.push_str(&format!(
            "changed=$({LISTING} | comm -3 \"$RECIPE_RUNNER_RUN_DIR/base.list\" - | sed 's/^[[:space:]]*[0-9]* [0-9]* \\.\\///' | sort -u)\n"
        ));
        script.push_str(&outside_without_git(brief));
    }
    if let Some(most) = brief.constraints.max_changed_files {
        script.push_str(&format!(
            "count=$(grep -c . <<< \"$changed\" || :)\nif [ \"$count\" -gt {most} ]; then\n  \
             printf 'expected: at most {most} changed files\\nactual:   %s\\n%s\\n' \"$count\" \"$changed\" >&2\n  exit 1\nfi\n"
        ));
    }
    script.push_str("printf '%s\\n' \"$changed\"\n");
    StepDraft::new("scope", Role::Scope, "Only the targets have changed, tracked and untracked files alike")
        .yaml("output", "changed_files")
        .yaml("timeout", "5m")
        .body("command", &script)
}

const REFUSE: &str = "if [ -n \"$outside\" ]; then\n  printf 'these files must not change:\\n%s\\n' \"$outside\" >&2\n  exit 1\nfi\n";

/// Fails for changes outside the targets and for protected paths, with git.
fn outside(brief: &Brief) -> String {
    let mut script = String::new();
    let targets: Vec<&Target> = brief.targets.paths.iter().collect();
    if brief.targets.source != TargetSource::Unstated && !targets.is_empty() {
        let excluded = pathspecs(&targets, "exclude,");
        script.push_str(&format!(
            "outside=$(git diff --cached --name-only --no-renames \"$base\" -- ':(top)' {excluded})\n{REFUSE}"
        ));
    }
    let mut kept: Vec<&str> = brief.constraints.unchanged.iter().map(|(path, _)| path.as_str()).collect();
    if script.is_empty() {
        kept.push(&brief.spec.path);
    }
    let specs: Vec<String> = kept
        .iter()
        .filter(|path| !path.starts_with('/') && !path.starts_with(".."))
        .map(|path| {
            let kind = if path.contains('*') { "glob" } else { "literal" };
            shell::quote(&format!(":({kind}){}", path.trim_end_matches('/')))
        })
        .collect();
    if !specs.is_empty() {
        script.push_str(&format!(
            "outside=$(git diff --cached --name-only --no-renames \"$base\" -- {})\n{REFUSE}",
            specs.join(" ")
        ));
    }
    script
}

/// The same without git, with patterns of bash.
fn outside_without_git(brief: &Brief) -> String {
    let targets = &brief.targets.paths;
    if brief.targets.source == TargetSource::Unstated || targets.is_empty() {
        return String::new();
    }
    let patterns: Vec<String> = targets
        .iter()
        .map(|target| match target.kind {
            TargetKind::Glob => target.path.replace("**/", "*").replace("**", "*"),
            TargetKind::Folder => format!("{}/*", shell::quote(target.path.trim_end_matches('/'))),
            _ => shell::quote(&target.path),
        })
        .collect();
    format!(
        "outside=$(while IFS= read -r file; do\n  case $file in {} | '') ;; *) printf '%s\\n' \"$file\" ;; esac\ndone <<< \"$changed\")\n{REFUSE}",
        patterns.join(" | ")
    )
}

/// The whole change as text, for people.
pub(super) fn diff(brief: &Brief) -> StepDraft {
    let script = if brief.project.git {
        format!(
            "base=$(cat \"$RECIPE_RUNNER_RUN_DIR/base.tree\")\n{}git diff --cached --no-renames --no-color \"$base\"\n",
            private_index("diff")
        )
    } else {
        "printf 'changed files:\\n%s\\n' {{changed_files}}\n".to_owned()
    };
    StepDraft::new("diff", Role::Diff, "The whole change, for the person who decides")
        .yaml("output", "whole_diff")
        .yaml("timeout", "5m")
        .body("command", &script)
}

/// Compiles the programs of the project before gates that measure time.
pub(super) fn build(brief: &Brief, command: &str) -> StepDraft {
    let found = brief.project.build.as_ref().map_or(command, |found| found.command.as_str());
    StepDraft::new("build", Role::Build, "Compiles before gates that measure time")
        .yaml("timeout", CHECK_TIMEOUT)
        .body("command", &shell::inline(found))
}

/// The last check before anything is published: the reviews have ended well, and there is a change.
pub(super) fn pass(part: &Part<'_>, gates: &[String]) -> StepDraft {
    let mut script = String::new();
    if part.brief.tracks.is_empty() || part.track.is_some() {
        script.push_str(
            "verdict={{confirm.verdict}}\ncase $verdict in\n  '' | NO_ISSUES_FOUND) ;;\n  \
             *) printf 'expected: no findings after the last fix\\nactual:   %s\\n%s\\n' \"$verdict\" {{confirm.findings}} >&2; exit 1 ;;\nesac\n",
        );
    }
    if part.track.is_some() && part.brief.project.git {
        let paths = match loops::patterns(part).as_slice() {
            [all] if all == "**" => "':(top)'".to_owned(),
            _ => pathspecs(&part.targets, ""),
        };
        script.push_str(&format!(
            "[ -n \"$(git status --porcelain -- {paths})\" ] || {{ printf 'no target of this track has changed\\n' >&2; exit 1; }}\n"
        ));
    }
    if part.track.is_none() {
        script.push_str("[ -n {{changed_files}} ] || { printf 'no file has changed\\n' >&2; exit 1; }\n");
    }
    script.push_str(&format!("printf 'passed: %s\\n' {}\n", shell::quote(&passed(gates))));
    let step =
        StepDraft::new("pass", Role::Pass, "Every gate has passed, and the last review has no findings")
            .yaml("timeout", "1m");
    let step = if gates.is_empty() { step } else { step.yaml("depends_on", &super::text::flow(gates)) };
    step.body("command", &script)
}

fn passed(gates: &[String]) -> String {
    if gates.is_empty() { "the reviews".to_owned() } else { gates.join(", ") }
}

/// The words of every gate, for the sign-off.
pub(super) fn proofs(part: &Part<'_>, gates: &[(String, String)]) -> String {
    let mut script = String::from("printf 'proved by:\\n'\n");
    for (id, title) in gates {
        script.push_str(&format!("printf -- '- %s: %s\\n' {id} {}\n", shell::quote(title)));
    }
    for command in part.checks() {
        script.push_str(&format!("printf -- '- after every edit: %s\\n' {}\n", shell::quote(&command)));
    }
    script
}

/// The verdicts of the reviews, for the sign-off.
pub(super) fn verdicts(part: &Part<'_>) -> String {
    let mut script = String::from("printf 'reviews:\\n'\n");
    for (at, reviewer) in part.brief.tools.reviewers.iter().enumerate() {
        for review in [format!("review-{}", at + 1), format!("final-review-{}", at + 1)] {
            let program = shell::quote(&reviewer.program);
            script.push_str(&format!(
                "printf -- '- %s (%s): %s\\n' {review} {program} {{{{{review}.verdict}}}}\n"
            ));
        }
    }
    script.push_str(
        "printf -- '- confirm: %s\\n' \"{{#if confirm}}{{confirm.verdict}}{{else}}not needed{{/if}}\"\n",
    );
    script
}

/// The result text.
pub(super) fn sign_off(part: &Part<'_>, gates: &[(String, String)]) -> StepDraft {
    let brief = part.brief;
    let mut script = format!("printf 'SIGNED_OFF: %s\\n' {}\n", shell::quote(&brief.title));
    script.push_str(&proofs(part, gates));
    if brief.tracks.is_empty() && !super::tracks::is_graph(brief) {
        script.push_str(&verdicts(part));
    } else {
        for track in super::tracks::tracks(brief) {
            let id = super::tracks::id(&track);
            script.push_str(&format!("printf 'track %s:\\n%s\\n' {} {{{{{id}}}}}\n", track.name));
        }
    }
    script.push_str("printf 'files:\\n%s\\n' {{changed_files}}\n");
    script.push_str(&format!("printf 'effects: %s\\n' {}\n", shell::quote(&effects(brief))));
    script.push_str(&format!("printf 'open items: %s\\n' {}\n", shell::quote(&open_items(brief))));
    script.push_str(
        "run=${RECIPE_RUNNER_RUN_DIR##*/}\nprintf 'logs: recipe-runner-rs logs %s\\nresume: recipe-runner-rs resume %s\\n' \"$run\" \"$run\"\n",
    );
    StepDraft::new("signoff", Role::SignOff, "What was proved, what changed, what is left")
        .yaml("timeout", "1m")
        .body("command", &script)
}

fn effects(brief: &Brief) -> String {
    let name = |effect: &Effect| match (effect.kind, &effect.base) {
        (EffectKind::Pr, Some(base)) => format!("pull request against {base}"),
        (EffectKind::Pr, None) => "pull request".to_owned(),
        (EffectKind::Push, _) => "push of the branch".to_owned(),
        (EffectKind::Deploy, _) => "deployment".to_owned(),
        (EffectKind::Publish, _) => "publication".to_owned(),
    };
    let names: Vec<String> = brief.delivery.effects.iter().map(name).collect();
    match names.is_empty() {
        true => "none, and no commit".to_owned(),
        false => format!("none so far, next are {}", names.join(" and ")),
    }
}

/// Answers that no person has given.
fn open_items(brief: &Brief) -> String {
    let assumed = brief.clarifications.iter().filter(|one| one.answered_by == AnsweredBy::Generator);
    let items: Vec<String> = assumed
        .map(|one| {
            format!("{} (assumed: {})", outline::one_line(&one.question), outline::one_line(&one.answer))
        })
        .collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

/// What a person needs after a failure.
pub(super) fn unfinished(brief: &Brief) -> StepDraft {
    let changed = match brief.project.git {
        true => "printf 'files:\\n'\ngit status --short || :\n",
        false => "",
    };
    let effects = match brief.delivery.effects.is_empty() {
        true => "none",
        false => "'see the log of the step ship, if it started'",
    };
    let script = format!(
        "printf 'NOT_SIGNED_OFF: %s failed\\n' {{{{failure.step}}}}\nprintf '%s\\n' {{{{failure.error}}}}\n{changed}\
         printf 'effects: %s\\n' {effects}\n\
         run=${{RECIPE_RUNNER_RUN_DIR##*/}}\n\
         printf 'logs: recipe-runner-rs logs %s %s\\nresume: recipe-runner-rs resume %s\\n' \"$run\" {{{{failure.step}}}} \"$run\"\n",
    );
    StepDraft::new("unfinished", Role::Unfinished, "What failed, and how to continue")
        .yaml("when", "failed")
        .yaml("undoes", "[]")
        .yaml("timeout", "1m")
        .body("command", &script)
}

/// Every gate of a part with its words.
pub(super) fn titles(brief: &Brief, steps: &[StepDraft]) -> Vec<(String, String)> {
    let number = |id: &str| id.split('-').nth(1).and_then(|number| number.parse::<usize>().ok());
    let title = |id: &str| {
        let criterion = number(id).and_then(|number| brief.criteria.iter().find(|one| one.number == number));
        criterion.map_or_else(|| id.to_owned(), gates::title)
    };
    let gates = steps.iter().filter(|step| matches!(step.role, Role::Gate(_)));
    gates.map(|step| (step.id.clone(), title(&step.id))).collect()
}
