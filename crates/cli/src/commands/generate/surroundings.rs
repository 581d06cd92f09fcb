//! What generation depends on besides the spec: the files of the project, skills, configuration, known programs.

use std::{fs, path::Path};

use author::{
    brief::{Brief, Depth},
    intake::GenerateSettings,
    skills::SkillFile,
};
use runtime::{
    agents::{Program, ReviewDepth},
    machine::{
        local::Allowance,
        programs::{Presence, binary, look_for},
        project::ProjectFolder,
    },
    requests::AgentChoice,
};

use super::refused;
use crate::{environment::Environment, report::failure::Failure};

/// Folders of skills in a project.
const SKILL_FOLDERS: &[&str] = &[".claude/skills", ".agents/skills", "skills"];
/// The folder of skills below the home directory.
const HOME_SKILLS: &str = ".claude/skills";
/// Largest SKILL.md that is read.
const LARGEST_SKILL: u64 = 1 << 20;

/// Everything that was read.
pub(super) struct SpecSurroundings {
    pub(super) files: ProjectFolder,
    pub(super) git: bool,
    pub(super) skills: Vec<SkillFile>,
    pub(super) settings: GenerateSettings,
    /// The names of all agent programs, built in and configured.
    pub(super) programs: Vec<String>,
}

impl SpecSurroundings {
    /// Reads what is around the project in `dir`.
    pub(super) fn read(environment: &Environment, dir: &Path) -> Result<SpecSurroundings, Failure> {
        let machine = &environment.machine;
        let settings = machine.generate_settings(dir).map_err(|error| refused(error.to_string()))?;
        let custom = machine.described_agents(dir).into_iter().map(|program| program.name);
        let mut programs: Vec<String> = Program::known_names().map(str::to_owned).chain(custom).collect();
        programs.dedup();
        let named = settings.writer.iter().chain(&settings.reviewers);
        if let Some(unknown) = named.into_iter().find(|name| !programs.contains(name)) {
            let known = programs.join(", ");
            return Err(refused(format!(
                "`generate` of the configuration: agent program `{unknown}` is not known: use one of {known}"
            )));
        }
        Ok(SpecSurroundings {
            files: ProjectFolder(dir.to_owned()),
            git: dir.ancestors().any(|dir| dir.join(".git").exists()),
            skills: skills(dir, machine.home.as_deref()),
            settings: GenerateSettings {
                writer: settings.writer,
                reviewers: settings.reviewers,
                depth: settings.depth.map(|depth| match depth {
                    ReviewDepth::Light => Depth::Light,
                    ReviewDepth::Full => Depth::Full,
                }),
            },
            programs,
        })
    }

    /// The agent programs of a recipe that are not installed here. They change what is printed, never the recipe.
    pub(super) fn missing(&self, brief: &Brief, environment: &Environment, dir: &Path) -> Vec<String> {
        let machine = &environment.machine;
        let tools = &brief.tools;
        let Ok(settings) = machine.agents(&AgentChoice::default(), Allowance::default(), dir) else {
            return Vec::new();
        };
        let host = machine.bare();
        let is_missing = |name: &str| {
            let found = binary(name, &settings).map(|binary| look_for(&binary, &host));
            !matches!(found, Some(Presence::Found(_)))
        };
        let mut missing: Vec<String> = Vec::new();
        for choice in [&tools.writer, &tools.planner].into_iter().chain(&tools.reviewers) {
            if is_missing(&choice.program) && !missing.contains(&choice.program) {
                missing.push(choice.program.clone());
            }
        }
        missing
    }
}

/// The skills of the project, then those of the user; sorted, so that the order of a file system changes nothing.
fn skills(dir: &Path, home: Option<&Path>) -> Vec<SkillFile> {
    let mut found: Vec<SkillFile> = Vec::new();
    for folder in SKILL_FOLDERS {
        found.extend(in_folder(&dir.join(folder), folder));
    }
    let home = home.map(|home| home.join(HOME_SKILLS)).filter(|folder| *folder != dir.join(HOME_SKILLS));
    found.extend(home.into_iter().flat_map(|folder| in_folder(&folder, &format!("~/{HOME_SKILLS}"))));
    found
}

fn in_folder(folder: &Path, shown: &str) -> Vec<SkillFile> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let skill = |name: String| {
        let file = folder.join(&name).join("SKILL.md");
        let is_small = fs::metadata(&file).is_ok_and(|facts| facts.is_file() && facts.len() <= LARGEST_SKILL);
        let text = is_small.then(|| fs::read_to_string(&file).ok()).flatten()?;
        Some(SkillFile { path: format!("{shown}/{name}/SKILL.md"), text })
    };
    names.into_iter().filter_map(skill).collect()
}
