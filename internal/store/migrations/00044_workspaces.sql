-- +goose Up

-- Where the files are of an agent that another host may go on with: its own (task 0), and
-- those of a task of the board. Written by who holds the agent, but for refused.
CREATE TABLE workspaces (
    agent     TEXT    NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    task      INTEGER NOT NULL,
    host      TEXT    NOT NULL,
    mark      TEXT    NOT NULL DEFAULT '',
    ref       TEXT    NOT NULL DEFAULT '',
    hash      TEXT    NOT NULL DEFAULT '',
    pushed_at INTEGER NOT NULL DEFAULT 0,
    taken_at  INTEGER NOT NULL DEFAULT 0,
    unpushed  TEXT    NOT NULL DEFAULT '',
    refused   TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (agent, task)
) WITHOUT ROWID;

PRAGMA user_version = 44;
