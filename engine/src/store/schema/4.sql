-- What stands is the newest change of each object, so it is written once and here only named.
INSERT INTO meta (key, value) SELECT 'compacted', coalesce(min(rv), 1) - 1 FROM changes;
DROP TRIGGER changes_put;
DROP TRIGGER changes_gone;
INSERT INTO changes (rv, gone, kind, namespace, name, uid, sealed, body, sum)
    SELECT rv, 0, kind, namespace, name, uid, sealed, body, sum FROM objects
    WHERE rv NOT IN (SELECT rv FROM changes);

-- Which change made each object what it is. Written only by the triggers below.
CREATE TABLE standing (
    kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, rv INTEGER NOT NULL,
    PRIMARY KEY (kind, namespace, name)
) STRICT, WITHOUT ROWID;
INSERT INTO standing (kind, namespace, name, rv) SELECT kind, namespace, name, rv FROM objects;
DROP TABLE objects;

CREATE VIEW objects AS
    SELECT changes.rv, changes.kind, changes.namespace, changes.name, uid, sealed, body, sum
    FROM standing JOIN changes ON changes.rv = standing.rv;

CREATE TRIGGER changes_put AFTER INSERT ON changes WHEN NEW.gone = 0 BEGIN
    INSERT INTO standing (kind, namespace, name, rv) VALUES (NEW.kind, NEW.namespace, NEW.name, NEW.rv)
    ON CONFLICT (kind, namespace, name) DO UPDATE SET rv = excluded.rv;
END;

CREATE TRIGGER changes_gone AFTER INSERT ON changes WHEN NEW.gone = 1 BEGIN
    DELETE FROM standing WHERE kind = NEW.kind AND namespace = NEW.namespace AND name = NEW.name;
    DELETE FROM intents WHERE uid = NEW.uid;
END;

-- How each line of the audit log is found: the last one of an object, and the one of the same object before each. An
-- index over all lines grows with every write and is written all over; these grow at their end, and with the objects.
-- Each row of the first says twice what it says, so that what was not written so is noticed.
CREATE TABLE history_last (
    kind TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, id INTEGER NOT NULL, again TEXT NOT NULL,
    PRIMARY KEY (kind, namespace, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE history_before (id INTEGER PRIMARY KEY, before INTEGER) STRICT;
-- The index goes first, so that the lines themselves are read.
DROP INDEX history_object;
INSERT INTO history_last (kind, namespace, name, id, again)
    SELECT kind, namespace, name, max(id), kind || ' ' || namespace || ' ' || name || ' ' || max(id)
    FROM history GROUP BY kind, namespace, name;
INSERT INTO history_before (id, before)
    SELECT id, lag(id) OVER (PARTITION BY kind, namespace, name ORDER BY id) FROM history ORDER BY id;

CREATE TRIGGER history_put AFTER INSERT ON history BEGIN
    INSERT INTO history_before (id, before) VALUES (NEW.id,
        (SELECT id FROM history_last WHERE kind = NEW.kind AND namespace = NEW.namespace AND name = NEW.name));
    INSERT INTO history_last (kind, namespace, name, id, again)
    VALUES (NEW.kind, NEW.namespace, NEW.name, NEW.id,
            NEW.kind || ' ' || NEW.namespace || ' ' || NEW.name || ' ' || NEW.id)
    ON CONFLICT (kind, namespace, name) DO UPDATE SET id = excluded.id, again = excluded.again;
END;
