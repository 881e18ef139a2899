//! Values written down in a program.

/// A [`Value`](crate::Value) written as JSON, in which expressions of Rust may stand for keys and values.
///
/// ```
/// use thalweg_json::json;
///
/// let (pilot, legs) = ("Ann", [120.5, 181.0]);
/// let flight = json!({"pilot": pilot, "legs": legs, "notes": null, "glider": {"name": "Mantra"}});
/// assert_eq!(flight.to_string(), r#"{"pilot":"Ann","legs":[120.5,181.0],"notes":null,"glider":{"name":"Mantra"}}"#);
/// ```
///
/// It panics where serde cannot write an expression, as where a key of a map is none of JSON's.
#[macro_export]
macro_rules! json {
    ($($json:tt)+) => {
        $crate::json_internal!($($json)+)
    };
}

// One token after the other: an array has elements that are done, an object a key that is being read, and what is left. It is as in `serde_json`,
// so that what can be written there can be written here.
#[macro_export]
#[doc(hidden)]
macro_rules! json_internal {
    // the elements of an array
    (@array [$($done:expr,)*]) => { ::std::vec![$($done,)*] };
    (@array [$($done:expr),*]) => { ::std::vec![$($done),*] };
    (@array [$($done:expr,)*] null $($rest:tt)*) => {
        $crate::json_internal!(@array [$($done,)* $crate::json_internal!(null)] $($rest)*)
    };
    (@array [$($done:expr,)*] true $($rest:tt)*) => {
        $crate::json_internal!(@array [$($done,)* $crate::json_internal!(true)] $($rest)*)
    };
    (@array [$($done:expr,)*] false $($rest:tt)*) => {
        $crate::json_internal!(@array [$($done,)* $crate::json_internal!(false)] $($rest)*)
    };
    (@array [$($done:expr,)*] [$($array:tt)*] $($rest:tt)*) => {
        $crate::json_internal!(@array [$($done,)* $crate::json_internal!([$($array)*])] $($rest)*)
    };
    (@array [$($done:expr,)*] {$($object:tt)*} $($rest:tt)*) => {
        $crate::json_internal!(@array [$($done,)* $crate::json_internal!({$($object)*})] $($rest)*)
    };
    (@array [$($done:expr,)*] $next:expr, $($rest:tt)*) => {
        $crate::json_internal!(@array [$($done,)* $crate::json_internal!($next),] $($rest)*)
    };
    (@array [$($done:expr,)*] $last:expr) => {
        $crate::json_internal!(@array [$($done,)* $crate::json_internal!($last)])
    };
    (@array [$($done:expr),*] , $($rest:tt)*) => {
        $crate::json_internal!(@array [$($done,)*] $($rest)*)
    };
    (@array [$($done:expr),*] $unexpected:tt $($rest:tt)*) => {
        $crate::json_unexpected!($unexpected)
    };

    // the members of an object
    (@object $object:ident () () ()) => {};
    (@object $object:ident [$($key:tt)+] ($value:expr) , $($rest:tt)*) => {
        let _ = $object.insert(($($key)+).into(), $value);
        $crate::json_internal!(@object $object () ($($rest)*) ($($rest)*));
    };
    (@object $object:ident [$($key:tt)+] ($value:expr) $unexpected:tt $($rest:tt)*) => {
        $crate::json_unexpected!($unexpected);
    };
    (@object $object:ident [$($key:tt)+] ($value:expr)) => {
        let _ = $object.insert(($($key)+).into(), $value);
    };
    (@object $object:ident ($($key:tt)+) (: null $($rest:tt)*) $copy:tt) => {
        $crate::json_internal!(@object $object [$($key)+] ($crate::json_internal!(null)) $($rest)*);
    };
    (@object $object:ident ($($key:tt)+) (: true $($rest:tt)*) $copy:tt) => {
        $crate::json_internal!(@object $object [$($key)+] ($crate::json_internal!(true)) $($rest)*);
    };
    (@object $object:ident ($($key:tt)+) (: false $($rest:tt)*) $copy:tt) => {
        $crate::json_internal!(@object $object [$($key)+] ($crate::json_internal!(false)) $($rest)*);
    };
    (@object $object:ident ($($key:tt)+) (: [$($array:tt)*] $($rest:tt)*) $copy:tt) => {
        $crate::json_internal!(@object $object [$($key)+] ($crate::json_internal!([$($array)*])) $($rest)*);
    };
    (@object $object:ident ($($key:tt)+) (: {$($inner:tt)*} $($rest:tt)*) $copy:tt) => {
        $crate::json_internal!(@object $object [$($key)+] ($crate::json_internal!({$($inner)*})) $($rest)*);
    };
    (@object $object:ident ($($key:tt)+) (: $value:expr , $($rest:tt)*) $copy:tt) => {
        $crate::json_internal!(@object $object [$($key)+] ($crate::json_internal!($value)) , $($rest)*);
    };
    (@object $object:ident ($($key:tt)+) (: $value:expr) $copy:tt) => {
        $crate::json_internal!(@object $object [$($key)+] ($crate::json_internal!($value)));
    };
    (@object $object:ident ($($key:tt)+) (:) $copy:tt) => {
        ::std::compile_error!("a value must stand behind the colon");
    };
    (@object $object:ident ($($key:tt)+) () $copy:tt) => {
        ::std::compile_error!("a colon and a value must stand behind the key");
    };
    (@object $object:ident () (: $($rest:tt)*) ($colon:tt $($copy:tt)*)) => {
        $crate::json_unexpected!($colon);
    };
    (@object $object:ident ($($key:tt)*) (, $($rest:tt)*) ($comma:tt $($copy:tt)*)) => {
        $crate::json_unexpected!($comma);
    };
    // a key in parentheses is an expression
    (@object $object:ident () (($key:expr) : $($rest:tt)*) $copy:tt) => {
        $crate::json_internal!(@object $object ($key) (: $($rest)*) (: $($rest)*));
    };
    (@object $object:ident ($($key:tt)*) (: $($unexpected:tt)+) $copy:tt) => {
        ::std::compile_error!("no value");
    };
    (@object $object:ident ($($key:tt)*) ($next:tt $($rest:tt)*) $copy:tt) => {
        $crate::json_internal!(@object $object ($($key)* $next) ($($rest)*) ($($rest)*));
    };

    (null) => { $crate::Value::Null };
    (true) => { $crate::Value::Bool(true) };
    (false) => { $crate::Value::Bool(false) };
    ([]) => { $crate::Value::Array(::std::vec::Vec::new()) };
    ([$($array:tt)+]) => { $crate::Value::Array($crate::json_internal!(@array [] $($array)+)) };
    ({}) => { $crate::Value::Object($crate::Map::new()) };
    ({$($members:tt)+}) => {
        $crate::Value::Object({
            let mut object = $crate::Map::new();
            $crate::json_internal!(@object object () ($($members)+) ($($members)+));
            object
        })
    };
    ($other:expr) => {
        $crate::to_value(&$other).expect("serde can write it as JSON")
    };
}

#[macro_export]
#[doc(hidden)]
macro_rules! json_unexpected {
    () => {};
}
