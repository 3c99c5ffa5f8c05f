//! The schema of the store's file, as steps that only go forward.
//!
//! Each step runs in a transaction, after a copy of the file was taken. A program meets a newer schema with a
//! clear error and touches nothing.

use std::path::Path;

use sqlx::{Connection, Executor, SqliteConnection};

use super::error::OpenError;

/// Step n brings the schema from version n to n + 1. Never change one that was released; add another.
const STEPS: &[&str] = &[include_str!("schema/1.sql")];

/// Brings the file to the newest schema.
pub(super) async fn migrate(connection: &mut SqliteConnection, file: &Path) -> Result<(), OpenError> {
    let found: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut *connection).await?;
    let known = i64::try_from(STEPS.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(OpenError::Newer { found, known });
    }
    if found > 0 && found < known {
        let copy = file.with_extension(format!("before-{known}.db"));
        if !copy.exists() {
            sqlx::query("VACUUM INTO ?").bind(copy.display().to_string()).execute(&mut *connection).await?;
        }
    }
    let done = usize::try_from(found).unwrap_or(0);
    for (index, step) in STEPS.iter().enumerate().skip(done) {
        let mut transaction = connection.begin().await?;
        transaction.execute(sqlx::raw_sql(*step)).await?;
        let version = format!("PRAGMA user_version = {}", index + 1);
        transaction.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(version))).await?;
        transaction.commit().await?;
    }
    Ok(())
}
