//! Where the fields of recipes are written: a plan knows its steps, this knows the lines of their fields.
//!
//! Never decides what a field means.

use std::collections::HashMap;

use crate::{
    plan::{Plan, Step, Unit},
    source::{FileId, Place, Sources, Span},
    yaml::{self, Entry, Node, NodeKind},
};

/// The places of the fields of a plan's recipes.
#[derive(Debug)]
pub struct FieldPlaces {
    /// The tree of each file, in the order of the sources.
    files: Vec<Option<Node>>,
    paths: HashMap<String, FileId>,
    /// The position of each step in its file, by the place of its id.
    steps: HashMap<Place, usize>,
}

impl FieldPlaces {
    /// Reads the texts of a plan again.
    pub fn of(plan: &Plan) -> FieldPlaces {
        FieldPlaces::in_sources(&plan.sources)
    }

    /// Reads texts of recipes.
    pub fn in_sources(sources: &Sources) -> FieldPlaces {
        let mut places = FieldPlaces { files: Vec::new(), paths: HashMap::new(), steps: HashMap::new() };
        for (id, file) in sources.iter() {
            let root = yaml::parse(sources, id, &mut Vec::new());
            for (at, step) in root.iter().flat_map(written_steps).enumerate() {
                places.steps.extend(step.get("id").map(|id| (id.value.place, at)));
            }
            places.files.push(root);
            places.paths.insert(file.path.clone(), id);
        }
        places
    }

    /// The tree of a file.
    pub fn file(&self, id: FileId) -> Option<&Node> {
        self.files.get(id.0 as usize)?.as_ref()
    }

    /// The file of a recipe.
    pub fn file_of(&self, unit: &Unit) -> Option<FileId> {
        self.paths.get(&unit.path).copied()
    }

    /// A step as it is written.
    pub fn step(&self, step: &Step) -> Option<&Node> {
        let at = *self.steps.get(&step.place)?;
        written_steps(self.file(step.place.file)?).get(at)
    }

    /// A field of a step as it is written.
    pub fn field(&self, step: &Step, name: &str) -> Option<&Entry> {
        self.step(step)?.get(name)
    }

    /// The place of a field of a step; of the step if the field is written elsewhere or not at all.
    pub fn field_place(&self, step: &Step, names: &[&str]) -> Place {
        let found = names.iter().find_map(|name| self.field(step, name));
        found.map_or(step.place, |entry| entry.key.place)
    }

    /// The place of a field of a recipe; of its beginning if the field is written in another file or not at all.
    pub fn recipe_place(&self, unit: &Unit, names: &[&str]) -> Option<Place> {
        let file = self.file_of(unit)?;
        let start = Place { file, span: Span::default() };
        let mut node = self.file(file)?;
        let mut place = start;
        for name in names {
            let Some(entry) = node.get(name) else { return Some(start) };
            (node, place) = (&entry.value, entry.key.place);
        }
        Some(place)
    }
}

/// The steps in the tree of a recipe.
fn written_steps(root: &Node) -> &[Node] {
    match root.get("steps").map(|steps| &steps.value.kind) {
        Some(NodeKind::List(steps)) => steps,
        _ => &[],
    }
}
