//! The first screen: what a person sees who types the program's name and nothing else.
//!
//! Never longer than a small terminal.

use crate::{exit::Exit, out::Out};

const SCREEN: &str = "\
recipe-runner-rs runs recipes: workflows of shell commands, coding agents and
nested recipes, described in YAML.

  recipe-runner-rs RECIPE               run a recipe, by its file or name
  recipe-runner-rs RECIPE --set a=b     … with a value for a variable
  recipe-runner-rs RECIPE --dry-run     … only showing what would happen
  recipe-runner-rs validate RECIPE      check a recipe and show every problem
  recipe-runner-rs explain RECIPE       show its steps, conditions and limits
  recipe-runner-rs list                 show the recipes that can be run by name
  recipe-runner-rs runs                 show past and present runs
  recipe-runner-rs resume last          go on where a run stopped

A first recipe, hello.yaml:

  name: hello
  context:
    who: world
  steps:
    - id: greet
      command: echo \"Hello {{who}}\"

`recipe-runner-rs --help` shows every command and option.
";

/// Shows it. Nothing was asked for, so nothing succeeded.
pub(crate) fn show(out: &mut Out) -> Exit {
    out.notice(SCREEN);
    Exit::BadArguments
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_first_screen_is_short() {
        assert!(super::SCREEN.lines().count() <= 25);
        assert!(super::SCREEN.lines().all(|line| line.chars().count() <= 80));
    }
}
