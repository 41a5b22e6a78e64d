-- +goose Up

-- The agents that the configuration of a host defines, by name: what may be moved there.
ALTER TABLE hosts ADD COLUMN agents TEXT NOT NULL DEFAULT '';

-- Agents that are to go to another host: once what they do has ended, the host that they
-- are on sends them there, with the texts that people edit (files, JSON).
CREATE TABLE moves (
    agent   TEXT    NOT NULL PRIMARY KEY REFERENCES agents (id) ON DELETE CASCADE,
    host    TEXT    NOT NULL,
    leaves  INTEGER NOT NULL,
    refused TEXT    NOT NULL DEFAULT '',
    sent    INTEGER NOT NULL DEFAULT 0,
    files   TEXT    NOT NULL DEFAULT ''
) WITHOUT ROWID;

PRAGMA user_version = 40;
