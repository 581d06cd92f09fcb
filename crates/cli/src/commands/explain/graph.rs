//! The steps of a recipe as a graph that other programs draw.

use recipe::{
    graph::Link,
    plan::{Plan, Step, StepKind, Unit},
    value::Value,
};

use super::{Expansion, Nested, loop_words};
use crate::args::GraphKind;

pub(super) fn draw(plan: &Plan, kind: GraphKind) -> String {
    let mut drawing = Drawing { kind, text: String::new(), expansion: Expansion::new(plan) };
    let root = plan.root();
    let head = match kind {
        GraphKind::Mermaid => {
            format!("---\ntitle: {}\n---\nflowchart TD\n", Value::text(root.name.as_str()).to_json())
        }
        GraphKind::Dot => {
            let name = drawing.escape(&quote(&root.name));
            format!("digraph {name} {{\n  rankdir=TB;\n  node [fontname=sans];\n")
        }
    };
    drawing.text.push_str(&head);
    drawing.unit(root, "s", "  ");
    if kind == GraphKind::Dot {
        drawing.text.push_str("}\n");
    }
    drawing.text
}

struct Drawing<'a> {
    kind: GraphKind,
    text: String,
    expansion: Expansion<'a>,
}

impl<'a> Drawing<'a> {
    fn line(&mut self, indent: &str, text: &str) {
        self.text.push_str(&format!("{indent}{text}\n"));
    }

    fn unit(&mut self, unit: &'a Unit, prefix: &str, indent: &str) {
        let mut open = None;
        for (at, step) in unit.steps.iter().enumerate() {
            let group = step.group.as_ref();
            if open != group {
                open.inspect(|_| self.close(indent));
                if let Some(group) = group {
                    self.open(
                        indent,
                        &format!("{prefix}g{}", group.number),
                        &format!("parallel: {}", group.name),
                    );
                }
                open = group;
            }
            self.step(step, &format!("{prefix}{}", at + 1), indent);
        }
        open.inspect(|_| self.close(indent));
        for edge in self.expansion.edges(unit) {
            let (from, to) = (format!("{prefix}{}", edge.from + 1), format!("{prefix}{}", edge.to + 1));
            self.edge(indent, &from, &to, edge.link, edge.what.as_deref());
        }
    }

    fn step(&mut self, step: &'a Step, node: &str, indent: &str) {
        let condition = step.condition.as_ref().map(|condition| format!("\nif {}", condition.text().trim()));
        let when = super::when(step).map(|when| format!("\n{when}")).unwrap_or_default();
        let looped = loop_words(step).map(|words| format!("\n{words}")).unwrap_or_default();
        let label = format!("{}{when}{looped}{}", step.id, condition.unwrap_or_default());
        let (nested, label) = match self.expansion.nested(step) {
            Some(Nested::Whole(unit)) => (Some(unit), format!("{label}\nrecipe {}", unit.name)),
            Some(Nested::Again(unit)) => (None, format!("{label}\nrecipe {} (shown elsewhere)", unit.name)),
            Some(Nested::Later(name)) => (None, format!("{label}\nrecipe {name}")),
            None => (None, label),
        };
        self.node(indent, node, &step.kind, &label);
        if let Some(unit) = nested {
            self.open(indent, &format!("{node}u"), &unit.name);
            self.unit(unit, &format!("{node}_"), &format!("{indent}  "));
            self.close(indent);
            if !unit.steps.is_empty() {
                self.link_nested(indent, node, &format!("{node}_1"));
            }
        }
    }

    fn node(&mut self, indent: &str, node: &str, kind: &StepKind, label: &str) {
        let label = quote(label);
        let text = match (self.kind, kind) {
            (GraphKind::Mermaid, StepKind::Shell { .. }) => format!("{node}[{label}]"),
            (GraphKind::Mermaid, StepKind::Agent(_)) => format!("{node}([{label}])"),
            (GraphKind::Mermaid, StepKind::Ask(_)) => format!("{node}{{{{{label}}}}}"),
            (GraphKind::Dot, StepKind::Ask(_)) => format!("{node} [label={label}, shape=diamond];"),
            (GraphKind::Mermaid, StepKind::Nested { .. }) => format!("{node}[[{label}]]"),
            (GraphKind::Dot, StepKind::Shell { .. }) => format!("{node} [label={label}, shape=box];"),
            (GraphKind::Dot, StepKind::Agent(_)) => format!("{node} [label={label}, shape=ellipse];"),
            (GraphKind::Dot, StepKind::Nested { .. }) => format!("{node} [label={label}, shape=folder];"),
        };
        self.line(indent, &self.escape(&text));
    }

    fn edge(&mut self, indent: &str, from: &str, to: &str, link: Link, what: Option<&str>) {
        let label = match (link, what) {
            (Link::Order, _) => None,
            (link, None) => Some(quote(link.as_str())),
            (_, Some(what)) => Some(quote(what)),
        };
        let text = match (self.kind, label) {
            (GraphKind::Mermaid, None) => format!("{from} --> {to}"),
            (GraphKind::Mermaid, Some(label)) => format!("{from} -->|{label}| {to}"),
            (GraphKind::Dot, None) => format!("{from} -> {to};"),
            (GraphKind::Dot, Some(label)) => format!("{from} -> {to} [label={label}];"),
        };
        self.line(indent, &self.escape(&text));
    }

    fn link_nested(&mut self, indent: &str, from: &str, to: &str) {
        match self.kind {
            GraphKind::Mermaid => self.line(indent, &format!("{from} -.-> {to}")),
            GraphKind::Dot => self.line(indent, &format!("{from} -> {to} [style=dashed];")),
        }
    }

    fn open(&mut self, indent: &str, id: &str, title: &str) {
        let title = quote(title);
        let text = match self.kind {
            GraphKind::Mermaid => format!("subgraph {id}[{title}]"),
            GraphKind::Dot => format!("subgraph cluster_{id} {{ label={title};"),
        };
        self.line(indent, &self.escape(&text));
    }

    fn close(&mut self, indent: &str) {
        let text = match self.kind {
            GraphKind::Mermaid => "end",
            GraphKind::Dot => "}",
        };
        self.line(indent, text);
    }

    /// Escapes quotes and line ends in quoted text: the two languages write them differently.
    fn escape(&self, text: &str) -> String {
        match self.kind {
            GraphKind::Mermaid => text.replace(QUOTE, "#quot;").replace('\n', "<br>"),
            GraphKind::Dot => text.replace(QUOTE, "\\\"").replace('\n', "\\n"),
        }
    }
}

/// A placeholder for a quote in quoted text until the language is known.
const QUOTE: char = '\u{e000}';

fn quote(text: &str) -> String {
    let inner: String = text
        .chars()
        .map(|c| match c {
            '"' => QUOTE,
            '\\' => '/',
            c if c.is_control() && c != '\n' => ' ',
            c => c,
        })
        .collect();
    format!("\"{inner}\"")
}
