//! Several statements as one query: one trip to the library's thread and back for all of them.

use sqlx::SqliteConnection;

/// Statements, and what they bind, in the order of their question marks. Numbers after a question mark would count
/// over the whole script, so the statements have none.
pub(super) struct Script {
    sql: String,
    bound: Vec<Bound>,
}

/// What a question mark stands for.
pub(super) enum Bound {
    Text(String),
    Bytes(Vec<u8>),
    Number(i64),
}

impl From<String> for Bound {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Bound {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<u8>> for Bound {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<i64> for Bound {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl Script {
    pub(super) fn new(first: &'static str) -> Self {
        Self { sql: first.to_owned(), bound: Vec::new() }
    }

    pub(super) fn add(&mut self, statement: &'static str) -> &mut Self {
        self.sql.push_str(";\n");
        self.sql.push_str(statement);
        self
    }

    pub(super) fn bind(&mut self, value: impl Into<Bound>) -> &mut Self {
        self.bound.push(value.into());
        self
    }

    /// Runs the statements in order, up to the first that fails.
    pub(super) async fn run(self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        // Put together of texts that stand in the program; what comes from outside is bound.
        let query = sqlx::query(sqlx::AssertSqlSafe(self.sql));
        let query = self.bound.into_iter().fold(query, |query, value| match value {
            Bound::Text(text) => query.bind(text),
            Bound::Bytes(bytes) => query.bind(bytes),
            Bound::Number(number) => query.bind(number),
        });
        query.execute(connection).await.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use sqlx::{Connection, SqliteConnection};

    use super::Script;

    async fn rows(connection: &mut SqliteConnection) -> Vec<(i64, String)> {
        sqlx::query_as("SELECT number, text FROM lines ORDER BY number").fetch_all(connection).await.unwrap()
    }

    #[tokio::test]
    async fn a_script_binds_across_its_statements_and_stops_at_the_first_that_fails() {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        let create = "CREATE TABLE lines (number INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT";
        sqlx::query(create).execute(&mut connection).await.unwrap();
        let insert = "INSERT INTO lines (text, number) VALUES (?, ?)";
        for round in 0..2 {
            let mut script = Script::new("BEGIN IMMEDIATE");
            script.add(insert).bind("one").bind(2 * round).add(insert).bind("two").bind(2 * round + 1);
            script.add("COMMIT");
            script.run(&mut connection).await.unwrap();
        }
        let mut script = Script::new("BEGIN IMMEDIATE");
        script.add(insert).bind("three").bind(7).add(insert).bind("twice").bind(7);
        script.add(insert).bind("never").bind(8).add("COMMIT");
        script.run(&mut connection).await.unwrap_err();
        sqlx::query("ROLLBACK").execute(&mut connection).await.unwrap();
        let kept: Vec<_> = ["one", "two", "one", "two"].into_iter().map(str::to_owned).collect();
        assert_eq!(rows(&mut connection).await, (0..4).zip(kept).collect::<Vec<_>>());
    }
}
