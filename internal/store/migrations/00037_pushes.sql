-- +goose Up

-- How far what has landed is on its way to the remote, and the command after that to which
-- a person has said yes, and who.
ALTER TABLE offers ADD COLUMN push_state TEXT NOT NULL DEFAULT '';
ALTER TABLE offers ADD COLUMN push TEXT NOT NULL DEFAULT '';
ALTER TABLE offers ADD COLUMN after_ok TEXT NOT NULL DEFAULT '';
ALTER TABLE offers ADD COLUMN after_by TEXT NOT NULL DEFAULT '';
CREATE INDEX offers_landed ON offers (target, ended_at, n) WHERE state = 'landed' AND new <> '';
CREATE INDEX offers_after ON offers (after_ok) WHERE after_ok <> '';

PRAGMA user_version = 37;
