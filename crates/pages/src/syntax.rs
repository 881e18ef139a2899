//! Templates as the analysis reads them: a tree of our own, made of the template engine's.
//!
//! The engine's tree may change with any of its versions. Besides this file only `direct/read.rs` knows it.

use crate::error::{Error, Place};
use crate::messages;
use minijinja::machinery::{Span, ast, parse};
use minijinja::value::{Value, ValueKind};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

pub(crate) type Name = Rc<str>;

/// Where something stands: in which template, and how many bytes from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct At {
    pub(crate) template: u32,
    pub(crate) offset: u32,
}

#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) body: Vec<Statement>,
    /// All blocks, those within others too.
    pub(crate) blocks: BTreeMap<Name, Rc<Block>>,
    /// The messages that are named by a constant.
    pub(crate) messages: Vec<(Name, At)>,
    pub(crate) filters: Vec<(Name, At)>,
    pub(crate) tests: Vec<(Name, At)>,
}

#[derive(Debug)]
pub(crate) enum Statement {
    Show(Expr, At),
    For(Rc<For>),
    If {
        test: Expr,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    With {
        assignments: Vec<(Target, Expr, At)>,
        body: Vec<Statement>,
    },
    Set(Target, Expr, At),
    SetBlock {
        target: Target,
        filter: Option<Expr>,
        body: Vec<Statement>,
        at: At,
    },
    /// `autoescape`, and `filter`, whose expression takes the text of the body.
    Around {
        value: Expr,
        body: Vec<Statement>,
        at: At,
    },
    Block(Name),
    Import {
        from: Expr,
        target: Target,
        at: At,
    },
    FromImport {
        from: Expr,
        names: Vec<(Name, Name)>,
        at: At,
    },
    Extends {
        from: Expr,
        at: At,
    },
    Include {
        from: Expr,
        ignore_missing: bool,
        at: At,
    },
    Macro(Rc<Macro>),
    CallBlock {
        call: Call,
        caller: Rc<Macro>,
    },
    Do(Call),
}

#[derive(Debug)]
pub(crate) struct For {
    pub(crate) target: Target,
    pub(crate) over: Expr,
    pub(crate) filter: Option<Expr>,
    pub(crate) body: Vec<Statement>,
    pub(crate) otherwise: Vec<Statement>,
    pub(crate) at: At,
}

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) body: Vec<Statement>,
    pub(crate) at: At,
}

#[derive(Debug)]
pub(crate) struct Macro {
    pub(crate) name: Name,
    /// Parameters with their defaults.
    pub(crate) parameters: Vec<(Name, Option<Expr>)>,
    pub(crate) body: Vec<Statement>,
    pub(crate) at: At,
}

#[derive(Debug)]
pub(crate) enum Target {
    Name(Name),
    Several(Vec<Target>),
    /// A field of a namespace.
    Field(Expr, Name),
}

#[derive(Debug)]
pub(crate) enum Expr {
    Text(Name),
    Integer(i64),
    /// Any other constant: it holds no data, and is the name of nothing.
    Constant,
    /// What a filter block takes.
    Captured,
    Name(Name, At),
    Attribute(Box<Expr>, Name, At),
    Item(Box<Expr>, Box<Expr>, At),
    Slice {
        of: Box<Expr>,
        bounds: Vec<Expr>,
        at: At,
    },
    Not(Box<Expr>),
    /// `and`, `or`: one of the operands.
    OneOf(Vec<Expr>),
    If {
        test: Box<Expr>,
        then: Box<Expr>,
        otherwise: Option<Box<Expr>>,
    },
    /// A chain such as `a < b in c`: each operand but the first with whether it is asked to contain the one before it.
    Compare {
        first: Box<Expr>,
        others: Vec<(bool, Expr)>,
        at: At,
    },
    /// `+` and `*`, which lists have too.
    Join(Vec<Expr>, At),
    /// What makes text or a number of its operands.
    Compute(Vec<Expr>, At),
    Filter {
        name: Name,
        input: Box<Expr>,
        arguments: Vec<Argument>,
        at: At,
    },
    Test {
        name: Name,
        value: Box<Expr>,
        arguments: Vec<Argument>,
        at: At,
    },
    Call(Box<Call>),
    List(Vec<Expr>, At),
    Map(Vec<(Expr, Expr)>, At),
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) callee: Callee,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) at: At,
}

#[derive(Debug)]
pub(crate) enum Callee {
    Name(Name),
    Method(Expr, Name),
    /// `self.name()`
    Block(Name),
    Value(Expr),
}

#[derive(Debug)]
pub(crate) enum Argument {
    Position(Expr),
    Named(Name, Expr),
    /// `*list`, `**map`
    Spread(Expr),
}

/// Reads a template, whose text begins behind the front matter, at a byte and a line of its file.
pub(crate) fn read(template: u32, file: &str, text: &str, begin: (usize, usize)) -> Result<Program, Error> {
    let tree = parse(text, file, Default::default()).map_err(|error| refused(file, &error, begin.1))?;
    let mut reader = Reader {
        template,
        file,
        text,
        begin,
        blocks: BTreeMap::new(),
        messages: RefCell::default(),
        filters: RefCell::default(),
        tests: RefCell::default(),
        leave: Leave::Nowhere,
    };
    let ast::Stmt::Template(tree) = tree else { unreachable!("what is parsed is a template") };
    let body = reader.statements(&tree.children)?;
    let [messages, filters, tests] = [reader.messages, reader.filters, reader.tests].map(RefCell::into_inner);
    Ok(Program { body, blocks: reader.blocks, messages, filters, tests })
}

fn refused(file: &str, error: &minijinja::Error, line: usize) -> Error {
    let place = Place { file: file.to_owned(), line: error.line().unwrap_or(1) + line, column: 1 };
    Error::syntax(place, error.detail().unwrap_or("this is no template").to_owned())
}

/// What `break` and `continue` leave.
#[derive(Clone, Copy, PartialEq)]
enum Leave {
    Nowhere,
    Loop,
    /// A block within the loop. The engine does not close it, and panics at the loop's end.
    Within(&'static str),
}

struct Reader<'a> {
    template: u32,
    file: &'a str,
    text: &'a str,
    begin: (usize, usize),
    blocks: BTreeMap<Name, Rc<Block>>,
    messages: RefCell<Vec<(Name, At)>>,
    filters: RefCell<Vec<(Name, At)>>,
    tests: RefCell<Vec<(Name, At)>>,
    leave: Leave,
}

impl Reader<'_> {
    fn at(&self, span: Span) -> At {
        At { template: self.template, offset: span.start_offset + self.begin.0 as u32 }
    }

    /// Where a name stands that ends with a span.
    fn at_name(&self, span: Span, name: &str) -> At {
        let end = (span.end_offset as usize).saturating_sub(name.len());
        At { template: self.template, offset: (end + self.begin.0) as u32 }
    }

    fn statements(&mut self, list: &[ast::Stmt<'_>]) -> Result<Vec<Statement>, Error> {
        let mut read = Vec::with_capacity(list.len());
        for statement in list {
            read.extend(self.statement(statement)?);
        }
        Ok(read)
    }

    /// Statements that a loop cannot be left from.
    fn within(&mut self, what: &'static str, list: &[ast::Stmt<'_>]) -> Result<Vec<Statement>, Error> {
        let inner = if self.leave == Leave::Nowhere { Leave::Nowhere } else { Leave::Within(what) };
        self.leaving(inner, list)
    }

    fn leaving(&mut self, leave: Leave, list: &[ast::Stmt<'_>]) -> Result<Vec<Statement>, Error> {
        let outer = std::mem::replace(&mut self.leave, leave);
        let read = self.statements(list);
        self.leave = outer;
        read
    }

    fn statement(&mut self, statement: &ast::Stmt<'_>) -> Result<Option<Statement>, Error> {
        Ok(Some(match statement {
            ast::Stmt::EmitRaw(_) => return Ok(None),
            ast::Stmt::Template(_) => unreachable!("a template is in no other"),
            ast::Stmt::Break(at) => return self.left("break", at.span()),
            ast::Stmt::Continue(at) => return self.left("continue", at.span()),
            ast::Stmt::EmitExpr(shown) => Statement::Show(self.expr(&shown.expr), self.at(shown.expr.span())),
            ast::Stmt::ForLoop(each) => self.each(each)?,
            ast::Stmt::IfCond(choice) => Statement::If {
                test: self.expr(&choice.expr),
                then: self.statements(&choice.true_body)?,
                otherwise: self.statements(&choice.false_body)?,
            },
            ast::Stmt::WithBlock(with) => {
                let assignments = with.assignments.iter();
                let assignments =
                    assignments.map(|(target, value)| (self.target(target), self.expr(value), self.at(value.span())));
                Statement::With { assignments: assignments.collect(), body: self.within("with", &with.body)? }
            }
            ast::Stmt::Set(set) => {
                Statement::Set(self.target(&set.target), self.expr(&set.expr), self.at(set.expr.span()))
            }
            ast::Stmt::SetBlock(set) => Statement::SetBlock {
                target: self.target(&set.target),
                filter: set.filter.as_ref().map(|filter| self.expr(filter)),
                body: self.within("set", &set.body)?,
                at: self.at(set.span()),
            },
            ast::Stmt::AutoEscape(escape) => {
                let value = self.expr(&escape.enabled);
                Statement::Around { value, body: self.within("autoescape", &escape.body)?, at: self.at(escape.span()) }
            }
            ast::Stmt::FilterBlock(filter) => {
                let value = self.expr(&filter.filter);
                Statement::Around { value, body: self.within("filter", &filter.body)?, at: self.at(filter.span()) }
            }
            ast::Stmt::Block(block) => {
                let name = Name::from(block.name);
                let body = self.leaving(Leave::Nowhere, &block.body)?;
                let at = self.at(block.span());
                self.blocks.insert(name.clone(), Rc::new(Block { body, at }));
                Statement::Block(name)
            }
            ast::Stmt::Import(import) => Statement::Import {
                from: self.expr(&import.expr),
                target: self.target(&import.name),
                at: self.at(import.span()),
            },
            ast::Stmt::FromImport(import) => Statement::FromImport {
                from: self.expr(&import.expr),
                names: import.names.iter().filter_map(|(name, alias)| imported(name, alias.as_ref())).collect(),
                at: self.at(import.span()),
            },
            ast::Stmt::Extends(extends) => {
                Statement::Extends { from: self.expr(&extends.name), at: self.at(extends.name.span()) }
            }
            ast::Stmt::Include(include) => Statement::Include {
                from: self.expr(&include.name),
                ignore_missing: include.ignore_missing,
                at: self.at(include.name.span()),
            },
            ast::Stmt::Macro(made) => Statement::Macro(self.made(made)?),
            ast::Stmt::CallBlock(block) => {
                Statement::CallBlock { call: self.call(&block.call), caller: self.made(&block.macro_decl)? }
            }
            ast::Stmt::Do(called) => Statement::Do(self.call(&called.call)),
        }))
    }

    fn left(&self, word: &str, span: Span) -> Result<Option<Statement>, Error> {
        let Leave::Within(what) = self.leave else { return Ok(None) };
        let message = format!("{word} cannot leave {what}; write an if around what shall be left out");
        let before = &self.text[..(span.start_offset as usize).min(self.text.len())];
        let line = before.matches('\n').count() + 1 + self.begin.1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Err(Error::syntax(Place { file: self.file.to_owned(), line, column }, message))
    }

    fn each(&mut self, each: &ast::Spanned<ast::ForLoop<'_>>) -> Result<Statement, Error> {
        Ok(Statement::For(Rc::new(For {
            target: self.target(&each.target),
            over: self.expr(&each.iter),
            filter: each.filter_expr.as_ref().map(|filter| self.expr(filter)),
            body: self.leaving(Leave::Loop, &each.body)?,
            otherwise: self.statements(&each.else_body)?,
            at: self.at(each.span()),
        })))
    }

    fn made(&mut self, made: &ast::Spanned<ast::Macro<'_>>) -> Result<Rc<Macro>, Error> {
        let without_default = made.args.len() - made.defaults.len();
        let defaults = (0..without_default).map(|_| None).chain(made.defaults.iter().map(Some));
        let parameters = made.args.iter().zip(defaults).filter_map(|(parameter, default)| match parameter {
            ast::Expr::Var(name) => Some((Name::from(name.id), default.map(|default| self.expr(default)))),
            _ => None,
        });
        let (parameters, at) = (parameters.collect(), self.at(made.span()));
        let body = self.leaving(Leave::Nowhere, &made.body)?;
        Ok(Rc::new(Macro { name: made.name.into(), parameters, body, at }))
    }

    fn target(&self, target: &ast::Expr<'_>) -> Target {
        match target {
            ast::Expr::Var(name) => Target::Name(name.id.into()),
            ast::Expr::List(list) => Target::Several(list.items.iter().map(|item| self.target(item)).collect()),
            ast::Expr::GetAttr(field) => Target::Field(self.expr(&field.expr), field.name.into()),
            _ => unreachable!("the parser lets nothing else be assigned to"),
        }
    }

    fn exprs(&self, list: &[ast::Expr<'_>]) -> Vec<Expr> {
        list.iter().map(|expr| self.expr(expr)).collect()
    }

    fn boxed(&self, expr: &ast::Expr<'_>) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    fn expr(&self, expr: &ast::Expr<'_>) -> Expr {
        if let Some(value) = expr.as_const() {
            return constant(&value, self.at(expr.span()));
        }
        match expr {
            ast::Expr::Const(constant_) => constant(&constant_.value, self.at(constant_.span())),
            ast::Expr::Var(name) => Expr::Name(name.id.into(), self.at(name.span())),
            ast::Expr::Slice(slice) => Expr::Slice {
                of: self.boxed(&slice.expr),
                bounds: [&slice.start, &slice.stop, &slice.step].into_iter().flatten().map(|e| self.expr(e)).collect(),
                at: self.at(slice.span()),
            },
            ast::Expr::UnaryOp(unary) => match unary.op {
                ast::UnaryOpKind::Not => Expr::Not(self.boxed(&unary.expr)),
                ast::UnaryOpKind::Neg => Expr::Compute(vec![self.expr(&unary.expr)], self.at(unary.span())),
            },
            ast::Expr::BinOp(binary) => self.binary(binary),
            ast::Expr::Compare(compare) => self.compare(compare),
            ast::Expr::IfExpr(choice) => Expr::If {
                test: self.boxed(&choice.test_expr),
                then: self.boxed(&choice.true_expr),
                otherwise: choice.false_expr.as_ref().map(|otherwise| self.boxed(otherwise)),
            },
            ast::Expr::Filter(filter) => Expr::Filter {
                name: noted(&self.filters, filter.name, self.at(filter.span())),
                input: Box::new(filter.expr.as_ref().map_or(Expr::Captured, |input| self.expr(input))),
                arguments: self.arguments(&filter.args),
                at: self.at(filter.span()),
            },
            ast::Expr::Test(test) => Expr::Test {
                name: noted(&self.tests, test.name, self.at(test.span())),
                value: self.boxed(&test.expr),
                arguments: self.arguments(&test.args),
                at: self.at(test.span()),
            },
            ast::Expr::GetAttr(get) => {
                Expr::Attribute(self.boxed(&get.expr), get.name.into(), self.at_name(get.span(), get.name))
            }
            ast::Expr::GetItem(get) => {
                let at = self.at(get.subscript_expr.span());
                Expr::Item(self.boxed(&get.expr), self.boxed(&get.subscript_expr), at)
            }
            ast::Expr::Call(call) => Expr::Call(Box::new(self.call(call))),
            ast::Expr::List(list) => Expr::List(self.exprs(&list.items), self.at(list.span())),
            ast::Expr::Tuple(tuple) => Expr::List(self.exprs(&tuple.items), self.at(tuple.span())),
            ast::Expr::Map(map) => {
                let pairs = map.keys.iter().zip(&map.values);
                let pairs = pairs.map(|(key, value)| (self.expr(key), self.expr(value)));
                Expr::Map(pairs.collect(), self.at(map.span()))
            }
        }
    }

    fn binary(&self, binary: &ast::Spanned<ast::BinOp<'_>>) -> Expr {
        use ast::BinOpKind::*;
        // the engine's span of an operation begins before its left operand
        let at = self.at(binary.left.span());
        let (left, right) = (self.expr(&binary.left), self.expr(&binary.right));
        match binary.op {
            ScAnd | ScOr => Expr::OneOf(vec![left, right]),
            Eq | Ne | Lt | Lte | Gt | Gte => Expr::Compare { first: Box::new(left), others: vec![(false, right)], at },
            In => Expr::Compare { first: Box::new(left), others: vec![(true, right)], at },
            Add | Mul => Expr::Join(vec![left, right], at),
            Sub | Div | FloorDiv | Rem | Pow | Concat => Expr::Compute(vec![left, right], at),
        }
    }

    fn compare(&self, compare: &ast::Spanned<ast::Compare<'_>>) -> Expr {
        use ast::CompareOpKind::{In, NotIn};
        let others = compare.ops.iter().map(|op| (matches!(op.op, In | NotIn), self.expr(&op.expr)));
        Expr::Compare { first: self.boxed(&compare.expr), others: others.collect(), at: self.at(compare.expr.span()) }
    }

    fn call(&self, call: &ast::Spanned<ast::Call<'_>>) -> Call {
        let callee = match call.identify_call() {
            ast::CallType::Function(name) => Callee::Name(name.into()),
            ast::CallType::Method(of, name) => Callee::Method(self.expr(of), name.into()),
            ast::CallType::Block(name) => Callee::Block(name.into()),
            ast::CallType::Object(value) => Callee::Value(self.expr(value)),
        };
        let (arguments, at) = (self.arguments(&call.args), self.at(call.span()));
        if let (Callee::Name(name), Some(Argument::Position(Expr::Text(id)))) = (&callee, arguments.first())
            && &**name == messages::FUNCTION
        {
            self.messages.borrow_mut().push((id.clone(), at));
        }
        Call { callee, arguments, at }
    }

    fn arguments(&self, arguments: &[ast::CallArg<'_>]) -> Vec<Argument> {
        let read = |argument: &ast::CallArg<'_>| match argument {
            ast::CallArg::Pos(value) => Argument::Position(self.expr(value)),
            ast::CallArg::Kwarg(name, value) => Argument::Named((*name).into(), self.expr(value)),
            ast::CallArg::PosSplat(value) | ast::CallArg::KwargSplat(value) => Argument::Spread(self.expr(value)),
        };
        arguments.iter().map(read).collect()
    }
}

fn imported(name: &ast::Expr<'_>, alias: Option<&ast::Expr<'_>>) -> Option<(Name, Name)> {
    let (ast::Expr::Var(name), alias) = (name, alias) else { return None };
    match alias {
        None => Some((name.id.into(), name.id.into())),
        Some(ast::Expr::Var(alias)) => Some((name.id.into(), alias.id.into())),
        Some(_) => None,
    }
}

/// The name of a filter or a test, of which it is noted where it stands.
fn noted(names: &RefCell<Vec<(Name, At)>>, name: &str, at: At) -> Name {
    let name: Name = without_spaces(name);
    names.borrow_mut().push((name.clone(), at));
    name
}

/// The engine finds a filter or a test under its name without white space.
pub(crate) fn without_spaces<T: From<String>>(name: &str) -> T {
    name.split_ascii_whitespace().collect::<String>().into()
}

fn constant(value: &Value, at: At) -> Expr {
    if let Some(text) = value.as_str() {
        return Expr::Text(text.into());
    }
    if let (ValueKind::Number, Ok(number)) = (value.kind(), i64::try_from(value.clone())) {
        return Expr::Integer(number);
    }
    let Ok(items) = value.try_iter() else { return Expr::Constant };
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => Expr::List(items.map(|item| constant(&item, at)).collect(), at),
        ValueKind::Map => {
            let of = |key: &Value| value.get_item(key).map_or(Expr::Constant, |item| constant(&item, at));
            Expr::Map(items.map(|key| (constant(&key, at), of(&key))).collect(), at)
        }
        _ => Expr::Constant,
    }
}
