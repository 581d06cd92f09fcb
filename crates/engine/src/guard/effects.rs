//! Which commands change the world outside: pushes, pull requests, publications, deployments.
//!
//! Looks at parsed words only, so that a mention in a comment, a heredoc or a quoted text is none.

use super::program::Call;

/// Options that turn an effect into a rehearsal.
const REHEARSALS: [&str; 13] = [
    "--dry-run",
    "-n",
    "--noop",
    "--no-op",
    "--dryrun",
    "--check",
    "--what-if",
    "--plan",
    "--simulate",
    "--local",
    "--dry-run=client",
    "--dry-run=server",
    "--dry-run=true",
];

/// The effect of a command: program and verb, such as `git push`.
pub fn effect(call: &Call) -> Option<String> {
    let program = call.program.as_str();
    let mut operands = call.verbs().into_iter();
    let (first, second) = (operands.next().unwrap_or_default(), operands.next().unwrap_or_default());
    let verbs: &[&str] = match program {
        "git" => &["push", "send-email"],
        "npm" | "yarn" | "pnpm" | "cargo" | "poetry" | "flit" | "uv" | "hatch" | "vsce" | "lerna" | "gem"
        | "bun" => &["publish", "push"],
        "docker" | "podman" | "buildah" | "skopeo" | "helm" | "oras" => {
            &["push", "upgrade", "install", "uninstall", "copy", "manifest"]
        }
        "kubectl" | "oc" => &["apply", "create", "delete", "replace", "patch", "rollout", "scale", "set"],
        "terraform" | "tofu" | "pulumi" | "terragrunt" => &["apply", "destroy", "up", "import"],
        "twine" => &["upload"],
        "serverless" | "sls" | "vercel" | "netlify" | "fly" | "flyctl" | "firebase" | "wrangler" | "cdk"
        | "sam" | "railway" | "mvn" | "gradle" | "gradlew" => &["deploy", "publish", "release"],
        "gcloud" | "az" | "heroku" => {
            return program_effect(
                call,
                &["deploy", "create", "delete", "update", "release", "container:release"],
            );
        }
        "aws" => {
            return program_effect(
                call,
                &["cp", "sync", "mv", "rm", "deploy", "update-service", "publish", "put-object"],
            );
        }
        "gh" | "glab" | "hub" => return forge(program, first, second),
        "scp" => return is_remote_copy(call).then(|| "scp".to_owned()),
        "rsync" => return is_remote_copy(call).then(|| "rsync".to_owned()),
        "curl" | "http" | "wget" => return sends(call).then(|| format!("{program} send")),
        "make" | "just" | "task" | "rake" => {
            let target = call.operands().find(|word| is_named_for_effect(word))?;
            return Some(format!("{program} {target}"));
        }
        "ssh" => {
            let command = call.operands().skip(1).find(|word| is_named_for_effect(word))?;
            return Some(format!("ssh {command}"));
        }
        "ansible-playbook" | "goreleaser" | "semantic-release" | "sendmail" | "mail" | "release-it" => {
            return Some(program.to_owned());
        }
        // a script is the same one, whoever reads it
        "bash" | "sh" | "zsh" | "dash" | "source" | "." => {
            return call.operands().next().filter(|script| is_named_for_effect(script)).map(file_name);
        }
        _ => return is_named_for_effect(program).then(|| file_name(program)),
    };
    if program == "vercel" && call.arguments().iter().any(|word| word == "--prod") {
        return Some("vercel --prod".to_owned());
    }
    verbs.contains(&first).then(|| format!("{program} {first}"))
}

/// Whether a script, a target or a function says by its name that it deploys or publishes: `./scripts/deploy-web.sh`.
pub(super) fn is_named_for_effect(name: &str) -> bool {
    let file = file_name(name);
    let stem = file.split('.').next().unwrap_or(&file);
    stem.split(['-', '_', ':']).any(|word| matches!(word, "deploy" | "publish"))
}

fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// Whether a rehearsal takes the place of the real thing.
pub fn rehearses(call: &Call) -> Option<&str> {
    call.arguments().iter().map(String::as_str).find(|word| REHEARSALS.contains(word))
}

fn program_effect(call: &Call, verbs: &[&str]) -> Option<String> {
    let verb = call.operands().find(|word| verbs.contains(word))?;
    Some(format!("{} {verb}", call.program))
}

fn forge(program: &str, noun: &str, verb: &str) -> Option<String> {
    let known = matches!(
        (noun, verb),
        ("pr" | "mr", "create" | "merge" | "close" | "edit" | "comment" | "review" | "ready")
            | ("release", "create" | "upload" | "edit" | "delete")
            | ("issue", "create" | "close" | "comment" | "edit")
            | ("workflow", "run")
            | ("repo", "create" | "delete" | "edit")
    ) || (program, noun) == ("hub", "pull-request");
    known.then(|| format!("{program} {noun} {verb}"))
}

fn is_remote_copy(call: &Call) -> bool {
    call.operands().last().is_some_and(|target| target.contains(':'))
}

fn sends(call: &Call) -> bool {
    let arguments = call.arguments();
    let method = |word: &str| matches!(word, "POST" | "PUT" | "PATCH" | "DELETE");
    let named =
        arguments.windows(2).any(|pair| matches!(pair[0].as_str(), "-X" | "--request") && method(&pair[1]));
    let joined = arguments.iter().any(|word| {
        word.strip_prefix("-X").is_some_and(method)
            || word.starts_with("--request=")
            || word.starts_with("--data")
            || word.starts_with("--post-")
            || matches!(word.as_str(), "-d" | "-F" | "--form" | "-T" | "--upload-file" | "--json")
    });
    named || joined || (call.program == "http" && arguments.iter().any(|word| method(word)))
}
