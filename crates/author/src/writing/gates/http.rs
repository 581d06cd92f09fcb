//! Gates that start a server, send a request and stop the server.

use super::{FakeReply, Scene, Trial};
use crate::{
    brief::{Check, Criterion},
    writing::{shell, step::StepDraft},
};

/// The port if the spec names none.
const USUAL_PORT: u16 = 8080;

/// The gate of a request.
pub(super) fn gate(criterion: &Criterion, id: &str) -> StepDraft {
    let Check::Http { method, path, status, contains, start, port } = &criterion.check else {
        return super::script(id, criterion, Trial::Whole, "exit 1");
    };
    let url = format!("http://127.0.0.1:{}{path}", port.unwrap_or(USUAL_PORT));
    let mut script = format!(
        "scratch=$(mktemp -d)\n\
         set -m    # the server gets a process group of its own, so that all of it can be stopped\n\
         {{ {start}; }} > \"$scratch/log\" 2>&1 &\n\
         server=$!\n\
         trap 'kill -- \"-$server\" 2>/dev/null || :; rm -rf \"$scratch\"' EXIT\n\
         answer=\n\
         for second in $(seq 30); do\n  \
         if answer=$(curl -sS -m 10 -X {method} -w '\\n%{{http_code}}' {url} 2>\"$scratch/curl\"); then break; fi\n  \
         answer=\n  sleep 1\n\
         done\n\
         if [ -z \"$answer\" ]; then\n  \
         printf 'no answer from %s after %s seconds\\n' {url} \"$second\" >&2\n  \
         cat \"$scratch/curl\" \"$scratch/log\" >&2\n  exit 1\n\
         fi\n\
         actual=${{answer##*$'\\n'}}\n\
         body=${{answer%$'\\n'*}}\n",
        start = shell::inline(start),
        method = shell::quote(method),
        url = shell::quote(&url),
    );
    if let Some(status) = status {
        script.push_str(&format!(
            "[ \"$actual\" = {status} ] || {{ printf 'expected: status %s\\nactual:   status %s\\n%s\\n' {status} \"$actual\" \"$body\" >&2; exit 1; }}\n"
        ));
    }
    for text in contains {
        let wanted = shell::quote(text);
        script.push_str(&format!(
            "wanted={wanted}\n[[ $body == *\"$wanted\"* ]] || {{ printf 'expected: a body with %s\\nactual:   %s\\n' \"$wanted\" \"$body\" >&2; exit 1; }}\n"
        ));
    }
    script.push_str("printf '%s %s\\n' \"$actual\" \"$body\"\n");
    super::script(id, criterion, trial(status.unwrap_or(200), contains, start), &script)
}

fn trial(status: u16, contains: &[String], start: &str) -> Trial {
    let answer = |title: &str, code: u16, body: &str| {
        let reply = FakeReply { stdout: format!("{body}\n{code}"), ..FakeReply::default() };
        let scene = Scene::named(title).program("curl", reply);
        match shell::simple_commands(start).first().and_then(|words| words.first()) {
            Some(name) if !name.contains('/') && name != "bash" && name != "sh" => {
                scene.program(name, FakeReply::default())
            }
            _ => scene,
        }
    };
    let body = contains.join("\n");
    let mut wrong = vec![answer("the status is wrong", if status == 500 { 404 } else { 500 }, &body)];
    if !contains.is_empty() {
        wrong.push(answer("the body is wrong", status, "something else"));
    }
    Trial::Scenes { right: answer("the answer is right", status, &body), wrong }
}
