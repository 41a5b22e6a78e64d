-- +goose Up

-- Processes that run tools for agents, by the home and their name.
CREATE TABLE executors (
    id          TEXT    NOT NULL PRIMARY KEY,
    owner       TEXT    NOT NULL DEFAULT '',
    epoch       INTEGER NOT NULL,
    lease       TEXT    NOT NULL DEFAULT '',
    lease_until INTEGER NOT NULL DEFAULT 0,
    seen_at     INTEGER NOT NULL DEFAULT 0,
    runs_as     TEXT    NOT NULL DEFAULT ''
);

-- Tool steps on their way through an executor. The step itself is started; it has
-- its result when the owner of the request has committed what lies here.
CREATE TABLE executions (
    request     TEXT    NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
    n           INTEGER NOT NULL,
    executor    TEXT    NOT NULL,
    epoch       INTEGER NOT NULL,
    call        TEXT    NOT NULL,
    state       TEXT    NOT NULL DEFAULT 'offered',
    lease       TEXT    NOT NULL DEFAULT '',
    attempts    INTEGER NOT NULL DEFAULT 0,
    result      TEXT    NOT NULL DEFAULT '',
    cancel_at   INTEGER NOT NULL DEFAULT 0,
    pid         INTEGER NOT NULL DEFAULT 0,
    pid_start   INTEGER NOT NULL DEFAULT 0,
    boot_id     TEXT    NOT NULL DEFAULT '',
    offered_at  INTEGER NOT NULL,
    claimed_at  INTEGER NOT NULL DEFAULT 0,
    finished_at INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (request, n)
);

CREATE INDEX executions_open ON executions (executor, state, offered_at);

PRAGMA user_version = 13;
