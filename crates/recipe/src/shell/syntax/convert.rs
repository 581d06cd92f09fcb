//! From the tree of the parser's crate to ours. None where a word cannot be parsed.

use brush_parser::{ParserOptions, ast, word};

use super::{
    Assignment, CommandKind, CommandList, Joint, ListEntry, Pipeline, RedirectKind, Redirection,
    ShellCommand, ShellWord, WordPart, holes::Holes, parse_nested,
};

/// Converts one script.
pub(super) struct Converter<'a> {
    pub(super) options: &'a ParserOptions,
    pub(super) holes: &'a Holes,
    /// How many levels of command substitutions may follow.
    pub(super) depth: usize,
}

impl Converter<'_> {
    pub(super) fn program(&self, program: &ast::Program) -> Option<CommandList> {
        let items = program.complete_commands.iter().flat_map(|list| &list.0);
        Some(CommandList { entries: items.map(|item| self.entry(item)).collect::<Option<_>>()? })
    }

    fn list(&self, list: &ast::CompoundList) -> Option<CommandList> {
        Some(CommandList { entries: list.0.iter().map(|item| self.entry(item)).collect::<Option<_>>()? })
    }

    fn entry(&self, item: &ast::CompoundListItem) -> Option<ListEntry> {
        let ast::CompoundListItem(list, separator) = item;
        let rest = list.additional.iter().map(|more| match more {
            ast::AndOr::And(pipeline) => Some((Joint::And, self.pipeline(pipeline)?)),
            ast::AndOr::Or(pipeline) => Some((Joint::Or, self.pipeline(pipeline)?)),
        });
        Some(ListEntry {
            first: self.pipeline(&list.first)?,
            rest: rest.collect::<Option<_>>()?,
            in_background: matches!(separator, ast::SeparatorOperator::Async),
        })
    }

    fn pipeline(&self, pipeline: &ast::Pipeline) -> Option<Pipeline> {
        let commands: Vec<ShellCommand> =
            pipeline.seq.iter().map(|command| self.command(command)).collect::<Option<_>>()?;
        (!commands.is_empty()).then_some(Pipeline { is_negated: pipeline.bang, commands })
    }

    fn command(&self, command: &ast::Command) -> Option<ShellCommand> {
        match command {
            ast::Command::Simple(simple) => self.simple(simple),
            ast::Command::Compound(compound, redirects) => Some(ShellCommand {
                kind: self.compound(compound)?,
                redirects: self.redirects(redirects.as_ref())?,
            }),
            ast::Command::Function(function) => {
                let ast::FunctionBody(body, redirects) = &function.body;
                let body = ShellCommand {
                    kind: self.compound(body)?,
                    redirects: self.redirects(redirects.as_ref())?,
                };
                let name = self.holes.fill(&function.fname.value);
                Some(ShellCommand {
                    kind: CommandKind::Function { name, body: Box::new(body) },
                    redirects: Vec::new(),
                })
            }
            ast::Command::ExtendedTest(test) => {
                let mut words = vec![ShellWord::literal("[[")];
                self.test(&test.expr, &mut words)?;
                words.push(ShellWord::literal("]]"));
                Some(ShellCommand {
                    kind: CommandKind::Simple { assignments: Vec::new(), words },
                    redirects: Vec::new(),
                })
            }
        }
    }

    fn simple(&self, simple: &ast::SimpleCommand) -> Option<ShellCommand> {
        let (mut assignments, mut words, mut redirects) = (Vec::new(), Vec::new(), Vec::new());
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
                    assignments.push(self.assignment(assignment)?);
                }
                other => self.item(other, &mut words, &mut redirects)?,
            }
        }
        if let Some(name) = &simple.word_or_name {
            words.push(self.word(&name.value)?);
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut words, &mut redirects)?;
        }
        Some(ShellCommand { kind: CommandKind::Simple { assignments, words }, redirects })
    }

    fn item(
        &self,
        item: &ast::CommandPrefixOrSuffixItem,
        words: &mut Vec<ShellWord>,
        redirects: &mut Vec<Redirection>,
    ) -> Option<()> {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => redirects.push(self.redirect(redirect)?),
            ast::CommandPrefixOrSuffixItem::Word(word)
            | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => words.push(self.word(&word.value)?),
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
                words.push(self.process(kind, subshell)?);
            }
        }
        Some(())
    }

    fn process(
        &self,
        kind: &ast::ProcessSubstitutionKind,
        subshell: &ast::SubshellCommand,
    ) -> Option<ShellWord> {
        let text = self.holes.fill(&format!("{kind}{subshell}"));
        Some(ShellWord { parts: vec![WordPart::Commands { text, list: self.list(&subshell.list)? }] })
    }

    fn assignment(&self, assignment: &ast::Assignment) -> Option<Assignment> {
        let values = match &assignment.value {
            ast::AssignmentValue::Scalar(word) => vec![self.word(&word.value)?],
            ast::AssignmentValue::Array(items) => {
                items.iter().map(|(_, word)| self.word(&word.value)).collect::<Option<_>>()?
            }
        };
        Some(Assignment { name: self.holes.fill(&assignment.name.to_string()), values })
    }

    fn redirects(&self, redirects: Option<&ast::RedirectList>) -> Option<Vec<Redirection>> {
        redirects.iter().flat_map(|list| &list.0).map(|redirect| self.redirect(redirect)).collect()
    }

    fn redirect(&self, redirect: &ast::IoRedirect) -> Option<Redirection> {
        use ast::IoFileRedirectKind as File;
        Some(match redirect {
            ast::IoRedirect::File(descriptor, kind, target) => {
                let kind = match kind {
                    File::Read => RedirectKind::Read,
                    File::Write | File::Append | File::Clobber | File::ReadAndWrite => RedirectKind::Write,
                    File::DuplicateInput | File::DuplicateOutput => RedirectKind::Duplicate,
                };
                let target = match target {
                    ast::IoFileRedirectTarget::Filename(word)
                    | ast::IoFileRedirectTarget::Duplicate(word) => self.word(&word.value)?,
                    ast::IoFileRedirectTarget::Fd(number) => ShellWord::literal(number.to_string()),
                    ast::IoFileRedirectTarget::ProcessSubstitution(kind, subshell) => {
                        self.process(kind, subshell)?
                    }
                };
                Redirection { kind, descriptor: *descriptor, target }
            }
            ast::IoRedirect::HereDocument(descriptor, document) => {
                let text = self.holes.fill(&document.doc.value);
                Redirection {
                    kind: RedirectKind::Text,
                    descriptor: *descriptor,
                    target: ShellWord::literal(text),
                }
            }
            ast::IoRedirect::HereString(descriptor, word) => Redirection {
                kind: RedirectKind::Text,
                descriptor: *descriptor,
                target: self.word(&word.value)?,
            },
            ast::IoRedirect::OutputAndError(word, _) => {
                Redirection { kind: RedirectKind::Write, descriptor: None, target: self.word(&word.value)? }
            }
        })
    }

    fn compound(&self, compound: &ast::CompoundCommand) -> Option<CommandKind> {
        Some(match compound {
            ast::CompoundCommand::Arithmetic(arithmetic) => CommandKind::Simple {
                assignments: Vec::new(),
                words: vec![
                    ShellWord::literal("(("),
                    self.expansion(&arithmetic.expr.value),
                    ShellWord::literal("))"),
                ],
            },
            ast::CompoundCommand::BraceGroup(group) => CommandKind::Group(self.list(&group.list)?),
            ast::CompoundCommand::Subshell(group) => CommandKind::Subshell(self.list(&group.list)?),
            ast::CompoundCommand::ForClause(clause) => CommandKind::For {
                variable: clause.variable_name.clone(),
                words: self.words(clause.values.as_deref().unwrap_or_default())?,
                body: self.list(&clause.body.list)?,
            },
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                let parts = [&clause.initializer, &clause.condition, &clause.updater];
                let words = parts.into_iter().flatten().map(|part| self.expansion(&part.value)).collect();
                CommandKind::For { variable: String::new(), words, body: self.list(&clause.body.list)? }
            }
            ast::CompoundCommand::CaseClause(clause) => {
                let arms = clause.cases.iter().map(|case| {
                    let body = case.cmd.as_ref().map(|list| self.list(list));
                    Some((self.words(&case.patterns)?, body.unwrap_or_else(|| Some(CommandList::default()))?))
                });
                CommandKind::Case {
                    subject: self.word(&clause.value.value)?,
                    arms: arms.collect::<Option<_>>()?,
                }
            }
            ast::CompoundCommand::IfClause(clause) => {
                let mut arms = vec![(self.list(&clause.condition)?, self.list(&clause.then)?)];
                let mut otherwise = None;
                for branch in clause.elses.iter().flatten() {
                    match &branch.condition {
                        Some(condition) => arms.push((self.list(condition)?, self.list(&branch.body)?)),
                        None => otherwise = Some(self.list(&branch.body)?),
                    }
                }
                CommandKind::If { arms, otherwise }
            }
            ast::CompoundCommand::WhileClause(clause) => self.repeated(clause, false)?,
            ast::CompoundCommand::UntilClause(clause) => self.repeated(clause, true)?,
        })
    }

    fn repeated(&self, clause: &ast::WhileOrUntilClauseCommand, is_until: bool) -> Option<CommandKind> {
        let (condition, body) = (self.list(&clause.0)?, self.list(&clause.1.list)?);
        Some(CommandKind::Loop { condition, body, is_until })
    }

    /// The words of `[[ … ]]`.
    fn test(&self, test: &ast::ExtendedTestExpr, words: &mut Vec<ShellWord>) -> Option<()> {
        use ast::ExtendedTestExpr as Test;
        match test {
            Test::And(left, right) | Test::Or(left, right) => {
                self.test(left, words)?;
                let is_and = matches!(test, Test::And(..));
                words.push(ShellWord::literal(if is_and { "&&" } else { "||" }));
                self.test(right, words)
            }
            Test::Not(inner) => {
                words.push(ShellWord::literal("!"));
                self.test(inner, words)
            }
            Test::Parenthesized(inner) => {
                words.push(ShellWord::literal("("));
                self.test(inner, words)?;
                words.push(ShellWord::literal(")"));
                Some(())
            }
            Test::UnaryTest(operator, word) => {
                words.push(ShellWord::literal(operator.to_string()));
                words.push(self.word(&word.value)?);
                Some(())
            }
            Test::BinaryTest(operator, left, right) => {
                words.push(self.word(&left.value)?);
                words.push(ShellWord::literal(operator.to_string()));
                words.push(self.word(&right.value)?);
                Some(())
            }
        }
    }

    fn words(&self, words: &[ast::Word]) -> Option<Vec<ShellWord>> {
        words.iter().map(|word| self.word(&word.value)).collect()
    }

    fn expansion(&self, text: &str) -> ShellWord {
        ShellWord { parts: vec![WordPart::Expansion(self.holes.fill(text))] }
    }

    fn word(&self, raw: &str) -> Option<ShellWord> {
        let mut parts = Vec::new();
        self.pieces(raw, &word::parse(raw, self.options).ok()?, &mut parts)?;
        Some(ShellWord { parts })
    }

    fn pieces(
        &self,
        raw: &str,
        pieces: &[word::WordPieceWithSource],
        parts: &mut Vec<WordPart>,
    ) -> Option<()> {
        use word::WordPiece as Piece;
        for piece in pieces {
            let written = || raw.get(piece.start_index..piece.end_index).unwrap_or_default();
            match &piece.piece {
                Piece::Text(text) | Piece::SingleQuotedText(text) | Piece::AnsiCQuotedText(text) => {
                    self.text(text, parts);
                }
                Piece::EscapeSequence(text) => {
                    self.text(text.strip_prefix('\\').unwrap_or(text).trim_matches('\n'), parts);
                }
                Piece::TildePrefix(user) => self.text(&format!("~{user}"), parts),
                Piece::DoubleQuotedSequence(inner) | Piece::GettextDoubleQuotedSequence(inner) => {
                    self.pieces(raw, inner, parts)?;
                }
                Piece::ParameterExpansion(_) | Piece::ArithmeticExpression(_) => {
                    parts.push(WordPart::Expansion(self.holes.fill(written())));
                }
                Piece::CommandSubstitution(script) | Piece::BackquotedCommandSubstitution(script) => {
                    let list = parse_nested(&self.holes.fill(script), self.depth - 1)?;
                    parts.push(WordPart::Commands { text: self.holes.fill(written()), list });
                }
            }
        }
        Some(())
    }

    /// Adds text; neighbouring texts are one.
    fn text(&self, text: &str, parts: &mut Vec<WordPart>) {
        let text = self.holes.fill(text);
        match parts.last_mut() {
            Some(WordPart::Text(before)) => before.push_str(&text),
            _ => parts.push(WordPart::Text(text)),
        }
    }
}
