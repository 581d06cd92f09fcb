//! Which commands change the world outside: pushes, pull requests, publications, deployments.
//!
//! Looks at parsed words only, so a mention in a comment, a heredoc or a quoted text does not count.

use super::{
    names::{self, is_named_for_effect},
    program::{Call, base_name},
};

pub use super::rehearsals::rehearses;

/// Programs whose operands name files, texts and places, not actions.
const LOCAL: [&str; 44] = [
    "grep", "egrep", "fgrep", "rg", "zgrep", "find", "cp", "mv", "rm", "ln", "tar", "zip", "unzip", "gzip",
    "sed", "awk", "jq", "yq", "cut", "sort", "diff", "cmp", "test", "[", "[[", "case", "chmod", "chown",
    "pushd", "rmdir", "install", "basename", "dirname", "realpath", "stat", "du", "kill", "cmake", "ninja",
    "meson", "dotnet", "read", "for", "unset",
];

/// Programs whose only purpose is to change the world outside.
const ALWAYS: [&str; 14] = [
    "ansible-playbook",
    "goreleaser",
    "semantic-release",
    "sendmail",
    "mail",
    "release-it",
    "gh-pages",
    "np",
    "surge",
    "lftp",
    "ncftpput",
    "jreleaser",
    "auto-publish",
    "git-publish",
];

/// The effect of a command: program and verb, such as `git push`.
pub fn effect(call: &Call) -> Option<String> {
    // `npx gh-pages@6`
    let program = call.program.split('@').next().filter(|name| !name.is_empty()).unwrap_or(&call.program);
    let mut operands = call.verbs().into_iter();
    let (first, second) = (operands.next().unwrap_or_default(), operands.next().unwrap_or_default());
    let verbs: &[&str] = match program {
        "git" => return git(first, second),
        "npm" | "yarn" | "pnpm" | "bun" | "deno" | "composer" | "turbo" | "nx" | "lerna" | "rush" => {
            return package_effect(program, call);
        }
        "cargo" | "go" => return toolchain(program, first, second, call),
        "docker" | "podman" | "buildah" | "skopeo" | "helm" | "oras" | "nerdctl" | "docker-compose" => {
            return container(program, first, second, call);
        }
        "kubectl" | "oc" => &["apply", "create", "delete", "replace", "patch", "rollout", "scale", "set"],
        "terraform" | "tofu" | "pulumi" | "terragrunt" => &["apply", "destroy", "up", "import"],
        "skaffold" => &["run", "deploy", "apply"],
        "helmfile" => &["apply", "sync", "destroy"],
        "eas" => &["submit", "update"],
        "svn" => &["commit", "ci"],
        "rclone" | "gsutil" | "s3cmd" | "azcopy" => {
            &["copy", "copyto", "sync", "move", "cp", "rsync", "mv", "put"]
        }
        "mvn" | "mvnw" | "gradle" | "gradlew" | "sbt" | "ant" => return target(program, call, ""),
        "gcloud" | "az" | "heroku" => {
            return program_effect(
                call,
                &[
                    "deploy",
                    "create",
                    "delete",
                    "update",
                    "release",
                    "submit",
                    "container:release",
                    "container:push",
                ],
            );
        }
        "aws" => {
            return program_effect(
                call,
                &["cp", "sync", "mv", "rm", "deploy", "update-service", "publish", "put-object", "push"],
            );
        }
        "gh" | "glab" | "hub" => return forge(program, first, second, call),
        "scp" => return is_remote_copy(call).then(|| "scp".to_owned()),
        "rsync" => return is_remote_copy(call).then(|| "rsync".to_owned()),
        "curl" | "http" | "wget" => return sends(call).then(|| format!("{program} send")),
        "make" | "gmake" | "just" | "task" | "rake" => return target(program, call, ""),
        "ssh" => {
            let command = call.operands().skip(1).find(|word| is_named_for_effect(word))?;
            return Some(format!("ssh {command}"));
        }
        "fastlane" if matches!(second, "beta" | "pilot" | "deliver" | "supply") => {
            return Some(format!("{program} {second}"));
        }
        "fastlane" if matches!(first, "beta" | "pilot" | "deliver" | "supply") => {
            return Some(format!("{program} {first}"));
        }
        _ if ALWAYS.contains(&program) => return Some(program.to_owned()),
        _ => return scripted(program, call),
    };
    verbs.contains(&first).then(|| format!("{program} {first}"))
}

/// `deploy.sh` counts as a deploy under any interpreter; other scripts are judged by their arguments.
fn scripted(program: &str, call: &Call) -> Option<String> {
    if program == "vercel" && call.arguments().iter().any(|word| word == "--prod") {
        return Some("vercel --prod".to_owned());
    }
    let script = names::script(call);
    let name = script.map_or(program, base_name);
    if is_named_for_effect(name) {
        return Some(name.to_owned());
    }
    let is_interpreter = script.is_some_and(|script| base_name(script) != program);
    if LOCAL.contains(&program) || Call::is_talk(program) || (call.is_toothless() && !is_interpreter) {
        return dotnet(program, call);
    }
    let arguments = match script {
        Some(script) => names::script_arguments(call, script),
        None => call.arguments(),
    };
    if script.is_none() && names::is_interpreter(program) {
        return None;
    }
    let verbs = arguments.iter().filter(|word| !word.starts_with('-')).take(2);
    let verb = verbs.into_iter().find(|word| !word.contains(['/', '.', ' ']) && is_named_for_effect(word))?;
    Some(format!("{name} {verb}"))
}

fn dotnet(program: &str, call: &Call) -> Option<String> {
    let pushes = program == "dotnet" && call.has("nuget") && call.has("push");
    pushes.then(|| "dotnet nuget push".to_owned())
}

fn git(first: &str, second: &str) -> Option<String> {
    match (first, second) {
        ("push" | "send-email", _) => Some(format!("git {first}")),
        ("lfs" | "subtree" | "annex" | "svn", "push" | "dcommit" | "sync") => {
            Some(format!("git {first} {second}"))
        }
        _ => None,
    }
}

/// The effect of a package manager, or of a script of the package that is named for an effect.
fn package_effect(program: &str, call: &Call) -> Option<String> {
    let places = ["-w", "-F", "--filter", "--workspace", "--prefix", "--cwd", "--dir", "-C"];
    let mut operands = Vec::new();
    let mut skips = false;
    for word in call.arguments() {
        if !skips && !word.starts_with('-') {
            operands.push(word.as_str());
        }
        skips = places.contains(&word.as_str());
    }
    if operands.first() == Some(&"workspace") {
        operands.drain(..operands.len().min(2));
    }
    let runs = |word: &&str| {
        matches!(
            *word,
            "run" | "run-script" | "task" | "npm" | "dlx" | "run-many" | "workspaces" | "foreach" | "exec"
        )
    };
    let verb = operands.into_iter().find(|word| !runs(word))?;
    let own = matches!(verb, "publish" | "unpublish" | "deprecate" | "dist-tag" | "gh-pages");
    (own || is_named_for_effect(verb)).then(|| format!("{program} {verb}"))
}

fn toolchain(program: &str, first: &str, second: &str, call: &Call) -> Option<String> {
    match (program, first) {
        ("cargo", "publish" | "release" | "yank" | "smart-release" | "push") => {
            Some(format!("cargo {first}"))
        }
        ("cargo", "xtask" | "make" | "ws" | "workspaces") if is_named_for_effect(second) => {
            Some(format!("cargo {first} {second}"))
        }
        (_, "run") => target(program, call, "run "),
        _ => None,
    }
}

fn container(program: &str, first: &str, second: &str, call: &Call) -> Option<String> {
    let builds = |word: &str| matches!(word, "build" | "bake" | "buildx");
    let sends = call.arguments().iter().any(|word| {
        word == "--push"
            || word == "--push=true"
            || word.contains("type=registry")
            || word.contains("push=true")
    });
    match (first, second) {
        ("push" | "upgrade" | "install" | "uninstall" | "copy" | "manifest", _) => {
            Some(format!("{program} {first}"))
        }
        ("compose" | "image" | "trust", "push") | ("stack", "deploy") | ("service", "create" | "update") => {
            Some(format!("{program} {first} {second}"))
        }
        _ if sends && (builds(first) || builds(second)) => Some(format!("{program} build --push")),
        _ => None,
    }
}

/// A target, a task or a goal that is named for an effect.
fn target(program: &str, call: &Call, before: &str) -> Option<String> {
    let target = call.operands().find(|word| is_named_for_effect(word))?;
    Some(format!("{program} {before}{target}"))
}

fn program_effect(call: &Call, verbs: &[&str]) -> Option<String> {
    let verb = call.operands().find(|word| verbs.contains(word))?;
    Some(format!("{} {verb}", call.program))
}

fn forge(program: &str, noun: &str, verb: &str, call: &Call) -> Option<String> {
    let fields = |word: &String| matches!(word.as_str(), "-f" | "-F" | "--field" | "--raw-field" | "--input");
    if noun == "api" && (sends(call) || call.arguments().iter().any(fields)) {
        return Some(format!("{program} api"));
    }
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
    let named = arguments
        .windows(2)
        .any(|pair| matches!(pair[0].as_str(), "-X" | "--request" | "--method") && method(&pair[1]));
    let joined = arguments.iter().any(|word| {
        word.strip_prefix("-X").is_some_and(method)
            || word.starts_with("--request=")
            || word.starts_with("--data")
            || word.starts_with("--post-")
            || matches!(word.as_str(), "-d" | "-F" | "--form" | "-T" | "--upload-file" | "--json")
    });
    named || joined || (call.program == "http" && arguments.iter().any(|word| method(word)))
}
