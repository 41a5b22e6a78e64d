-- +goose Up

-- Who has offered work in which request, and in which it is worked on after it came back.
ALTER TABLE offers ADD COLUMN request TEXT NOT NULL DEFAULT '';
ALTER TABLE offers ADD COLUMN chain TEXT NOT NULL DEFAULT '';
ALTER TABLE offers ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
ALTER TABLE offers ADD COLUMN rights TEXT NOT NULL DEFAULT '';
ALTER TABLE offers ADD COLUMN taint TEXT NOT NULL DEFAULT '';
ALTER TABLE offers ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
ALTER TABLE offers ADD COLUMN rework TEXT NOT NULL DEFAULT '';
CREATE INDEX offers_agent ON offers (agent, n);

PRAGMA user_version = 33;
