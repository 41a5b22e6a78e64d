-- +goose Up

-- The homes whose hubs share the database, and who holds each: a home that was copied to
-- another disk has the same id.
CREATE TABLE hosts (
    id         TEXT    NOT NULL PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    labels     TEXT    NOT NULL DEFAULT '',
    version    TEXT    NOT NULL DEFAULT '',
    state      TEXT    NOT NULL DEFAULT 'active',
    session    TEXT    NOT NULL DEFAULT '',
    site      TEXT    NOT NULL DEFAULT '',
    until      INTEGER NOT NULL DEFAULT 0,
    seen_at    INTEGER NOT NULL DEFAULT 0,
    refused    TEXT    NOT NULL DEFAULT '',
    refused_at INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- What one hub at a time does for all, and which does.
CREATE TABLE duties (
    name    TEXT    NOT NULL PRIMARY KEY,
    host    TEXT    NOT NULL,
    session TEXT    NOT NULL,
    until   INTEGER NOT NULL
) WITHOUT ROWID;

-- Where the process is that holds an agent: a lease may be taken at once only by who knows
-- that it is gone.
ALTER TABLE agents ADD COLUMN owner_host TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN owner_site TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 35;
