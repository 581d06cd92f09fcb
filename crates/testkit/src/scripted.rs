//! A world whose agent program is a few lines of shell: its answer, and its other actions.
//!
//! The program is outside the working directory, so that it does not disturb what runs there.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use crate::{TestEnv, world::must};

impl TestEnv {
    /// A world with an agent program `claude` that runs this script. `$P` is its prompt, which is also in `~/asked-N`;
    /// `$N` counts its calls.
    pub fn scripted(program: impl Into<PathBuf>, script: &str) -> TestEnv {
        let env = TestEnv::new(program);
        let head = "#!/bin/bash\nP=$(cat)\nN=$(( $(cat \"$HOME/calls\" 2>/dev/null || echo 0) + 1 ))\necho $N > \"$HOME/calls\"\nprintf %s \"$P\" > \"$HOME/asked-$N\"\n";
        env.write("../bin/claude", format!("{head}{script}\n"));
        let bin = must(env.path("../bin").canonicalize());
        must(fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)));
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display());
        env.env("PATH", &path)
    }

    /// How often the script was called.
    pub fn script_calls(&self) -> u32 {
        fs::read_to_string(self.home().join("calls")).map_or(0, |text| text.trim().parse().unwrap_or(0))
    }
}
