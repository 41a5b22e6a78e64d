-- +goose Up

-- The sessions that programs which do the turns of agents have of conversations. Until
-- settled, nobody knows how far the prompt of request got.
CREATE TABLE guest_sessions (
    agent        TEXT    NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    conversation TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    program      TEXT    NOT NULL,
    session      TEXT    NOT NULL,
    seen_seq     INTEGER NOT NULL,
    upto_seq     INTEGER NOT NULL,
    request      TEXT    NOT NULL,
    prompt       TEXT    NOT NULL,
    settled      INTEGER NOT NULL,
    cost         INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    PRIMARY KEY (agent, conversation)
);
CREATE INDEX guest_sessions_conversation ON guest_sessions (conversation);

-- A question that a running turn waits for, instead of being suspended.
ALTER TABLE approvals ADD COLUMN held INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 24;
