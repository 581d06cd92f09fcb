//! Questions of a run at the terminal: puts them, reads the answer line by line, and hands it to the run.
//!
//! The answer takes the same way as one from another terminal, so that the first answer wins wherever it comes from.

use std::{
    collections::VecDeque,
    fs,
    io::BufRead as _,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        mpsc::{Receiver, TryRecvError, channel},
    },
};

use engine::{
    Event,
    run::{
        event::QuestionField,
        origin::Surface,
        question::{AnswerDraft, AnswerRefusal, check_answer},
    },
};
use recipe::{typed::typed, value::Value};
use runtime::{
    machine::host::name_of_user,
    report::asks::Ask,
    run::Notice,
    runs::{AnswerError, AnswerRequest, Runs, TakenAnswer, new_origin},
};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::{hints::Hints, questions};

/// The most lines of a content that are shown.
const MOST_LINES: usize = 40;

/// The id of the run that asks, once it is known. All prompts for that run share it.
pub(crate) type AskedRun = Arc<OnceLock<String>>;

/// A question in a terminal.
pub(crate) struct Prompt {
    runs: Runs,
    hints: Hints,
    run: AskedRun,
    /// Questions that come later.
    later: VecDeque<Ask>,
    current: Option<Dialog>,
    /// The outcome of an answer that was handed over.
    handed_over: Option<Receiver<Result<TakenAnswer, AnswerError>>>,
    /// Whether the last line on the screen is the prompt.
    pub(crate) is_on_screen: bool,
    echo: Echo,
}

/// A question that is being answered.
struct Dialog {
    ask: Ask,
    choice: Option<String>,
    fields: Vec<(String, Value)>,
    /// The field that is asked for.
    at: usize,
}

impl Dialog {
    fn new(ask: Ask) -> Dialog {
        Dialog { ask, choice: None, fields: Vec::new(), at: 0 }
    }

    /// The words before the cursor.
    fn line(&self) -> String {
        match (&self.choice, self.ask.fields.get(self.at)) {
            (None, _) => format!("{}? ", self.ask.choices.join(" / ")),
            (Some(_), Some(field)) => {
                let kind = match field.choices.is_empty() {
                    true => field.kind.clone(),
                    false => field.choices.join(" / "),
                };
                let needed = if field.required { "" } else { ", optional" };
                format!("{} ({kind}{needed})? ", field.name)
            }
            (Some(_), None) => String::new(),
        }
    }

    /// Whether the next line is a secret.
    fn hides_input(&self) -> bool {
        self.choice.is_some() && self.ask.fields.get(self.at).is_some_and(QuestionField::is_secret)
    }

    fn is_complete(&self) -> bool {
        self.choice.is_some() && self.at >= self.ask.fields.len()
    }

    /// Takes a typed line; the error says what is wrong with it.
    fn take(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim();
        let exists = |_: &str| true;
        let Some(choice) = &self.choice else {
            let by_number = line.parse::<usize>().ok().and_then(|n| self.ask.choices.get(n.checked_sub(1)?));
            let named = self.ask.choices.iter().find(|choice| *choice == line);
            let draft = AnswerDraft { choice: line.to_owned(), ..AnswerDraft::default() };
            match named.or(by_number) {
                Some(choice) => self.choice = Some(choice.clone()),
                None => check_answer(&self.ask.choices, &[], &draft, &exists)
                    .map(drop)
                    .map_err(|problems| said(&problems))?,
            }
            return Ok(());
        };
        let Some(field) = self.ask.fields.get(self.at) else { return Ok(()) };
        let given = (!line.is_empty()).then(|| (field.name.clone(), typed(line)));
        let draft = AnswerDraft {
            choice: choice.clone(),
            fields: given.clone().into_iter().collect(),
            ..AnswerDraft::default()
        };
        let only: &[QuestionField] = std::slice::from_ref(field);
        check_answer(&self.ask.choices, only, &draft, &exists).map_err(|problems| said(&problems))?;
        self.fields.extend(given);
        self.at += 1;
        Ok(())
    }
}

fn said(problems: &[engine::run::question::AnswerProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Prompt {
    /// Asks nothing yet.
    pub(crate) fn new(runs: Runs, run: AskedRun, hints: Hints) -> Prompt {
        Prompt {
            runs,
            hints,
            run,
            later: VecDeque::new(),
            current: None,
            handed_over: None,
            is_on_screen: false,
            echo: Echo::default(),
        }
    }

    /// The prompt that waits for a line; absent if nothing is asked.
    pub(crate) fn line(&self) -> Option<String> {
        let waits = self.handed_over.is_none();
        self.current.as_ref().filter(|dialog| waits && !dialog.is_complete()).map(Dialog::line)
    }

    /// Takes in what happens; returns lines to show above the prompt.
    pub(crate) fn hear(&mut self, notice: &Notice<'_>) -> Vec<String> {
        match notice {
            Notice::Event { record, state, mask } => match &record.event {
                Event::RunStarted(started) => {
                    let _ = self.run.set(started.run_id.clone());
                }
                Event::QuestionPut(put) => {
                    if let (Some(run), Some(asked)) = (self.run.get(), state.questions.get(&put.path)) {
                        let ask = Ask::of(run, &state.root().unit.name, asked, mask);
                        self.forget(&put.path);
                        self.later.push_back(ask);
                    }
                }
                Event::Answered(answered) => self.forget(&answered.path),
                Event::StepFinished { path, .. } => self.forget(path),
                Event::QuestionWithdrawn { path, .. } => self.forget(path),
                _ => {}
            },
            Notice::Stopping { .. } => (self.current, self.later) = (None, VecDeque::new()),
            _ => {}
        }
        let mut lines = self.take_outcome();
        lines.extend(self.take_lines());
        if self.current.is_none()
            && let Some(ask) = self.later.pop_front()
        {
            lines.extend(self.begin(ask));
        }
        let waits = self.handed_over.is_none();
        self.echo.set(!self.current.as_ref().is_some_and(|dialog| waits && dialog.hides_input()));
        lines
    }

    fn forget(&mut self, path: &str) {
        let below = format!("{path}/");
        let is_it = |ask: &Ask| ask.step == path || ask.step.starts_with(&below);
        self.later.retain(|ask| !is_it(ask));
        if self.current.as_ref().is_some_and(|dialog| is_it(&dialog.ask)) {
            self.current = None;
        }
    }

    fn begin(&mut self, ask: Ask) -> Vec<String> {
        // what was typed before the question is no answer to it
        while typed_line().is_ok() {}
        let mut lines = vec![format!("? {}: {}", ask.step, ask.question.trim_end())];
        for part in &ask.show {
            let file = self.runs.dir().join(&ask.run_id).join(&part.file);
            let text = fs::read(&file).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            lines.push(format!("  {} ({} bytes)", part.name.as_deref().unwrap_or("shown"), part.bytes));
            lines.extend(text.lines().take(MOST_LINES).map(|line| format!("  │ {line}")));
            let more = text.lines().count().saturating_sub(MOST_LINES);
            lines.extend((more > 0).then(|| format!("  … {more} more lines in {}", file.display())));
        }
        self.current = Some(Dialog::new(ask));
        lines
    }

    fn take_lines(&mut self) -> Vec<String> {
        let mut shown = Vec::new();
        while let (Some(dialog), None) = (&mut self.current, &self.handed_over) {
            match typed_line() {
                Ok(line) => {
                    self.is_on_screen = false;
                    shown.extend(dialog.take(&line).err());
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    shown.push("the terminal gives no more input; answer from another one:".to_owned());
                    shown.extend(questions::commands(&dialog.ask, &self.hints));
                    self.current = None;
                    break;
                }
            }
            if dialog.is_complete() {
                self.hand_over();
            }
        }
        shown
    }

    /// Gives the answer to the run, which takes it from its inbox.
    fn hand_over(&mut self) {
        let Some(dialog) = &self.current else { return };
        let request = AnswerRequest {
            run: dialog.ask.run_id.clone(),
            step: Some(dialog.ask.step.clone()),
            choice: dialog.choice.clone().unwrap_or_default(),
            fields: dialog.fields.clone(),
            comment: None,
            digest: Some(dialog.ask.digest.clone()),
            origin: Some(new_origin(Surface::Terminal, name_of_user())),
        };
        let (sender, receiver) = channel();
        let runs = self.runs.clone();
        let spawned = std::thread::Builder::new().name("answer".to_owned()).spawn(move || {
            let _ = sender.send(runs.record_answer(&request));
        });
        if spawned.is_ok() {
            self.handed_over = Some(receiver);
        }
    }

    /// Asks again if the answer was not taken.
    fn take_outcome(&mut self) -> Vec<String> {
        let outcome = match self.handed_over.as_ref().map(Receiver::try_recv) {
            None | Some(Err(TryRecvError::Empty)) => return Vec::new(),
            Some(outcome) => outcome,
        };
        self.handed_over = None;
        let Ok(Err(error)) = outcome else { return Vec::new() };
        let Some(dialog) = &mut self.current else { return Vec::new() };
        *dialog = Dialog::new(dialog.ask.clone());
        match error {
            AnswerError::Refused { refusal: AnswerRefusal::Unfit(problems), .. } => vec![said(&problems)],
            AnswerError::Refused { refusal: AnswerRefusal::Changed(changes), .. } => {
                let changed = changes.iter().flat_map(|change| {
                    let lines = change.difference.lines().map(|line| format!("  {line}"));
                    std::iter::once(format!("{} has changed:", change.name)).chain(lines)
                });
                changed.collect()
            }
            AnswerError::Refused { refusal: AnswerRefusal::Unreadable { name, why }, .. } => {
                vec![format!("`{name}` cannot be read any more: {why}")]
            }
            error => vec![error.to_string()],
        }
    }
}

/// Whether the terminal shows what is typed. It does again when this is dropped.
#[derive(Debug, Default)]
struct Echo {
    is_off: bool,
}

impl Echo {
    fn set(&mut self, is_on: bool) {
        if is_on != self.is_off {
            return;
        }
        let stdin = std::io::stdin();
        let Ok(mut modes) = tcgetattr(&stdin) else { return };
        modes.local_modes.set(LocalModes::ECHO, is_on);
        // the end of the line is still shown
        modes.local_modes.set(LocalModes::ECHONL, !is_on);
        if tcsetattr(&stdin, OptionalActions::Now, &modes).is_ok() {
            self.is_off = !is_on;
        }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.set(true);
    }
}

/// The next line of stdin. One thread reads for all prompts of the program, so that none takes the line of another.
fn typed_line() -> Result<String, TryRecvError> {
    static LINES: OnceLock<Mutex<Receiver<String>>> = OnceLock::new();
    let lines = LINES.get_or_init(|| Mutex::new(typed_lines()));
    lines.lock().unwrap_or_else(PoisonError::into_inner).try_recv()
}

/// Lines of stdin, read by a thread that ends with the program.
fn typed_lines() -> Receiver<String> {
    let (sender, receiver) = channel();
    let _ = std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
