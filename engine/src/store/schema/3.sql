-- Events are merged only where they are about the same thing in the same place: a uid is what somebody says it is.
CREATE TABLE events_by_place (
    id INTEGER PRIMARY KEY, uid TEXT NOT NULL,
    kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    type TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL, reporter TEXT NOT NULL,
    count INTEGER NOT NULL, first_at TEXT NOT NULL, last_at TEXT NOT NULL,
    UNIQUE (namespace, kind, name, uid, type, reason, message)
) STRICT;
INSERT INTO events_by_place SELECT id, uid, kind, namespace, name, type, reason, message, reporter, count, first_at, last_at
    FROM events;
DROP TABLE events;
ALTER TABLE events_by_place RENAME TO events;
CREATE INDEX events_object ON events (kind, namespace, name, id);
CREATE INDEX events_age ON events (last_at);
