-- +goose Up

-- Commands that run on after the tool call that started them. A row is there before its
-- process is, and ends once.
CREATE TABLE jobs (
    n            INTEGER PRIMARY KEY AUTOINCREMENT,
    id           TEXT    NOT NULL UNIQUE,
    agent        TEXT    NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    request      TEXT    NOT NULL,
    step         INTEGER NOT NULL,
    command      TEXT    NOT NULL,
    description  TEXT    NOT NULL,
    cwd          TEXT    NOT NULL,
    profile      TEXT    NOT NULL,
    taint        TEXT    NOT NULL,
    log          TEXT    NOT NULL,
    lease        TEXT    NOT NULL,
    pid          INTEGER NOT NULL DEFAULT 0,
    pid_start    INTEGER NOT NULL DEFAULT 0,
    boot_id      TEXT    NOT NULL DEFAULT '',
    state        TEXT    NOT NULL,
    exit_code    INTEGER NOT NULL DEFAULT 0,
    reason       TEXT    NOT NULL DEFAULT '',
    end_at       INTEGER NOT NULL DEFAULT 0,
    started_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX jobs_running ON jobs (n) WHERE state = 'running';
CREATE INDEX jobs_agent ON jobs (agent, n);
CREATE INDEX jobs_conversation ON jobs (conversation, n);

PRAGMA user_version = 25;
