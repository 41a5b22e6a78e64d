-- +goose Up

-- What a request may do at most: the rights of whoever caused it, as JSON; empty
-- is all. A notification carries them to the request that is made of it. passes is
-- what its turn may cause others to do, when it has begun. taint says what text from
-- outside the request comes from, or its turn has read.
ALTER TABLE requests ADD COLUMN rights TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN passes TEXT NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN taint TEXT NOT NULL DEFAULT '';
ALTER TABLE notifications ADD COLUMN rights TEXT NOT NULL DEFAULT '';

PRAGMA user_version = 9;
