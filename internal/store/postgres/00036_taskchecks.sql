-- The command that has to pass before a task of the board is done, who has to call it good,
-- the request in which that is looked at, how often it came back, and what identifies the
-- work that was handed in last.
ALTER TABLE tasks ADD COLUMN check_cmd TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN review_by TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN review TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE tasks ADD COLUMN round BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN work TEXT COLLATE "C" NOT NULL DEFAULT '';

UPDATE meta SET value = '36' WHERE key = 'schema';
