-- +goose Up

-- The command that has to pass before a task of the board is done, who has to call it good,
-- the request in which that is looked at, how often it came back, and what identifies the
-- work that was handed in last.
ALTER TABLE tasks ADD COLUMN check_cmd TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN review_by TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN review TEXT NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN work TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 36;
