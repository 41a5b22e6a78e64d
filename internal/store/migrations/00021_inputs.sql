-- +goose Up

-- What people say to an agent while it is at work in a chat, until its turn takes it, the
-- turn ends, or they take it back.
CREATE TABLE inputs (
    n            INTEGER PRIMARY KEY AUTOINCREMENT,
    id           TEXT    NOT NULL UNIQUE,
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    agent        TEXT    NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    sender       TEXT    NOT NULL,
    writer       TEXT    NOT NULL,
    content      TEXT    NOT NULL,
    attachments  TEXT    NOT NULL,
    ttl          INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    seq          INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL
);
CREATE INDEX inputs_conversation ON inputs (conversation, agent, state, n);
CREATE INDEX inputs_queued ON inputs (n) WHERE state = 'queued';
CREATE INDEX inputs_agent ON inputs (agent);

PRAGMA user_version = 21;
