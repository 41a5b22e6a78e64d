-- +goose Up

-- What was done about the schedules that settings define, by their names.
-- timing and body say which definition that was; home made the row, and whose
-- definition changes, changes it. next_at is when something is due: whoever
-- begins it moves that in the same commit.
CREATE TABLE schedules (
    name       TEXT    NOT NULL PRIMARY KEY,
    home       TEXT    NOT NULL,
    timing     TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    next_at    INTEGER NOT NULL,
    paused_at  INTEGER NOT NULL DEFAULT 0,
    planned_at INTEGER NOT NULL DEFAULT 0,
    begun_at   INTEGER NOT NULL DEFAULT 0,
    missed     INTEGER NOT NULL DEFAULT 0,
    request    TEXT    NOT NULL DEFAULT '',
    chat       TEXT    NOT NULL DEFAULT '',
    seq        INTEGER NOT NULL DEFAULT 0,
    trouble    TEXT    NOT NULL DEFAULT '',
    trouble_at INTEGER NOT NULL DEFAULT 0
);

PRAGMA user_version = 15;
