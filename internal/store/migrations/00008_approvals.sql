-- +goose Up

-- What a person is asked about before a tool call is made. Only one answer
-- counts, and it is good for the step that it was given for.
CREATE TABLE approvals (
    n           INTEGER PRIMARY KEY AUTOINCREMENT,
    request     TEXT    NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
    step        INTEGER NOT NULL,
    tool        TEXT    NOT NULL,
    args        TEXT    NOT NULL,
    workspace   TEXT    NOT NULL DEFAULT '',
    what        TEXT    NOT NULL DEFAULT '',
    rule        TEXT    NOT NULL DEFAULT '',
    bound       TEXT    NOT NULL,
    state       TEXT    NOT NULL DEFAULT 'open',
    answered_by TEXT    NOT NULL DEFAULT '',
    why         TEXT    NOT NULL DEFAULT '',
    asked_at    INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    answered_at INTEGER NOT NULL DEFAULT 0
);

CREATE INDEX approvals_request ON approvals (request, step, n);
CREATE INDEX approvals_open ON approvals (n) WHERE state = 'open';

PRAGMA user_version = 8;
