-- +goose Up

-- The home in whose repository the commits of an offer are, and whose hub lands it; '': not known.
ALTER TABLE offers ADD COLUMN host TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 45;
