//! Loops of a template that can be written without the engine, and the template that calls them.

use super::chunk::Literal;
use super::{Loops, NAME};
use crate::syntax;
use minijinja::machinery::{Span, ast, parse};
use minijinja::value::{Kwargs, Value};
use std::fmt::Write;
use std::sync::Arc;

type Name = Box<str>;

/// A loop over the rows of a query.
#[derive(Debug, Default)]
pub(crate) struct Loop {
    /// Itself, and then the loops within it.
    pub(super) levels: Vec<Level>,
    /// The names that stand for the same in all rows.
    pub(super) names: Vec<Name>,
    /// Filters of a column alone, each with its arguments.
    pub(super) filters: Vec<(Name, Vec<Value>)>,
    /// Whether a row is made with a look at something else, as the rows of another list or the row around it.
    looks_around: bool,
}

/// A loop: what it shows of each of its rows.
#[derive(Debug, Default)]
pub(super) struct Level {
    /// The loop around it, and by which of its paths the rows are found.
    pub(super) over: Option<(usize, usize)>,
    /// From the row on, by name.
    pub(super) paths: Vec<Vec<Name>>,
    pub(super) body: Vec<Step>,
}

#[derive(Debug)]
pub(super) enum Step {
    Text(Literal),
    Show(Expr),
    If { test: Expr, then: Vec<Step>, otherwise: Vec<Step> },
    For { over: Column, level: usize, otherwise: Vec<Step> },
}

/// A path of the row of a loop: how many loops stand between that one and what names it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) up: usize,
    pub(super) path: usize,
}

#[derive(Debug)]
pub(super) enum Expr {
    Constant(Value),
    Column(Column),
    /// A field of `loop`.
    Loop(LoopField),
    /// What stands for the same in all rows.
    Name(usize),
    Attribute(Box<Expr>, Name),
    Not(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Option<Box<Expr>>),
    Compare(Box<Expr>, Vec<(Operator, Expr)>),
    /// A filter of a column alone, by number.
    Filtered(usize, Column),
    Filter(Name, Vec<Expr>),
    Test(Name, Vec<Expr>),
    Call(usize, Vec<Expr>),
    /// Arguments by name, which stand behind the others.
    Named(Vec<(Name, Expr)>),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum LoopField {
    Index,
    Index0,
    Revindex,
    Revindex0,
    First,
    Last,
    Length,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Operator {
    Eq,
    Ne,
    Lt,
    Lte,
    Gt,
    Gte,
}

/// What filters and functions look up themselves, and what the engine gives a meaning of its own.
const NO_TARGETS: [&str; 6] = ["locale", "zone", "loop", "self", "super", "caller"];
/// What is no value, or is known where it stands only.
const NO_NAMES: [&str; 5] = ["loop", "self", "super", "caller", "debug"];

/// A template that calls loops.
#[derive(Debug, Default)]
pub(crate) struct Called {
    /// With a call before each loop that can be written directly.
    pub(crate) text: String,
    /// Whether no loop is the engine's or looks at more than its rows, and all templates that it extends, includes and imports are known.
    pub(crate) is_linear: bool,
    /// Those templates.
    pub(crate) others: Vec<String>,
}

/// Puts calls into a template, which has been parsed before.
pub(crate) fn read(file: &str, text: &str, loops: &mut Loops) -> Called {
    let Ok(ast::Stmt::Template(tree)) = parse(text, file, Default::default()) else { return Called::default() };
    let (mut found, mut is_linear, mut others) = (Vec::new(), true, Vec::new());
    let mut called = |each: &ast::Spanned<ast::ForLoop<'_>>| {
        let ast::Expr::Var(over) = &each.iter else { return None };
        let read = Reader::default().outermost(each)?;
        found.push((over.id.to_owned(), Tags::of(text, each.span())?, loops.len()));
        let looks_around = read.looks_around;
        loops.push(Arc::new(read));
        Some(looks_around)
    };
    find(&tree.children, &mut |sought| match sought {
        Sought::Loop(each) => {
            let looks_around = called(each);
            is_linear &= looks_around == Some(false);
            looks_around.is_some()
        }
        Sought::Other(name) => {
            let name = name.as_const().and_then(|name| name.as_str().map(str::to_owned));
            is_linear &= name.is_some();
            others.extend(name);
            false
        }
    });
    found.sort_unstable_by_key(|(_, tags, _)| tags.begin);
    let (mut called, mut at) = (String::with_capacity(text.len()), 0);
    for (over, Tags { begin, before, end, behind }, number) in found {
        let call = format!("{over} is {NAME}({number}) %}}{{{{ {over}|{NAME}({number}) }}}}");
        let (ahead, each) = (&text[at..begin], &text[begin..end]);
        // no line is added, so that the lines of errors are the author's
        _ = write!(called, "{ahead}{{%{before} if {call}{{% else %}}{each}{{% endif {behind}%}}");
        at = end;
    }
    called.push_str(&text[at..]);
    Called { text: called, is_linear, others }
}

/// The tags of a loop: where they begin and end, and how they treat the white space around them.
struct Tags<'a> {
    begin: usize,
    before: &'a str,
    end: usize,
    behind: &'a str,
}

impl<'a> Tags<'a> {
    /// Of a span from `for` to `endfor`.
    fn of(text: &'a str, span: Span) -> Option<Tags<'a>> {
        let tag = text.get(..span.start_offset as usize)?.trim_end();
        let open = tag.trim_end_matches(['-', '+']);
        let begin = open.strip_suffix("{%")?.len();
        let tail = text.get(span.end_offset as usize..)?;
        let end = tail.find("%}")?;
        let behind = tail[..end].trim();
        Some(Tags { begin, before: &tag[open.len()..], end: span.end_offset as usize + end + 2, behind })
    }
}

/// What is looked for in a template.
enum Sought<'t, 'a> {
    Loop(&'t ast::Spanned<ast::ForLoop<'a>>),
    /// The name of another template.
    Other(&'t ast::Expr<'a>),
}

/// Looks for loops and other templates, but within a loop that is taken.
fn find<'a>(statements: &[ast::Stmt<'a>], take: &mut impl FnMut(Sought<'_, 'a>) -> bool) {
    for statement in statements {
        match statement {
            ast::Stmt::ForLoop(each) => {
                if !take(Sought::Loop(each)) {
                    find(&each.body, take);
                    find(&each.else_body, take);
                }
            }
            ast::Stmt::IfCond(choice) => {
                find(&choice.true_body, take);
                find(&choice.false_body, take);
            }
            ast::Stmt::Template(template) => find(&template.children, take),
            ast::Stmt::WithBlock(with) => find(&with.body, take),
            ast::Stmt::SetBlock(set) => find(&set.body, take),
            ast::Stmt::AutoEscape(escape) => find(&escape.body, take),
            ast::Stmt::FilterBlock(filter) => find(&filter.body, take),
            ast::Stmt::Block(block) => find(&block.body, take),
            ast::Stmt::Macro(made) => find(&made.body, take),
            ast::Stmt::CallBlock(block) => find(&block.macro_decl.body, take),
            ast::Stmt::Import(import) => _ = take(Sought::Other(&import.expr)),
            ast::Stmt::FromImport(import) => _ = take(Sought::Other(&import.expr)),
            ast::Stmt::Extends(extends) => _ = take(Sought::Other(&extends.name)),
            ast::Stmt::Include(include) => _ = take(Sought::Other(&include.name)),
            ast::Stmt::EmitExpr(_)
            | ast::Stmt::EmitRaw(_)
            | ast::Stmt::Set(_)
            | ast::Stmt::Continue(_)
            | ast::Stmt::Break(_)
            | ast::Stmt::Do(_) => {}
        }
    }
}

/// A loop that is being read. What says nothing has something that is the engine's.
#[derive(Default)]
struct Reader<'a> {
    read: Loop,
    /// The loops around what is read: the name of the row, and the number of the level.
    around: Vec<(&'a str, usize)>,
}

impl<'a> Reader<'a> {
    fn outermost(mut self, each: &ast::ForLoop<'a>) -> Option<Loop> {
        self.each(each, None)?;
        Some(self.read)
    }

    fn each(&mut self, each: &ast::ForLoop<'a>, over: Option<(usize, usize)>) -> Option<usize> {
        let ast::Expr::Var(target) = &each.target else { return None };
        if each.recursive || each.filter_expr.is_some() || NO_TARGETS.contains(&target.id) {
            return None;
        }
        let level = self.read.levels.len();
        self.read.levels.push(Level { over, ..Level::default() });
        self.around.push((target.id, level));
        self.read.levels[level].body = self.steps(&each.body)?;
        self.around.pop();
        Some(level)
    }

    fn steps(&mut self, statements: &[ast::Stmt<'a>]) -> Option<Vec<Step>> {
        statements.iter().map(|statement| self.step(statement)).collect()
    }

    fn step(&mut self, statement: &ast::Stmt<'a>) -> Option<Step> {
        Some(match statement {
            ast::Stmt::EmitRaw(raw) => Step::Text(Literal::of(raw.raw)),
            ast::Stmt::EmitExpr(shown) => Step::Show(self.expr(&shown.expr)?),
            ast::Stmt::IfCond(choice) => Step::If {
                test: self.expr(&choice.expr)?,
                then: self.steps(&choice.true_body)?,
                otherwise: self.steps(&choice.false_body)?,
            },
            ast::Stmt::ForLoop(each) => {
                let column = self.column(&each.iter)?;
                let over = (self.around.iter().rev().nth(column.up)?.1, column.path);
                let level = self.each(each, Some(over))?;
                Step::For { over: column, level, otherwise: self.steps(&each.else_body)? }
            }
            _ => return None,
        })
    }

    fn expr(&mut self, expr: &ast::Expr<'a>) -> Option<Expr> {
        if let Some(value) = expr.as_const() {
            return Some(Expr::Constant(value));
        }
        Some(match expr {
            ast::Expr::Var(name) => {
                self.read.looks_around = true;
                self.name(name.id)?
            }
            ast::Expr::GetAttr(get) => return self.attribute(expr, get),
            ast::Expr::UnaryOp(unary) if matches!(unary.op, ast::UnaryOpKind::Not) => {
                Expr::Not(self.boxed(&unary.expr)?)
            }
            ast::Expr::BinOp(binary) => {
                let (left, right) = (self.boxed(&binary.left)?, self.boxed(&binary.right)?);
                match binary.op {
                    ast::BinOpKind::ScAnd => Expr::And(left, right),
                    ast::BinOpKind::ScOr => Expr::Or(left, right),
                    op => Expr::Compare(left, vec![(of_binary(op)?, *right)]),
                }
            }
            ast::Expr::Compare(compare) => {
                let first = self.boxed(&compare.expr)?;
                let others = compare.ops.iter().map(|op| Some((of_comparison(op.op)?, self.expr(&op.expr)?)));
                Expr::Compare(first, others.collect::<Option<_>>()?)
            }
            ast::Expr::IfExpr(choice) => {
                let otherwise = match &choice.false_expr {
                    Some(otherwise) => Some(self.boxed(otherwise)?),
                    None => None,
                };
                Expr::If(self.boxed(&choice.test_expr)?, self.boxed(&choice.true_expr)?, otherwise)
            }
            ast::Expr::Filter(filter) => self.filter(filter)?,
            ast::Expr::Test(test) => {
                let value = self.expr(&test.expr)?;
                Expr::Test(syntax::without_spaces(test.name), self.arguments(Some(value), &test.args)?)
            }
            ast::Expr::Call(call) => match call.identify_call() {
                ast::CallType::Function(name) => {
                    let Expr::Name(function) = self.name(name)? else { return None };
                    Expr::Call(function, self.arguments(None, &call.args)?)
                }
                _ => return None,
            },
            _ => return None,
        })
    }

    fn boxed(&mut self, expr: &ast::Expr<'a>) -> Option<Box<Expr>> {
        self.expr(expr).map(Box::new)
    }

    /// A name that is no row's: a row alone is the engine's to show.
    fn name(&mut self, name: &'a str) -> Option<Expr> {
        if NO_NAMES.contains(&name) || self.around.iter().any(|(row, _)| *row == name) {
            return None;
        }
        let names = &mut self.read.names;
        let place = names.iter().position(|known| **known == *name).unwrap_or_else(|| {
            names.push(name.into());
            names.len() - 1
        });
        Some(Expr::Name(place))
    }

    fn attribute(&mut self, expr: &ast::Expr<'a>, get: &ast::GetAttr<'a>) -> Option<Expr> {
        if let Some(column) = self.column(expr) {
            return Some(Expr::Column(column));
        }
        match &get.expr {
            ast::Expr::Var(name) if name.id == "loop" => LoopField::named(get.name).map(Expr::Loop),
            of => Some(Expr::Attribute(self.boxed(of)?, get.name.into())),
        }
    }

    /// Names from a row on, one at least.
    fn column(&mut self, expr: &ast::Expr<'a>) -> Option<Column> {
        let (mut names, mut expr) = (Vec::new(), expr);
        while let ast::Expr::GetAttr(get) = expr {
            names.push(Name::from(get.name));
            expr = &get.expr;
        }
        let ast::Expr::Var(row) = expr else { return None };
        let (up, (_, level)) = self.around.iter().rev().enumerate().find(|(_, (name, _))| *name == row.id)?;
        if names.is_empty() {
            return None;
        }
        self.read.looks_around |= up > 0;
        names.reverse();
        let paths = &mut self.read.levels[*level].paths;
        let path = paths.iter().position(|known| *known == names).unwrap_or_else(|| {
            paths.push(names);
            paths.len() - 1
        });
        Some(Column { up, path })
    }

    fn filter(&mut self, filter: &ast::Filter<'a>) -> Option<Expr> {
        let name = syntax::without_spaces(filter.name);
        let input = self.expr(filter.expr.as_ref()?)?;
        let mut arguments = self.arguments(Some(input), &filter.args)?;
        let others = arguments[1..].iter().map(|argument| match argument {
            Expr::Constant(value) => Some(value.clone()),
            _ => None,
        });
        if let Some(others) = others.collect()
            && let Expr::Column(column) = arguments[0]
        {
            self.read.filters.push((name, others));
            return Some(Expr::Filtered(self.read.filters.len() - 1, column));
        }
        arguments.shrink_to_fit();
        Some(Expr::Filter(name, arguments))
    }

    fn arguments(&mut self, first: Option<Expr>, arguments: &[ast::CallArg<'a>]) -> Option<Vec<Expr>> {
        let (mut read, mut named) = (Vec::from_iter(first), Vec::new());
        for argument in arguments {
            match argument {
                ast::CallArg::Pos(value) => read.push(self.expr(value)?),
                ast::CallArg::Kwarg(name, value) => named.push((Name::from(*name), self.expr(value)?)),
                ast::CallArg::PosSplat(_) | ast::CallArg::KwargSplat(_) => return None,
            }
        }
        let constants = named.iter().map(|(name, value)| match value {
            Expr::Constant(value) => Some((&**name, value.clone())),
            _ => None,
        });
        match constants.collect::<Option<Vec<_>>>() {
            Some(none) if none.is_empty() => {}
            Some(constants) => read.push(Expr::Constant(Kwargs::from_iter(constants).into())),
            None => read.push(Expr::Named(named)),
        }
        Some(read)
    }
}

impl LoopField {
    fn named(name: &str) -> Option<LoopField> {
        Some(match name {
            "index" => LoopField::Index,
            "index0" => LoopField::Index0,
            "revindex" => LoopField::Revindex,
            "revindex0" => LoopField::Revindex0,
            "first" => LoopField::First,
            "last" => LoopField::Last,
            "length" => LoopField::Length,
            _ => return None,
        })
    }
}

fn of_binary(op: ast::BinOpKind) -> Option<Operator> {
    Some(match op {
        ast::BinOpKind::Eq => Operator::Eq,
        ast::BinOpKind::Ne => Operator::Ne,
        ast::BinOpKind::Lt => Operator::Lt,
        ast::BinOpKind::Lte => Operator::Lte,
        ast::BinOpKind::Gt => Operator::Gt,
        ast::BinOpKind::Gte => Operator::Gte,
        _ => return None,
    })
}

fn of_comparison(op: ast::CompareOpKind) -> Option<Operator> {
    Some(match op {
        ast::CompareOpKind::Eq => Operator::Eq,
        ast::CompareOpKind::Ne => Operator::Ne,
        ast::CompareOpKind::Lt => Operator::Lt,
        ast::CompareOpKind::Lte => Operator::Lte,
        ast::CompareOpKind::Gt => Operator::Gt,
        ast::CompareOpKind::Gte => Operator::Gte,
        ast::CompareOpKind::In | ast::CompareOpKind::NotIn => return None,
    })
}
