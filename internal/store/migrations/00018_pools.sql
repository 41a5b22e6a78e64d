-- +goose Up

-- A pool is an agent without a process, of which others are members.
ALTER TABLE agents ADD COLUMN pool TEXT NOT NULL DEFAULT '';
ALTER TABLE agents ADD COLUMN instances INTEGER NOT NULL DEFAULT 0;
CREATE INDEX agents_pool ON agents (pool) WHERE pool <> '';

-- Whom of a pool a person speaks to, from the first ask until a reset.
CREATE TABLE bindings (
    pool     TEXT    NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    person   TEXT    NOT NULL,
    member   TEXT    NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    bound_at INTEGER NOT NULL,
    PRIMARY KEY (pool, person)
);
CREATE INDEX bindings_member ON bindings (member);

PRAGMA user_version = 18;
