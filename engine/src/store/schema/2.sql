-- A sum over each row, so that a byte that flipped on the disk is noticed. Rows from before this step have none.
ALTER TABLE meta ADD COLUMN sum INTEGER;
ALTER TABLE objects ADD COLUMN sum INTEGER;
ALTER TABLE changes ADD COLUMN sum INTEGER;
ALTER TABLE history ADD COLUMN sum INTEGER;
ALTER TABLE intents ADD COLUMN sum INTEGER;

DROP TRIGGER changes_put;
CREATE TRIGGER changes_put AFTER INSERT ON changes WHEN NEW.gone = 0 BEGIN
    INSERT INTO objects (kind, namespace, name, uid, rv, sealed, body, sum)
    VALUES (NEW.kind, NEW.namespace, NEW.name, NEW.uid, NEW.rv, NEW.sealed, NEW.body, NEW.sum)
    ON CONFLICT (kind, namespace, name) DO UPDATE
    SET uid = excluded.uid, rv = excluded.rv, sealed = excluded.sealed, body = excluded.body, sum = excluded.sum;
END;
