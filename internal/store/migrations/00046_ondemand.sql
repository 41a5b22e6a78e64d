-- +goose Up

-- Hosts that a command starts when there is work for them, by name: they need not have been up
-- yet. home is the one whose settings have the commands. n counts the changes.
CREATE TABLE on_demand (
    name       TEXT    NOT NULL PRIMARY KEY,
    home       TEXT    NOT NULL,
    n          INTEGER NOT NULL,
    idle_for   INTEGER NOT NULL,
    stops      INTEGER NOT NULL,
    want       TEXT    NOT NULL DEFAULT '',
    state      TEXT    NOT NULL DEFAULT '',
    since      INTEGER NOT NULL DEFAULT 0,
    until      INTEGER NOT NULL DEFAULT 0,
    idle_since INTEGER NOT NULL DEFAULT 0,
    tries      INTEGER NOT NULL DEFAULT 0,
    reason     TEXT    NOT NULL DEFAULT ''
) WITHOUT ROWID;

PRAGMA user_version = 46;
