//! The launcher form: one program that starts the requested agent program, as `LAUNCHER NAME -- [--allow-all-tools] -p
//! PROMPT [--system-prompt S] --add-dir CWD [--model M]`.
//!
//! The prompt is an argument because that is the launcher's contract. A prompt that does not fit is put into a private
//! file that the argument names, and a second `--add-dir` names the directory of that file. The launcher manages
//! sessions itself, so they are not passed.

use super::{ARGUMENT_LIMIT, Invocation, Program, Reader, Request, Tools, argument_prompt, joined_prompt};

/// How to start the launcher for a request to the program of that name.
pub fn invocation(name: &str, request: &Request) -> Invocation {
    let mut call = Invocation::new([name, "--"]);
    if name == "copilot" && request.tools == Tools::All {
        call.arg("--allow-all-tools");
    }
    let system = request.system_prompt.as_deref();
    let long = system.is_some_and(|system| system.len() > ARGUMENT_LIMIT);
    let prompt = match long {
        true => joined_prompt(request),
        false => request.prompt.clone(),
    };
    let prompt = argument_prompt(&prompt, &request.scratch, &mut call.files);
    call.option("-p", Some(&prompt));
    call.option("--system-prompt", system.filter(|_| !long));
    call.arg("--add-dir").arg(request.cwd.clone());
    if !call.files.is_empty() {
        call.arg("--add-dir").arg(request.scratch.clone());
    }
    call.option("--model", request.model.as_deref());
    for arg in &request.more_args {
        call.arg(arg);
    }
    call
}

/// A reader for its output: the program's structured result if there is one, otherwise the text.
pub fn reader(program: Option<&Program>) -> Reader {
    program.map_or_else(Reader::plain, Program::reader)
}
