-- A random token for each of the last changes: a store that was restored uses numbers again, and no token.

CREATE TABLE change_log (
    seq   INTEGER PRIMARY KEY,
    token TEXT NOT NULL
);
INSERT INTO change_log SELECT seq, hex(randomblob(16)) FROM changes;

CREATE TRIGGER changes_logged AFTER INSERT ON changes BEGIN
    INSERT OR REPLACE INTO change_log VALUES (NEW.seq, hex(randomblob(16)));
    DELETE FROM change_log WHERE seq <= NEW.seq - 100000;
END;

CREATE TRIGGER changes_logged_again AFTER UPDATE ON changes BEGIN
    INSERT OR REPLACE INTO change_log VALUES (NEW.seq, hex(randomblob(16)));
    DELETE FROM change_log WHERE seq <= NEW.seq - 100000;
END;
