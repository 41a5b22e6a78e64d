-- +goose Up

-- What was committed, in one order for all who watch. A row holds ids, codes and
-- counts, never text. Numbers are given in commit order, and the newest row is never
-- removed, so no number is given twice.
CREATE TABLE events (
    n            INTEGER NOT NULL PRIMARY KEY,
    at           INTEGER NOT NULL,
    kind         TEXT    NOT NULL,
    conversation TEXT    NOT NULL,
    request      TEXT    NOT NULL,
    chain        TEXT    NOT NULL,
    agent        TEXT    NOT NULL,
    seq          INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    data         TEXT    NOT NULL
);

-- What a write with a key has done, so that repeating it does nothing.
CREATE TABLE keys (
    id        TEXT    NOT NULL PRIMARY KEY,
    verb      TEXT    NOT NULL,
    body_hash TEXT    NOT NULL,
    results   TEXT    NOT NULL,
    at        INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX keys_at ON keys (at);

PRAGMA user_version = 19;
