//! Answers to the questions of runs: by commands, and typed at a terminal.

use serde_json::Value as Json;

use crate::{Output, TestEnv};

impl TestEnv {
    /// Answers a question of the last run; `words` come after its name.
    pub fn answer(&self, words: &str) -> Output {
        self.run(["answer", "last"].into_iter().chain(words.split(' ')))
    }

    /// The questions that wait for an answer.
    pub fn waiting(&self) -> Vec<Json> {
        let output = self.run(["waiting", "--output-format", "json"]);
        assert_eq!(output.code, 0, "{}", output.all());
        output.json().as_array().cloned().unwrap_or_default()
    }

    /// How many events of this kind the journal of the last run has.
    pub fn events(&self, kind: &str) -> usize {
        self.records().iter().filter(|record| record["event"].get(kind).is_some()).count()
    }

    /// Runs a command line at a terminal of 100 columns in which `$RUNNER` is the program, and prints its exit code. What
    /// the commands `input` print is typed.
    pub fn typed(&self, line: &str, input: &str) -> Output {
        self.write("line.sh", format!("stty cols 100 rows 30\n{line}\necho \"code $?\"\n"));
        let terminal = "TERM=xterm SHELL=/bin/bash script -qfec 'bash line.sh' /dev/null";
        self.shell(&format!("({input}) | {terminal}"))
    }
}
