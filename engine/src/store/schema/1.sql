-- What the store is: its lineage, how many processes opened it.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

-- Every object as it stands. Written only by the triggers below.
CREATE TABLE objects (
    kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    uid TEXT NOT NULL, rv INTEGER NOT NULL, sealed INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (kind, namespace, name)
) STRICT;

-- Every change in order; rv is the resourceVersion. Compacted from the old end.
CREATE TABLE changes (
    rv INTEGER PRIMARY KEY, gone INTEGER NOT NULL,
    kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    uid TEXT NOT NULL, sealed INTEGER NOT NULL, body BLOB NOT NULL
) STRICT;

CREATE TRIGGER changes_put AFTER INSERT ON changes WHEN NEW.gone = 0 BEGIN
    INSERT INTO objects (kind, namespace, name, uid, rv, sealed, body)
    VALUES (NEW.kind, NEW.namespace, NEW.name, NEW.uid, NEW.rv, NEW.sealed, NEW.body)
    ON CONFLICT (kind, namespace, name) DO UPDATE
    SET uid = excluded.uid, rv = excluded.rv, sealed = excluded.sealed, body = excluded.body;
END;

CREATE TRIGGER changes_gone AFTER INSERT ON changes WHEN NEW.gone = 1 BEGIN
    DELETE FROM objects WHERE kind = NEW.kind AND namespace = NEW.namespace AND name = NEW.name;
    DELETE FROM intents WHERE uid = NEW.uid;
END;

-- Who wrote which spec, for ever.
CREATE TABLE history (
    id INTEGER PRIMARY KEY, rv INTEGER NOT NULL, at TEXT NOT NULL,
    kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL,
    generation INTEGER NOT NULL, verb TEXT NOT NULL, actor TEXT NOT NULL, source TEXT NOT NULL,
    differences TEXT NOT NULL, spec TEXT NOT NULL
) STRICT;
CREATE INDEX history_object ON history (kind, namespace, name, id);
CREATE TRIGGER history_no_update BEFORE UPDATE ON history BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;
CREATE TRIGGER history_no_delete BEFORE DELETE ON history BEGIN SELECT RAISE(ABORT, 'history is append-only'); END;

-- What happened, merged by what it says.
CREATE TABLE events (
    id INTEGER PRIMARY KEY, uid TEXT NOT NULL,
    kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
    type TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL, reporter TEXT NOT NULL,
    count INTEGER NOT NULL, first_at TEXT NOT NULL, last_at TEXT NOT NULL,
    UNIQUE (uid, type, reason, message)
) STRICT;
CREATE INDEX events_object ON events (kind, namespace, name, id);
CREATE INDEX events_age ON events (last_at);

-- What is being done to an object, or was last done.
CREATE TABLE intents (uid TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;
