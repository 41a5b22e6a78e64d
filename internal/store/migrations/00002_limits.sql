-- +goose Up
-- What a person has set for one conversation, as JSON; empty: nothing.
ALTER TABLE conversations ADD COLUMN limits TEXT NOT NULL DEFAULT '';

-- Where a chain began.
ALTER TABLE chains ADD COLUMN conversation TEXT NOT NULL DEFAULT '';

-- The hour in which an agent's turns are counted, and until when it is held
-- because an hour was used up.
ALTER TABLE agents ADD COLUMN hour_start  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN hour_turns  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN held_until  INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN held_reason TEXT    NOT NULL DEFAULT '';

CREATE INDEX usage_agent ON usage (agent, at);
PRAGMA user_version = 2;
