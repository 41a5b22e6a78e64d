-- +goose Up

-- The entry up to which what was said may be in an archive and not here any more.
ALTER TABLE conversations ADD COLUMN archived_to INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 20;
