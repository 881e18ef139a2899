//! What a request may cost, as a test says.

use crate::account::{self, Account, Within};
use crate::clock;
use crate::route::Bill;
use crate::tally;
use crate::task::Billed;
use bytes::{Buf, Bytes};
use http::{Request, Response};
use http_body::Body;
use http_body_util::BodyExt;
use std::fmt;
use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::ops::{Add, Div, Mul, Sub};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tower_service::Service;

/// Awaits a future, and says what that cost: as a request's bill, from its first poll to its end. What it spawns is part of it where it is
/// spawned [`billed`](crate::billed), and a request that a [`layer`](crate::layer) within it bills is.
///
/// # Panics
///
/// If such a request has not come to its end: the body of its answer must be read within the future too, as [`ask`] does.
pub async fn bill_of<F: Future>(future: F) -> (F::Output, Bill) {
    let mut account = Account::new(None);
    account.within = Some(Within::default());
    let account = Arc::new(account);
    let output = Billed::on(account.clone(), future).await;
    let open = account.within.as_ref().map_or(0, |within| within.begun.load(Relaxed) - within.ended.load(Relaxed));
    assert!(
        open == 0,
        "the bill is not whole: {open} answers have not been read to their end; read the body within the future too, as `ask` does"
    );
    (output, Bill::of(&account, clock::now()))
}

/// Asks a service, and reads its answer to the end. Both bodies are on the bill, whether the service has a [`layer`](crate::layer) or not;
/// what reading the answer allocates and copies is not.
///
/// # Panics
///
/// If the service fails, or the body of its answer does.
pub async fn ask<S, B, R>(mut service: S, request: Request<B>) -> Response<Bytes>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: fmt::Debug,
    B: Body,
    R: Body,
    R::Error: fmt::Debug,
{
    let requests = || account::with(|account| account.within.as_ref().map(|within| within.begun.load(Relaxed)));
    let (before, bytes_in) = (requests(), request.body().size_hint().exact().unwrap_or(0));
    poll_fn(|cx| service.poll_ready(cx)).await.unwrap_or_else(|error| panic!("the service fails: {error:?}"));
    let answer = service.call(request).await.unwrap_or_else(|error| panic!("the service fails: {error:?}"));
    let (head, body) = answer.into_parts();
    let (mut body, mut pieces) = (pin!(body), Vec::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.unwrap_or_else(|error| panic!("the answer breaks off: {error:?}"));
        if let Ok(mut data) = frame.into_data() {
            account::uncharged(|| pieces.push(data.copy_to_bytes(data.remaining())));
        }
    }
    let body = account::uncharged(|| match &*pieces {
        [whole] => whole.clone(),
        pieces => pieces.concat().into(),
    });
    // a layer has counted them
    if requests() == before {
        account::with(|adding| {
            adding.add(|account| &account.bytes_in, bytes_in);
            adding.add(|account| &account.bytes_out, body.len() as u64);
        });
    }
    Response::from_parts(head, body)
}

/// Asserts what a future costs, and returns its output: a future that is awaited, as [`ask`] makes one of a service and a request, and bounds.
///
/// ```
/// # use http::{Request, Response};
/// # use http_body_util::Full;
/// # #[global_allocator]
/// # static ALLOCATOR: thalweg_gauge::CountingAllocator<std::alloc::System> = thalweg_gauge::CountingAllocator(std::alloc::System);
/// # async fn test<S>(app: S, request: Request<Full<bytes::Bytes>>)
/// # where S: tower_service::Service<Request<Full<bytes::Bytes>>, Response = Response<Full<bytes::Bytes>>, Error = std::convert::Infallible> {
/// use thalweg_gauge::{ask, assert_bill};
///
/// let answer = assert_bill!(ask(app, request), allocations <= 40, copied <= 1.05 * bytes);
/// assert_eq!(answer.status(), 200);
/// # }
/// ```
///
/// A bound is a figure, one of `<=`, `<`, `==`, `>=` and `>`, and an expression, in which figures stand by their names too:
///
/// | figure | |
/// |---|---|
/// | `allocations`, `allocated` | how often memory was asked for, and for how many bytes |
/// | `peak` | the most bytes that were held at once |
/// | `copied` | bytes that were copied |
/// | `bytes`, `bytes_in`, `bytes_out` | bytes of bodies: both, the request's, the answer's |
/// | `rows` | rows, as the service says |
///
/// # Panics
///
/// If a bound does not hold, with both values and the whole bill; if a figure is asked for that the program does not count, for want of a
/// [`CountingAllocator`](crate::CountingAllocator) or of [`count_copies!`](crate::count_copies).
#[macro_export]
macro_rules! assert_bill {
    // a bound is read token by token: behind `@bound` stand the bill, what is open further out, what has been read, and the rest
    (@bounds $budget:ident;) => {};
    (@bounds $budget:ident; $figure:ident $order:tt $($rest:tt)+) => {
        $crate::assert_bill!(@bound $budget $figure $order [] [] [] $($rest)+);
    };
    (@bound $budget:ident $figure:ident $order:tt [] [$($read:tt)+] [$($text:tt)+] $(, $($rest:tt)*)?) => {
        $budget.bound(
            concat!(stringify!($figure), " ", stringify!($order), " ", stringify!($($text)+)),
            $crate::assert_bill!(@figure $budget $figure),
            stringify!($order),
            $crate::budget::Number::number($($read)+),
        );
        $crate::assert_bill!(@bounds $budget; $($($rest)*)?);
    };
    (@bound $budget:ident $figure:ident $order:tt [[$($outer:tt)*] $($outers:tt)*] [$($read:tt)*] $text:tt @close $($rest:tt)*) => {
        $crate::assert_bill!(@bound $budget $figure $order [$($outers)*] [$($outer)* ($($read)*)] $text $($rest)*);
    };
    (@bound $budget:ident $figure:ident $order:tt [] [$($read:tt)*] [$($text:tt)*] ($($inner:tt)*) $($rest:tt)*) => {
        $crate::assert_bill!(@bound $budget $figure $order [[$($read)*]] [] [$($text)* ($($inner)*)] $($inner)* @close $($rest)*);
    };
    (@bound $budget:ident $figure:ident $order:tt [$($outers:tt)+] [$($read:tt)*] $text:tt ($($inner:tt)*) $($rest:tt)*) => {
        $crate::assert_bill!(@bound $budget $figure $order [[$($read)*] $($outers)+] [] $text $($inner)* @close $($rest)*);
    };
    (@bound $budget:ident $figure:ident $order:tt [] [$($read:tt)*] [$($text:tt)*] . $name:tt $($rest:tt)*) => {
        $crate::assert_bill!(@bound $budget $figure $order [] [$($read)* . $name] [$($text)* . $name] $($rest)*);
    };
    (@bound $budget:ident $figure:ident $order:tt $outers:tt [$($read:tt)*] $text:tt . $name:tt $($rest:tt)*) => {
        $crate::assert_bill!(@bound $budget $figure $order $outers [$($read)* . $name] $text $($rest)*);
    };
    (@bound $budget:ident $figure:ident $order:tt [] [$($read:tt)*] [$($text:tt)*] :: $name:tt $($rest:tt)*) => {
        $crate::assert_bill!(@bound $budget $figure $order [] [$($read)* :: $name] [$($text)* :: $name] $($rest)*);
    };
    (@bound $budget:ident $figure:ident $order:tt $outers:tt [$($read:tt)*] $text:tt :: $name:tt $($rest:tt)*) => {
        $crate::assert_bill!(@bound $budget $figure $order $outers [$($read)* :: $name] $text $($rest)*);
    };
    (@bound $budget:ident $figure:ident $order:tt $outers:tt [$($read:tt)*] [$($text:tt)*] $token:tt $($rest:tt)*) => {
        $crate::assert_bill!(@token $token $budget $figure $order $outers [$($read)*] [$($text)*] $($rest)*);
    };
    (@token allocations $($rest:tt)*) => { $crate::assert_bill!(@replaced allocations $($rest)*); };
    (@token allocated $($rest:tt)*) => { $crate::assert_bill!(@replaced allocated $($rest)*); };
    (@token peak $($rest:tt)*) => { $crate::assert_bill!(@replaced peak $($rest)*); };
    (@token copied $($rest:tt)*) => { $crate::assert_bill!(@replaced copied $($rest)*); };
    (@token bytes $($rest:tt)*) => { $crate::assert_bill!(@replaced bytes $($rest)*); };
    (@token bytes_in $($rest:tt)*) => { $crate::assert_bill!(@replaced bytes_in $($rest)*); };
    (@token bytes_out $($rest:tt)*) => { $crate::assert_bill!(@replaced bytes_out $($rest)*); };
    (@token rows $($rest:tt)*) => { $crate::assert_bill!(@replaced rows $($rest)*); };
    (@token $token:tt $budget:ident $figure:ident $order:tt $outers:tt [$($read:tt)*] $text:tt $($rest:tt)*) => {
        $crate::assert_bill!(@shown $token $budget $figure $order $outers [$($read)* $token] $text $($rest)*);
    };
    (@replaced $name:ident $budget:ident $figure:ident $order:tt $outers:tt [$($read:tt)*] $text:tt $($rest:tt)*) => {
        $crate::assert_bill!(@shown $name $budget $figure $order $outers [$($read)* $budget.$name()] $text $($rest)*);
    };
    // what stands in parentheses has been shown with them
    (@shown $token:tt $budget:ident $figure:ident $order:tt [] $read:tt [$($text:tt)*] $($rest:tt)*) => {
        $crate::assert_bill!(@bound $budget $figure $order [] $read [$($text)* $token] $($rest)*);
    };
    (@shown $token:tt $budget:ident $figure:ident $order:tt $outers:tt $read:tt $text:tt $($rest:tt)*) => {
        $crate::assert_bill!(@bound $budget $figure $order $outers $read $text $($rest)*);
    };
    (@figure $budget:ident allocations) => { $budget.allocations() };
    (@figure $budget:ident allocated) => { $budget.allocated() };
    (@figure $budget:ident peak) => { $budget.peak() };
    (@figure $budget:ident copied) => { $budget.copied() };
    (@figure $budget:ident bytes) => { $budget.bytes() };
    (@figure $budget:ident bytes_in) => { $budget.bytes_in() };
    (@figure $budget:ident bytes_out) => { $budget.bytes_out() };
    (@figure $budget:ident rows) => { $budget.rows() };
    (@figure $budget:ident $name:ident) => {
        compile_error!(concat!(
            "a bill has no figure `", stringify!($name),
            "`, but allocations, allocated, peak, copied, bytes, bytes_in, bytes_out and rows"
        ))
    };
    ($request:expr, $($bounds:tt)+) => {{
        let (output, bill) = $crate::bill_of($request).await;
        let mut budget = $crate::budget::Budget::of(bill);
        $crate::assert_bill!(@bounds budget; $($bounds)+);
        budget.assert();
        output
    }};
}

/// A bill that bounds are held against.
#[derive(Debug)]
pub struct Budget {
    bill: Bill,
    exceeded: Vec<String>,
}

impl Budget {
    /// Of a bill, before any bound.
    pub fn of(bill: Bill) -> Budget {
        Budget { bill, exceeded: Vec::new() }
    }

    /// Holds a bound against the bill.
    pub fn bound(&mut self, text: &str, figure: Figure, order: &str, bound: f64) {
        let Figure(figure) = figure;
        let holds = match order {
            "<=" => figure <= bound,
            "<" => figure < bound,
            "==" => figure == bound,
            ">=" => figure >= bound,
            ">" => figure > bound,
            _ => panic!("`{text}` is no bound: `<=`, `<`, `==`, `>=` or `>`"),
        };
        if !holds {
            self.exceeded.push(format!("`{text}` does not hold: {figure} {order} {bound}"));
        }
    }

    /// Panics if a bound did not hold.
    #[track_caller]
    pub fn assert(&self) {
        assert!(self.exceeded.is_empty(), "{}\nof the bill {:#}", self.exceeded.join("\n"), self.bill.to_json());
    }

    /// How often memory was asked for.
    #[track_caller]
    pub fn allocations(&self) -> Figure {
        assert_allocations_are_counted();
        self.bill.allocations.into()
    }

    /// For how many bytes.
    #[track_caller]
    pub fn allocated(&self) -> Figure {
        assert_allocations_are_counted();
        self.bill.allocated_bytes.into()
    }

    /// The most bytes at once.
    #[track_caller]
    pub fn peak(&self) -> Figure {
        assert_allocations_are_counted();
        self.bill.peak_bytes.into()
    }

    /// Copied bytes.
    #[track_caller]
    pub fn copied(&self) -> Figure {
        assert_copies_are_counted();
        self.bill.copied_bytes.into()
    }

    /// Bytes of both bodies.
    pub fn bytes(&self) -> Figure {
        (self.bill.bytes_in + self.bill.bytes_out).into()
    }

    /// Bytes of the request's body.
    pub fn bytes_in(&self) -> Figure {
        self.bill.bytes_in.into()
    }

    /// Bytes of the answer's body.
    pub fn bytes_out(&self) -> Figure {
        self.bill.bytes_out.into()
    }

    /// Rows.
    pub fn rows(&self) -> Figure {
        self.bill.rows.into()
    }
}

#[track_caller]
fn assert_allocations_are_counted() {
    let before = tally::mine().now();
    drop(black_box(Vec::<u8>::with_capacity(black_box(64))));
    assert!(
        tally::mine().now().allocations > before.allocations,
        "allocations are not counted here: this program's `#[global_allocator]` is no `thalweg_gauge::CountingAllocator`"
    );
}

#[track_caller]
fn assert_copies_are_counted() {
    const BYTES: usize = 512;
    let (from, mut to) = ([1_u8; BYTES], [0_u8; BYTES]);
    let before = tally::mine().now();
    // of a length that the compiler does not know it is a call
    let bytes = black_box(BYTES);
    black_box(&mut to)[..bytes].copy_from_slice(&black_box(&from)[..bytes]);
    assert!(
        tally::mine().now().copies > before.copies,
        "copies are not counted here: this program has no `thalweg_gauge::count_copies!()`, or its linker was not told of it"
    );
}

/// A figure of a bill, to count with.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Figure(f64);

impl From<u64> for Figure {
    fn from(number: u64) -> Figure {
        Figure(number as f64)
    }
}

/// What figures are compared with and multiplied by.
pub trait Number {
    /// As a number.
    fn number(self) -> f64;
}

impl Number for Figure {
    fn number(self) -> f64 {
        self.0
    }
}

impl<N: Number> Add<N> for Figure {
    type Output = Figure;

    fn add(self, other: N) -> Figure {
        Figure(self.0 + other.number())
    }
}

impl<N: Number> Sub<N> for Figure {
    type Output = Figure;

    fn sub(self, other: N) -> Figure {
        Figure(self.0 - other.number())
    }
}

impl<N: Number> Mul<N> for Figure {
    type Output = Figure;

    fn mul(self, other: N) -> Figure {
        Figure(self.0 * other.number())
    }
}

impl<N: Number> Div<N> for Figure {
    type Output = Figure;

    fn div(self, other: N) -> Figure {
        Figure(self.0 / other.number())
    }
}

macro_rules! number {
    ($($number:ty)*) => {$(
        impl Number for $number {
            fn number(self) -> f64 {
                self as f64
            }
        }

        impl Add<Figure> for $number {
            type Output = Figure;

            fn add(self, other: Figure) -> Figure {
                Figure(self as f64 + other.0)
            }
        }

        impl Sub<Figure> for $number {
            type Output = Figure;

            fn sub(self, other: Figure) -> Figure {
                Figure(self as f64 - other.0)
            }
        }

        impl Mul<Figure> for $number {
            type Output = Figure;

            fn mul(self, other: Figure) -> Figure {
                Figure(self as f64 * other.0)
            }
        }
    )*};
}

number!(i32 i64 u32 u64 usize f64);
