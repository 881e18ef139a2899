//! Where the columns that a loop shows lie in the rows it runs over.

use super::read::{Level, Loop};
use crate::rows::{Within, dimensions, own_fields};
use thalweg_encode::EncodeError;
use thalweg_rows::{Codec, Cursor, Field};

/// A loop, or one within another, bound to the fields of its rows.
pub(super) struct Bound<'a> {
    pub(super) columns: Vec<Column<'a>>,
    record: Record<'a>,
    within: Within,
}

/// What a path leads to: a column, and names within its value.
pub(super) struct Column<'a> {
    /// Its place among the fields.
    pub(super) at: usize,
    pub(super) codec: &'a Codec,
    pub(super) rest: &'a [Box<str>],
}

/// The bytes of a column: there is none in a row that is not there itself, and none of a null.
pub(super) type Cell<'a> = Option<Option<&'a [u8]>>;

/// Which columns of a row are taken, up to the last that is.
struct Record<'a> {
    fields: &'a [Field],
    taken: Vec<Taken<'a>>,
}

#[derive(Default)]
struct Taken<'a> {
    /// The cells that it fills.
    cells: Vec<usize>,
    /// Those that a row fills that is found here: with its bytes.
    found: Vec<usize>,
    /// The row in it.
    row: Option<Record<'a>>,
}

/// Binds a loop and those within it. Where a name is no column's, the loop is the engine's.
pub(super) fn bind<'a>(known: &'a Loop, fields: &'a [Field]) -> Option<Vec<Bound<'a>>> {
    let mut bound: Vec<Bound<'a>> = Vec::with_capacity(known.levels.len());
    for level in &known.levels {
        let new = match level.over {
            None => Bound::new(level, fields, Within::Result)?,
            Some((around, path)) => {
                let Column { codec: Codec::List(element), rest: [], .. } = &bound[around].columns[path] else {
                    return None;
                };
                let Codec::Row(fields) = &**element else { return None };
                Bound::new(level, fields, Within::Record)?
            }
        };
        bound.push(new);
    }
    Some(bound)
}

impl<'a> Bound<'a> {
    fn new(level: &'a Level, fields: &'a [Field], within: Within) -> Option<Bound<'a>> {
        let mut record = Record { fields, taken: Vec::new() };
        let columns = level.paths.iter().enumerate();
        let columns = columns.map(|(cell, path)| record.take(path, cell)).collect::<Option<_>>()?;
        Some(Bound { columns, record, within })
    }

    /// Finds a row's columns.
    pub(super) fn read(&self, row: &'a [u8], cells: &mut [Cell<'a>]) -> Result<(), EncodeError> {
        self.record.read(self.within, row, cells)
    }
}

impl<'a> Record<'a> {
    fn take(&mut self, path: &'a [Box<str>], cell: usize) -> Option<Column<'a>> {
        let (name, rest) = path.split_first()?;
        let (at, field) = own_fields(self.fields).find(|(_, field)| *field.name == **name)?;
        let (at, codec, rest) = match (&field.codec, rest) {
            (Codec::Found(first, _), [name, rest @ ..]) if *first.name == **name => (at, &first.codec, rest),
            (Codec::Found(_, behind), [name, rest @ ..]) => {
                let of_row = self.fields.get(at + 1..at + 1 + behind)?;
                let place = of_row.iter().position(|field| *field.name == **name)?;
                (at + 1 + place, &of_row[place].codec, rest)
            }
            (codec, rest) => (at, codec, rest),
        };
        if self.taken.len() <= at {
            self.taken.resize_with(at + 1, Taken::default);
        }
        let taken = &mut self.taken[at];
        match codec {
            Codec::Found(..) => {
                taken.found.push(cell);
                Some(Column { at, codec, rest })
            }
            Codec::Row(fields) if !rest.is_empty() => {
                taken.row.get_or_insert_with(|| Record { fields, taken: Vec::new() }).take(rest, cell)
            }
            codec => {
                taken.cells.push(cell);
                Some(Column { at, codec, rest })
            }
        }
    }

    fn read(&self, within: Within, row: &'a [u8], cells: &mut [Cell<'a>]) -> Result<(), EncodeError> {
        let mut cursor = within.columns(row, self.fields.len())?;
        let mut missing = 0..0;
        for (at, (taken, field)) in self.taken.iter().zip(self.fields).enumerate() {
            let from_here = cursor.rest();
            let bytes = within.next(&mut cursor, field)?;
            if let (Codec::Found(_, behind), None) = (&field.codec, bytes) {
                taken.found.iter().for_each(|cell| cells[*cell] = Some(None));
                missing = at..at + 1 + behind;
            }
            if missing.contains(&at) {
                taken.is_missing(cells);
                continue;
            }
            taken.found.iter().for_each(|cell| cells[*cell] = Some(Some(from_here)));
            taken.cells.iter().for_each(|cell| cells[*cell] = Some(bytes));
            match (&taken.row, bytes) {
                (None, _) => {}
                (Some(row), Some(bytes)) => row.read(Within::Record, bytes, cells)?,
                (Some(row), None) => row.is_missing(cells),
            }
        }
        Ok(())
    }

    fn is_missing(&self, cells: &mut [Cell<'a>]) {
        self.taken.iter().for_each(|taken| taken.is_missing(cells));
    }
}

impl<'a> Taken<'a> {
    /// Is of a row that is not there.
    fn is_missing(&self, cells: &mut [Cell<'a>]) {
        self.cells.iter().for_each(|cell| cells[*cell] = None);
        self.row.iter().for_each(|row| row.is_missing(cells));
    }
}

/// The rows of an embed to many, and how many there are.
pub(super) fn rows<'a>(cell: Cell<'a>) -> Result<(usize, Cursor<'a>), EncodeError> {
    let Some(Some(bytes)) = cell else { return Ok((0, Cursor::new(&[]))) };
    let (sizes, cursor) = dimensions(bytes)?;
    Ok((sizes.first().map_or(0, |size| *size as usize), cursor))
}
