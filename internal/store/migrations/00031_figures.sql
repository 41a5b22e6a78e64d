-- +goose Up

-- Sums of what has been counted, which stay when rows are removed with age.
CREATE TABLE figures (
    name    TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    model   TEXT    NOT NULL,
    tool    TEXT    NOT NULL,
    outcome TEXT    NOT NULL,
    value   INTEGER NOT NULL,
    PRIMARY KEY (name, agent, model, tool, outcome)
) WITHOUT ROWID;

-- How far those have come that read what is committed and go on after a restart.
CREATE TABLE places (
    reader TEXT    NOT NULL PRIMARY KEY,
    place  TEXT    NOT NULL,
    at     INTEGER NOT NULL
) WITHOUT ROWID;

PRAGMA user_version = 31;
