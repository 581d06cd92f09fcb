//! What leaves the machine, after everything has passed: a branch, a pull request, a deployment.

use super::{
    frame, shell,
    step::{Role, StepDraft},
    text,
};
use crate::brief::{Brief, Effect, EffectKind, Target, TargetSource};

/// The steps that approve and ship, if the spec asks for them.
pub(super) fn steps(brief: &Brief) -> Vec<StepDraft> {
    let mut steps = Vec::new();
    let is_approved = brief.delivery.approval.is_some() && !brief.delivery.effects.is_empty();
    if is_approved {
        steps.push(approve(brief));
    }
    let mut before = if is_approved { "approve".to_owned() } else { "signoff".to_owned() };
    let performed = brief.delivery.effects.iter().filter(|effect| has_step(effect));
    for (at, effect) in performed.enumerate() {
        let id = if at == 0 { "ship".to_owned() } else { format!("ship-{}", at + 1) };
        steps.push(ship(brief, effect, &id, &before));
        before = id;
    }
    steps
}

/// Whether the recipe itself does it; a deployment without a command is left to the person who approves.
fn has_step(effect: &Effect) -> bool {
    matches!(effect.kind, EffectKind::Pr | EffectKind::Push) || effect.command.is_some()
}

fn word(kind: EffectKind) -> &'static str {
    match kind {
        EffectKind::Pr => "pr",
        EffectKind::Push => "push",
        EffectKind::Deploy => "deploy",
        EffectKind::Publish => "publish",
    }
}

fn approve(brief: &Brief) -> StepDraft {
    let mut question = format!("Publish the result of: {}?\n", super::prompts::literal(&brief.title));
    for effect in &brief.delivery.effects {
        let text = super::prompts::literal(effect.text.trim());
        match has_step(effect) {
            true => question.push_str(&format!("\n- {}: {text}", word(effect.kind))),
            false => {
                question.push_str(&format!("\n- {}, by hand, before you approve: {text}", word(effect.kind)))
            }
        }
    }
    StepDraft::new("approve", Role::Approve, "A person decides before anything leaves this machine")
        .yaml("depends_on", "[signoff]")
        .body("ask", &question)
        .lines("show:", "- \"{{signoff}}\"\n- \"{{whole_diff}}\"")
}

fn ship(brief: &Brief, effect: &Effect, id: &str, before: &str) -> StepDraft {
    let step = StepDraft::new(
        id,
        Role::Ship,
        &effect.text.split_whitespace().collect::<Vec<_>>().join(" ").replace("{{", "{ {"),
    )
    .yaml("depends_on", &text::flow(["pass", before]))
    .yaml("effects", &format!("[{}]", word(effect.kind)))
    .yaml("idempotent", "false")
    .yaml("timeout", "30m");
    match (&effect.command, effect.kind) {
        (_, EffectKind::Pr) => step
            .sample("https://github.com/owner/project/pull/7\n")
            .body("command", &format!("{}{}", branch(brief), pull_request(brief, effect)))
            .lines("ensure:", &format!("- command: |\n{}", indented(URL_CHECK))),
        (_, EffectKind::Push) => step.body(
            "command",
            &format!(
                "{}git push --quiet --set-upstream origin \"$branch\"\nprintf 'pushed %s\\n' \"$branch\"\n",
                branch(brief)
            ),
        ),
        (Some(command), _) => step.body("command", &shell::inline(command)),
        (None, _) => step.body("command", "exit 1"),
    }
}

fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("    {line}\n")).collect()
}

/// The branch with one commit of the accepted files.
fn branch(brief: &Brief) -> String {
    let targets: Vec<&Target> = brief.targets.paths.iter().collect();
    let add = match brief.targets.source != TargetSource::Unstated && !targets.is_empty() {
        true => format!("git add -A -- {}\n", frame::pathspecs(&targets, "")),
        false => "git add -A --pathspec-from-file=- <<< {{changed_files}}\n".to_owned(),
    };
    let title = shell::quote(&brief.title);
    format!(
        "branch=$(\"$RECIPE_RUNNER_EXE\" branch-name -- {title})\n\
         git switch --quiet --create \"$branch\"\n{add}\
         git commit --quiet --message {title}\n"
    )
}

fn pull_request(brief: &Brief, effect: &Effect) -> String {
    let base = match &effect.base {
        Some(base) => format!("base={}\n", shell::quote(base)),
        None => "base=$(gh repo view --json defaultBranchRef --jq .defaultBranchRef.name)\n".to_owned(),
    };
    format!(
        "{base}git push --quiet --set-upstream origin \"$branch\"\n\
         url=$(gh pr create --base \"$base\" --head \"$branch\" --title {title} --body {{{{signoff}}}} | tail -n 1)\n\
         printf '%s\\n' \"$url\"\n",
        title = shell::quote(&brief.title),
    )
}

/// The address must be that of a pull request of this repository.
const URL_CHECK: &str = "remote=$(git remote get-url origin)
remote=${remote%/}
remote=${remote%.git}
repository=${remote##*[:/]}
owner=${remote%[:/]*}
owner=${owner##*[:/]}
case {{ship}} in
  https://*/\"$owner/$repository\"/pull/[0-9]*) ;;
  *) printf 'expected: the address of a pull request of %s/%s\\nactual:   %s\\n' \"$owner\" \"$repository\" {{ship}} >&2; exit 1 ;;
esac
";
