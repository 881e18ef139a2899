//! What the types of the standard library have as text.

use super::{ToJson, ToJsonKey, Writer};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl ToJson for $type {
            #[inline(always)]
            fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
                out.integer(*self)
            }
        }

        impl ToJsonKey for $type {
            #[inline]
            fn to_json_key<'o>(&self, out: Writer<'o>) -> Writer<'o> {
                out.literal("\"").integer(*self).literal("\"")
            }
        }

        impl ToJson for NonZero<$type> {
            #[inline(always)]
            fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
                out.integer(self.get())
            }
        }
    )*};
}

integers!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);

impl ToJson for f64 {
    #[inline]
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.float(*self)
    }
}

impl ToJson for f32 {
    #[inline]
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.float32(*self)
    }
}

impl ToJson for bool {
    #[inline(always)]
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.boolean(*self)
    }
}

impl ToJsonKey for bool {
    fn to_json_key<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.literal("\"").boolean(*self).literal("\"")
    }
}

impl ToJson for str {
    #[inline(always)]
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.string(self)
    }
}

impl ToJson for char {
    #[inline]
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.string(self.encode_utf8(&mut [0; 4]))
    }
}

impl ToJson for String {
    #[inline(always)]
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.string(self)
    }
}

/// What is written as its string is its own key.
macro_rules! string_keys {
    ($($type:ty),*) => {$(
        impl ToJsonKey for $type {
            #[inline]
            fn to_json_key<'o>(&self, out: Writer<'o>) -> Writer<'o> {
                self.to_json(out)
            }
        }
    )*};
}

string_keys!(str, char, String, IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr);

/// What is shown in a few ASCII characters, of which none must be escaped.
macro_rules! shown {
    ($($type:ty),*) => {$(
        impl ToJson for $type {
            fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
                out.string(&self.to_string())
            }
        }
    )*};
}

shown!(IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr);

impl ToJson for () {
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.null()
    }
}

impl<T: ToJson> ToJson for Option<T> {
    #[inline]
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        match self {
            Some(value) => out.value(value),
            None => out.null(),
        }
    }
}

/// What stands for another value is written as that.
macro_rules! as_inner {
    ($($type:ty),*) => {$(
        impl<T: ToJson + ?Sized> ToJson for $type {
            #[inline(always)]
            fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
                T::to_json(self, out)
            }
        }

        impl<T: ToJsonKey + ?Sized> ToJsonKey for $type {
            #[inline(always)]
            fn to_json_key<'o>(&self, out: Writer<'o>) -> Writer<'o> {
                T::to_json_key(self, out)
            }
        }
    )*};
}

as_inner!(&T, &mut T, Box<T>, Rc<T>, Arc<T>);

impl<T: ToJson + ToOwned + ?Sized> ToJson for Cow<'_, T> {
    #[inline(always)]
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        T::to_json(self, out)
    }
}

impl<T: ToJsonKey + ToOwned + ?Sized> ToJsonKey for Cow<'_, T> {
    #[inline(always)]
    fn to_json_key<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        T::to_json_key(self, out)
    }
}

impl<T: ToJson> ToJson for [T] {
    #[inline]
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.array(self)
    }
}

impl<T: ToJson, const N: usize> ToJson for [T; N] {
    #[inline]
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.array(self)
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    #[inline]
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.array(self)
    }
}

macro_rules! sequences {
    ($($type:ty),*) => {$(
        impl<T: ToJson> ToJson for $type {
            fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
                out.array(self)
            }
        }
    )*};
}

sequences!(VecDeque<T>, LinkedList<T>, BTreeSet<T>, BinaryHeap<T>);

impl<T: ToJson, S> ToJson for HashSet<T, S> {
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.array(self)
    }
}

impl<K: ToJsonKey, V: ToJson, S> ToJson for HashMap<K, V, S> {
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.object(self)
    }
}

impl<K: ToJsonKey, V: ToJson> ToJson for BTreeMap<K, V> {
    fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
        out.object(self)
    }
}

macro_rules! tuples {
    ($($first:ident $($name:ident)*;)*) => {$(
        impl<$first: ToJson, $($name: ToJson),*> ToJson for ($first, $($name),*) {
            #[inline]
            #[allow(non_snake_case)]
            fn to_json<'o>(&self, out: Writer<'o>) -> Writer<'o> {
                let ($first, $($name),*) = self;
                out.literal("[").value($first)$(.literal(",").value($name))*.literal("]")
            }
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
    A B C D E F G H I;
    A B C D E F G H I J;
    A B C D E F G H I J K;
    A B C D E F G H I J K L;
}
