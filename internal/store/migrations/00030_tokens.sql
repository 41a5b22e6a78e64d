-- +goose Up

-- Programs that may come in by a door, each with a secret of which only the hash is here.
CREATE TABLE tokens (
    name       TEXT    NOT NULL PRIMARY KEY,
    hash       TEXT    NOT NULL UNIQUE,
    doors      TEXT    NOT NULL,
    agents     TEXT    NOT NULL,
    made_by    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

PRAGMA user_version = 30;
