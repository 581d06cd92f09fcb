//! Finds every mutant of a file and writes them all into its text, each behind its switch.
//!
//! A change must compile wherever the original does, since one that does not would stop all others. So it is chosen by
//! its form alone: the same type comes out, nothing is moved that was not moved before, and constants are left alone.

use proc_macro2::Span;
use quote::ToTokens;
use syn::{
    Arm, Attribute, BinOp, Block, Expr, ExprBinary, ExprClosure, ExprConst, ExprLet, ExprLit, ExprMatch,
    ExprRepeat, ExprUnary, ImplItemConst, ImplItemFn, ItemConst, ItemFn, ItemImpl, ItemMod, ItemStatic,
    ItemTrait, Lit, Local, Macro, Pat, ReturnType, Signature, Stmt, TraitItemFn, Type, UnOp,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::{
    mutant::{Mutant, on_one_line, tell_apart},
    switches::Insertions,
};

/// The mutants of a file, numbered from `first`, and its text with all of them.
pub(crate) fn mutants_of(file: &str, text: &str, first: usize) -> syn::Result<(Vec<Mutant>, String)> {
    let tree = syn::parse_file(text)?;
    let mut search = Search { text, file, first, ..Search::default() };
    search.visit_file(&tree);
    tell_apart(&mut search.found);
    Ok((search.found, search.insertions.into_text(text)))
}

#[derive(Default)]
struct Search<'a> {
    text: &'a str,
    file: &'a str,
    first: usize,
    /// The type and the functions around.
    names: Vec<String>,
    /// Names that are declared without a value; each must be assigned, so no assignment to them can be left out.
    later: Vec<String>,
    found: Vec<Mutant>,
    insertions: Insertions,
}

impl Search<'_> {
    fn source(&self, part: &impl Spanned) -> &str {
        &self.text[part.span().byte_range()]
    }

    /// A new mutant; gives the switch.
    fn new_mutant(&mut self, place: Span, change: String) -> String {
        let number = self.first + self.found.len();
        let (file, function) = (self.file.to_owned(), self.names.join("::"));
        self.found.push(Mutant { number, file, line: place.start().line, function, change });
        format!("crate::mutant({number})")
    }

    /// An expression that is another one if the switch is on.
    fn instead(&mut self, original: &impl Spanned, other: &str, change: String) {
        let span = original.span();
        let switch = self.new_mutant(span, change);
        self.insertions.around(span.byte_range(), format!("(if {switch} {{ {other} }} else {{ "), " })");
    }

    fn within(&mut self, name: String, search: impl FnOnce(&mut Self)) {
        self.names.push(name);
        search(self);
        self.names.pop();
    }

    fn function(&mut self, attributes: &[Attribute], signature: &Signature, block: &Block) {
        if is_for_tests(attributes) || signature.constness.is_some() {
            return;
        }
        self.within(signature.ident.to_string(), |search| {
            search.return_at_once(signature, block);
            let outside = std::mem::take(&mut search.later);
            visit::visit_block(search, block);
            search.later = outside;
        });
    }

    fn return_at_once(&mut self, signature: &Signature, block: &Block) {
        let place = block.brace_token.span.open().byte_range().end;
        for value in plain_values(&signature.output) {
            let switch = self.new_mutant(signature.ident.span(), format!("return {value}"));
            self.insertions.at(place, format!(" if {switch} {{ return {value}; }}"));
        }
    }

    fn arm(&mut self, arm: &Arm, can_be_left_out: bool) {
        let pattern = on_one_line(self.source(&arm.pat));
        match &arm.guard {
            Some((_, guard)) if !has_let(guard) => {
                let switch = self.new_mutant(guard.span(), format!("guard of `{pattern}` holds"));
                self.insertions.around(guard.span().byte_range(), format!("({switch} || ("), "))");
            }
            None if can_be_left_out => {
                let switch = self.new_mutant(arm.span(), format!("without arm `{pattern}`"));
                self.insertions.at(arm.pat.span().byte_range().end, format!(" if !{switch}"));
            }
            _ => {}
        }
    }
}

impl<'a> Visit<'a> for Search<'_> {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        let of_trait = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
        let is_text = of_trait.is_some_and(|last| ["Debug", "Display"].iter().any(|name| last.ident == name));
        if !is_for_tests(&item.attrs) && !is_text {
            self.within(type_name(&item.self_ty), |search| visit::visit_item_impl(search, item));
        }
    }

    fn visit_item_trait(&mut self, item: &'a ItemTrait) {
        self.within(item.ident.to_string(), |search| visit::visit_item_trait(search, item));
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        self.function(&item.attrs, &item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'a TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.attrs, &item.sig, block);
        }
    }

    fn visit_local(&mut self, local: &'a Local) {
        if let (Pat::Ident(name), None) = (&local.pat, &local.init) {
            self.later.push(name.ident.to_string());
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_binary(&mut self, e: &'a ExprBinary) {
        let (left, right) = (self.source(&e.left).to_owned(), self.source(&e.right).to_owned());
        if let Some(other) = turned_round(&e.op).filter(|_| !has_let(&e.left) && !has_let(&e.right)) {
            let change = format!("{} → {other} in `{}`", self.source(&e.op), on_one_line(self.source(e)));
            self.instead(e, &format!("({left}) {other} ({right})"), change);
        } else if matches!(e.op, BinOp::Add(_)) {
            // not `-`: what is added may be text
            let change = format!("without + `{}` in `{}`", on_one_line(&right), on_one_line(self.source(e)));
            self.instead(e, &left, change);
        }
        visit::visit_expr_binary(self, e);
    }

    fn visit_expr_unary(&mut self, e: &'a ExprUnary) {
        if matches!(e.op, UnOp::Not(_)) {
            // twice rather than not at all: what is negated may be a reference
            let (twice, whole) = (format!("!{}", self.source(e)), on_one_line(self.source(e)));
            self.instead(e, &twice, format!("without ! in `{whole}`"));
        }
        visit::visit_expr_unary(self, e);
    }

    fn visit_expr_match(&mut self, e: &'a ExprMatch) {
        let rest = e.arms.last().is_some_and(|arm| arm.guard.is_none() && takes_anything(&arm.pat));
        for (at, arm) in e.arms.iter().enumerate() {
            self.arm(arm, rest && at + 1 < e.arms.len());
        }
        visit::visit_expr_match(self, e);
    }

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if let Stmt::Expr(e, Some(_)) = statement
            && can_be_left_out(e, &self.later)
        {
            let change = format!("without `{}`", on_one_line(self.source(statement)));
            let switch = self.new_mutant(statement.span(), change);
            self.insertions.around(statement.span().byte_range(), format!("if !{switch} {{ "), " }");
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr_lit(&mut self, e: &'a ExprLit) {
        if let Lit::Bool(literal) = &e.lit {
            let switch = self.new_mutant(e.span(), format!("{} → {}", literal.value, !literal.value));
            self.insertions.around(e.span().byte_range(), format!("({switch} != "), ")");
        }
    }

    fn visit_expr_repeat(&mut self, e: &'a ExprRepeat) {
        // the length is a constant
        self.visit_expr(&e.expr);
    }

    fn visit_expr_const(&mut self, _: &'a ExprConst) {}
    fn visit_item_const(&mut self, _: &'a ItemConst) {}
    fn visit_impl_item_const(&mut self, _: &'a ImplItemConst) {}
    fn visit_item_static(&mut self, _: &'a ItemStatic) {}
    fn visit_pat(&mut self, _: &'a Pat) {}
    fn visit_type(&mut self, _: &'a Type) {}
    fn visit_macro(&mut self, _: &'a Macro) {}
}

/// Whether something is only there for tests.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.meta.to_token_stream().to_string();
        text == "test" || text.replace(' ', "") == "cfg(test)"
    })
}

fn type_name(of: &Type) -> String {
    match of {
        Type::Path(path) => path.path.segments.last().map_or_else(String::new, |last| last.ident.to_string()),
        Type::Reference(reference) => type_name(&reference.elem),
        other => on_one_line(&other.to_token_stream().to_string()),
    }
}

/// Values that a function of this type can return at once.
fn plain_values(output: &ReturnType) -> &'static [&'static str] {
    let ReturnType::Type(_, output) = output else { return &["()"] };
    let text = output.to_token_stream().to_string();
    match type_name(output).as_str() {
        _ if text.contains("impl ") || text.starts_with('&') => &[],
        "bool" => &["true", "false"],
        "usize" | "u64" | "u32" => &["0", "1"],
        "String" => &["String::new()"],
        "Option" => &["None"],
        "Vec" => &["Vec::new()"],
        _ => &[],
    }
}

/// The operator that takes the same types and says something else.
fn turned_round(operator: &BinOp) -> Option<&'static str> {
    Some(match operator {
        BinOp::Eq(_) => "!=",
        BinOp::Ne(_) => "==",
        BinOp::Lt(_) => "<=",
        BinOp::Le(_) => "<",
        BinOp::Gt(_) => ">=",
        BinOp::Ge(_) => ">",
        BinOp::And(_) => "||",
        BinOp::Or(_) => "&&",
        BinOp::Sub(_) => "+",
        _ => return None,
    })
}

/// Whether an expression declares names (`let` in a condition), which another expression would not have.
fn has_let(e: &Expr) -> bool {
    struct Lets(bool);
    impl<'a> Visit<'a> for Lets {
        fn visit_expr_let(&mut self, _: &'a ExprLet) {
            self.0 = true;
        }
        fn visit_block(&mut self, _: &'a Block) {}
        fn visit_expr_closure(&mut self, _: &'a ExprClosure) {}
    }
    let mut lets = Lets(false);
    lets.visit_expr(e);
    lets.0
}

/// Whether a pattern takes whatever the arms before it leave.
fn takes_anything(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        Pat::Ident(name) => name.subpat.is_none() && name.ident.to_string().starts_with(char::is_lowercase),
        _ => false,
    }
}

/// Whether a statement is there for its effect alone.
fn can_be_left_out(e: &Expr, later: &[String]) -> bool {
    match e {
        Expr::MethodCall(_) | Expr::Call(_) => true,
        Expr::Assign(assign) => !later.contains(&assign.left.to_token_stream().to_string()),
        Expr::Binary(e) => matches!(e.op, BinOp::AddAssign(_) | BinOp::SubAssign(_) | BinOp::BitOrAssign(_)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
