//! A sink that keeps what comes, as text.

use thalweg_rows::{Demand, Malformed, RowSink, RowView};
use thalweg_wire::{Connection, Query, StepError};

#[derive(Default, Debug, PartialEq, Clone)]
pub(crate) struct Texts(pub(crate) Vec<Vec<Option<String>>>);

impl RowSink for Texts {
    type Error = Malformed;

    fn row(&mut self, row: RowView<'_>) -> Result<Demand, Malformed> {
        let mut columns = row.columns();
        let texts =
            (0..row.len()).map(|_| Ok(columns.column()?.map(|value| String::from_utf8_lossy(value).into_owned())));
        self.0.push(texts.collect::<Result<_, _>>()?);
        Ok(Demand::More)
    }

    fn restart(&mut self) -> bool {
        self.0.clear();
        true
    }
}

/// Runs statements without parameters and returns all their rows.
pub(crate) async fn rows(connection: &mut Connection, statements: &[&str]) -> Result<Texts, thalweg_wire::Error> {
    let queries: Vec<Query<'_>> = statements.iter().map(|text| Query::bare(text)).collect();
    let mut texts = Texts::default();
    match connection.run(&queries, &mut texts).await {
        Ok(_) => Ok(texts),
        Err(StepError::Wire(error)) => Err(error),
        Err(StepError::Sink(error)) => panic!("{error}"),
    }
}

/// The one value of a statement.
pub(crate) async fn value(connection: &mut Connection, statement: &str) -> Result<String, thalweg_wire::Error> {
    let texts = rows(connection, &[statement]).await?;
    Ok(texts.0.first().and_then(|row| row.first().cloned().flatten()).unwrap_or_default())
}

/// Runs one statement.
pub(crate) async fn run(connection: &mut Connection, query: Query<'_>) -> Result<Texts, thalweg_wire::Error> {
    let mut texts = Texts::default();
    match connection.run(&[query], &mut texts).await {
        Ok(_) => Ok(texts),
        Err(StepError::Wire(error)) => Err(error),
        Err(StepError::Sink(error)) => panic!("{error}"),
    }
}
