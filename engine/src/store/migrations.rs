//! The schema of the store's file, as steps that only go forward.
//!
//! Each step runs in a transaction, after a copy of the file was taken. A program meets a newer schema with a
//! clear error and touches nothing.
#![expect(clippy::disallowed_methods, reason = "the store keeps its own files")]

use std::path::Path;

use sqlx::{Connection, Executor, SqliteConnection};

use super::error::OpenError;

/// Step n brings the schema from version n to n + 1. Never change one that was released; add another.
const STEPS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
];

/// Copies from before migrations that are kept, newest first.
const KEPT_COPIES: usize = 3;

/// The newest version of the schema that this program knows.
pub(super) fn newest() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// Brings the file to the newest schema.
pub(super) async fn migrate(connection: &mut SqliteConnection, file: &Path) -> Result<(), OpenError> {
    migrate_by(STEPS, connection, file).await
}

async fn migrate_by(
    steps: &[&'static str],
    connection: &mut SqliteConnection,
    file: &Path,
) -> Result<(), OpenError> {
    let found = read_version(connection).await?;
    let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    if found > known {
        return Err(OpenError::Newer { found, known });
    }
    if found > 0 && found < known {
        copy(connection, file, known).await?;
    }
    let done = usize::try_from(found).unwrap_or(0);
    for (index, step) in steps.iter().enumerate().skip(done) {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        transaction.execute(sqlx::raw_sql(*step)).await?;
        let version = format!("PRAGMA user_version = {}", index + 1);
        transaction.execute(sqlx::raw_sql(sqlx::AssertSqlSafe(version))).await?;
        transaction.commit().await?;
    }
    Ok(())
}

/// The version of the file's schema; 0 is a file that nothing was ever put into.
pub(super) async fn read_version(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("PRAGMA user_version").fetch_one(connection).await
}

/// Copies the file beside itself before it is brought to version `to`. The copy gets its name only once it is
/// whole and on the disk, so that one of that name is never half a copy.
async fn copy(connection: &mut SqliteConnection, file: &Path, to: i64) -> Result<(), OpenError> {
    let copy = file.with_extension(format!("before-{to}.db"));
    let half = file.with_extension(format!("before-{to}.half"));
    let failed =
        |source| OpenError::File { action: format!("copying the store to {}", copy.display()), source };
    match std::fs::remove_file(&half) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    sqlx::query("VACUUM INTO ?").bind(half.display().to_string()).execute(&mut *connection).await?;
    std::fs::File::open(&half).and_then(|half| half.sync_all()).map_err(failed)?;
    std::fs::rename(&half, &copy).map_err(failed)?;
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    drop_older_copies(file, folder).map_err(failed)
}

/// Drops the oldest copies of earlier migrations; nothing else is touched, whatever its name.
fn drop_older_copies(file: &Path, folder: &Path) -> std::io::Result<()> {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut copies = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let version = name.strip_prefix(&format!("{stem}.before-")).and_then(|rest| rest.strip_suffix(".db"));
        if let Some(version) = version.and_then(|version| version.parse::<i64>().ok()) {
            copies.push((version, name));
        }
    }
    copies.sort_unstable();
    let older = copies.len().saturating_sub(KEPT_COPIES);
    copies[..older].iter().try_for_each(|(_, name)| std::fs::remove_file(folder.join(name)))
}

#[cfg(test)]
mod tests;
