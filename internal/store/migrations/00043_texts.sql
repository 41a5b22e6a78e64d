-- +goose Up

-- The texts of agents that several hosts define: what people edit and agents note. Files on
-- each of these hosts show them. version grows with every change of any text.
CREATE TABLE texts (
    agent   TEXT    NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    kind    TEXT    NOT NULL,
    version INTEGER NOT NULL UNIQUE,
    body    BLOB    NOT NULL,
    host    TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (agent, kind)
) WITHOUT ROWID;

-- Texts that were changed on two hosts at once: the file (path) of a host that has the one
-- that is not shared.
CREATE TABLE text_conflicts (
    host  TEXT    NOT NULL,
    path  TEXT    NOT NULL,
    agent TEXT    NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    kind  TEXT    NOT NULL,
    at    INTEGER NOT NULL,
    PRIMARY KEY (host, path)
) WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('texts', '0');

PRAGMA user_version = 43;
