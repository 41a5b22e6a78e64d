-- +goose Up

-- The agent that was asked, where another one works the request, and why it was
-- handed over to that one.
ALTER TABLE requests ADD COLUMN addressed TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN handed TEXT NOT NULL DEFAULT '';
CREATE INDEX requests_addressed ON requests (addressed, n) WHERE addressed <> '';

PRAGMA user_version = 17;
