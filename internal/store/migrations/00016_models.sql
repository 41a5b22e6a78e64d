-- +goose Up

-- Which model a step has asked, and why it was that one of an agent's several;
-- no reason: it is the first of them.
ALTER TABLE steps ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE steps ADD COLUMN choice TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 16;
