//! All parts of a tree in the order in which they are written.

use super::{CommandKind, CommandList, Joint, Redirection, ShellCommand, ShellWord, WordPart};

/// A part of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyntaxNode<'a> {
    /// A mark of the structure: `(`, `if`, `&&`.
    Mark(&'static str),
    /// A part of a word that is text.
    Text(&'a str),
    /// An expansion, or a name.
    Expansion(&'a str),
}

impl CommandList {
    /// All parts in the order in which they are written: two lists with the same marks have the same shape.
    pub fn nodes(&self) -> Vec<SyntaxNode<'_>> {
        let mut nodes = Vec::new();
        self.add(&mut nodes);
        nodes
    }

    /// All simple commands in the order in which they are written, with those in words and functions: their words.
    pub fn simple_commands(&self) -> Vec<&[ShellWord]> {
        let mut found = Vec::new();
        self.visit(&mut |command| {
            if let CommandKind::Simple { words, .. } = &command.kind {
                found.push(words.as_slice());
            }
        });
        found
    }

    /// Shows every command to a function, the outer ones first.
    pub fn visit<'a>(&'a self, see: &mut dyn FnMut(&'a ShellCommand)) {
        for command in self.commands() {
            command.visit(see);
        }
    }

    /// The commands of this list itself.
    pub fn commands(&self) -> impl Iterator<Item = &ShellCommand> {
        self.entries.iter().flat_map(|entry| {
            let rest = entry.rest.iter().map(|(_, pipeline)| pipeline);
            [&entry.first].into_iter().chain(rest).flat_map(|pipeline| &pipeline.commands)
        })
    }

    fn add<'a>(&'a self, nodes: &mut Vec<SyntaxNode<'a>>) {
        for entry in &self.entries {
            let mut add = |joint: &'static str, pipeline: &'a super::Pipeline| {
                nodes.push(SyntaxNode::Mark(joint));
                nodes.push(SyntaxNode::Mark(if pipeline.is_negated { "!" } else { "" }));
                for command in &pipeline.commands {
                    nodes.push(SyntaxNode::Mark("|"));
                    command.add(nodes);
                }
            };
            add(if entry.in_background { "&" } else { ";" }, &entry.first);
            for (joint, pipeline) in &entry.rest {
                add(if *joint == Joint::And { "&&" } else { "||" }, pipeline);
            }
        }
        nodes.push(SyntaxNode::Mark("end"));
    }
}

impl ShellCommand {
    /// The lists inside this command, its words apart.
    pub fn lists(&self) -> Vec<&CommandList> {
        match &self.kind {
            CommandKind::Simple { .. } => Vec::new(),
            CommandKind::Group(list) | CommandKind::Subshell(list) => vec![list],
            CommandKind::If { arms, otherwise } => {
                arms.iter().flat_map(|(condition, body)| [condition, body]).chain(otherwise).collect()
            }
            CommandKind::Loop { condition, body, .. } => vec![condition, body],
            CommandKind::For { body, .. } => vec![body],
            CommandKind::Case { arms, .. } => arms.iter().map(|(_, body)| body).collect(),
            CommandKind::Function { body, .. } => body.lists(),
        }
    }

    /// Its words: arguments, values, and targets of redirections.
    pub fn words(&self) -> Vec<&ShellWord> {
        let mut words: Vec<&ShellWord> = match &self.kind {
            CommandKind::Simple { assignments, words } => {
                assignments.iter().flat_map(|assignment| &assignment.values).chain(words).collect()
            }
            CommandKind::For { words, .. } => words.iter().collect(),
            CommandKind::Case { subject, .. } => vec![subject],
            _ => Vec::new(),
        };
        words.extend(self.redirects.iter().map(|redirect| &redirect.target));
        words
    }

    fn visit<'a>(&'a self, see: &mut dyn FnMut(&'a ShellCommand)) {
        see(self);
        for word in self.words() {
            for part in &word.parts {
                if let WordPart::Commands { list, .. } = part {
                    list.visit(see);
                }
            }
        }
        for list in self.lists() {
            list.visit(see);
        }
    }

    fn add<'a>(&'a self, nodes: &mut Vec<SyntaxNode<'a>>) {
        match &self.kind {
            CommandKind::Simple { assignments, words } => {
                nodes.push(SyntaxNode::Mark("command"));
                for assignment in assignments {
                    nodes.push(SyntaxNode::Mark("="));
                    nodes.push(SyntaxNode::Expansion(&assignment.name));
                    add_words(&assignment.values, nodes);
                }
                add_words(words, nodes);
            }
            CommandKind::Function { name, body } => {
                nodes.push(SyntaxNode::Mark("function"));
                nodes.push(SyntaxNode::Expansion(name));
                body.add(nodes);
            }
            kind => {
                nodes.push(SyntaxNode::Mark(match kind {
                    CommandKind::Group(_) => "{",
                    CommandKind::Subshell(_) => "(",
                    CommandKind::If { otherwise: None, .. } => "if",
                    CommandKind::If { .. } => "if else",
                    CommandKind::Loop { is_until: true, .. } => "until",
                    CommandKind::Loop { .. } => "while",
                    CommandKind::For { .. } => "for",
                    _ => "case",
                }));
                match kind {
                    CommandKind::For { words, .. } => add_words(words, nodes),
                    CommandKind::Case { subject, arms } => {
                        subject.add(nodes);
                        arms.iter().for_each(|(patterns, _)| add_words(patterns, nodes));
                    }
                    _ => {}
                }
                self.lists().into_iter().for_each(|list| list.add(nodes));
            }
        }
        self.redirects.iter().for_each(|redirect| redirect.add(nodes));
    }
}

impl Redirection {
    fn add<'a>(&'a self, nodes: &mut Vec<SyntaxNode<'a>>) {
        nodes.push(SyntaxNode::Mark(match self.kind {
            super::RedirectKind::Read => "<",
            super::RedirectKind::Write => ">",
            super::RedirectKind::Duplicate => ">&",
            super::RedirectKind::Text => "<<",
        }));
        self.target.add(nodes);
    }
}

impl ShellWord {
    fn add<'a>(&'a self, nodes: &mut Vec<SyntaxNode<'a>>) {
        nodes.push(SyntaxNode::Mark("word"));
        for part in &self.parts {
            match part {
                WordPart::Text(text) => nodes.push(SyntaxNode::Text(text)),
                WordPart::Expansion(text) => nodes.push(SyntaxNode::Expansion(text)),
                WordPart::Commands { list, .. } => {
                    nodes.push(SyntaxNode::Mark("$("));
                    list.add(nodes);
                }
            }
        }
    }
}

fn add_words<'a>(words: &'a [ShellWord], nodes: &mut Vec<SyntaxNode<'a>>) {
    words.iter().for_each(|word| word.add(nodes));
    nodes.push(SyntaxNode::Mark("words end"));
}
