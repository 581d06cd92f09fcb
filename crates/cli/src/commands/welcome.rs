//! The first screen: shown when the program is called without arguments.
//!
//! Never longer than a small terminal.

use crate::{exit::Exit, out::Out};

const SCREEN: &str = "\
recipe-runner-rs runs recipes: workflows of shell commands, coding agents and
sub-recipes, described in YAML.

  recipe-runner-rs init                 write a first recipe for this project
  recipe-runner-rs doctor               show which programs are found or missing
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

/// Shows it. Nothing was requested, so this is not a success.
pub(crate) fn show(out: &mut Out) -> Exit {
    out.notice(SCREEN);
    Exit::BadArguments
}

#[cfg(test)]
mod tests {
    use super::SCREEN;

    #[test]
    fn the_first_screen_is_short() {
        assert!(SCREEN.lines().count() <= 25);
        assert!(SCREEN.lines().all(|line| line.chars().count() <= 80));
    }

    #[test]
    fn every_command_on_it_exists() {
        let commands: Vec<&str> =
            SCREEN.lines().filter_map(|line| line.strip_prefix("  recipe-runner-rs ")).collect();
        assert_eq!(commands.len(), 10);
        for line in commands {
            let command = line.split("  ").next().unwrap_or_default().replace("RECIPE", "hello.yaml");
            let words = std::iter::once("recipe-runner-rs").chain(command.split(' '));
            assert!(crate::args::parse(words.map(Into::into).collect()).is_ok(), "{command}");
        }
    }

    #[test]
    fn the_recipe_on_it_is_one() {
        let lines = SCREEN.lines().skip_while(|line| *line != "  name: hello");
        let text: String =
            lines.take_while(|line| line.starts_with("  ")).map(|line| format!("{}\n", &line[2..])).collect();
        let mut sources = recipe::source::Sources::default();
        let file = sources.add("hello.yaml", text);
        let mut problems = Vec::new();
        let root = recipe::yaml::parse(&sources, file, &mut problems);
        assert!(problems.is_empty() && root.is_some_and(|root| root.get("steps").is_some()));
    }
}
