//! A command line in a real terminal, which `script` lends.

use std::process::Stdio;

use crate::{Screen, Started, TestEnv, until};

/// A command line that runs in a terminal.
#[derive(Debug)]
pub struct Terminal {
    started: Started,
    columns: usize,
}

impl TestEnv {
    /// Starts a shell command line in a terminal of this size. In it, `$RUNNER` is the program.
    pub fn terminal(&self, columns: usize, rows: usize, line: &str) -> Terminal {
        let size = format!("stty cols {columns} rows {rows} -echo\n");
        self.write(".terminal", format!("rm .terminal\n{size}{line}\n"));
        let mut command = self.command("script".as_ref());
        command.args(["-qfec", "bash .terminal", "/dev/null"]).stdin(Stdio::piped());
        command.env("RUNNER", self.program()).env("SHELL", "/bin/bash").env("TERM", "xterm-256color");
        Terminal { started: self.start(command), columns }
    }

    /// The screen after a command line has ended in a terminal of this size.
    pub fn screen(&self, columns: usize, rows: usize, line: &str) -> Screen {
        self.terminal(columns, rows, line).wait()
    }
}

impl Terminal {
    /// What it shows now.
    pub fn screen(&self) -> Screen {
        Screen::of(self.columns, &self.started.stdout())
    }

    /// What it shows as soon as a line begins like this.
    pub fn screen_with(&self, beginning: &str) -> Screen {
        let mut screen = self.screen();
        until(&format!("`{beginning}` is on the screen"), || {
            screen = self.screen();
            screen.lines().iter().any(|line| line.starts_with(beginning))
        });
        screen
    }

    /// Types some keys.
    pub fn keys(&mut self, keys: &str) {
        self.started.input(keys);
    }

    /// Waits until the command line has ended.
    pub fn wait(self) -> Screen {
        let columns = self.columns;
        Screen::of(columns, &self.written())
    }

    /// The same, and gives everything that was written to the terminal.
    pub fn written(self) -> String {
        self.started.wait().stdout
    }
}
