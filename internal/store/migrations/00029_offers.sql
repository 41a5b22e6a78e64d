-- +goose Up

-- What is to land on a branch, in the order in which it was offered.
CREATE TABLE offers (
    n          INTEGER NOT NULL PRIMARY KEY,
    source     TEXT    NOT NULL,
    agent      TEXT    NOT NULL DEFAULT '',
    title      TEXT    NOT NULL DEFAULT '',
    tip        TEXT    NOT NULL,
    target     TEXT    NOT NULL,
    created_by TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    reason     TEXT    NOT NULL DEFAULT '',
    base       TEXT    NOT NULL DEFAULT '',
    old        TEXT    NOT NULL DEFAULT '',
    new        TEXT    NOT NULL DEFAULT '',
    output     TEXT    NOT NULL DEFAULT '',
    asks       TEXT    NOT NULL DEFAULT '',
    accepted   TEXT    NOT NULL DEFAULT '',
    checked_by TEXT    NOT NULL DEFAULT '',
    checked_at INTEGER NOT NULL DEFAULT 0,
    version    INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    ended_at   INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX offers_going ON offers (n) WHERE ended_at = 0;

PRAGMA user_version = 29;
