-- +goose Up

-- What the host of an agent says of it for the others, who cannot read its settings: who
-- may ask it and read its context, and what it is permitted. Written by that host alone,
-- and only where the database is on a server.
CREATE TABLE agent_defs (
    agent   TEXT    NOT NULL PRIMARY KEY REFERENCES agents (id) ON DELETE CASCADE,
    host    TEXT    NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    body    TEXT    NOT NULL
) WITHOUT ROWID;

PRAGMA user_version = 38;
