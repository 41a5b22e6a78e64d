-- The agent that was asked, where another one works the request, and why it was
-- handed over to that one.
ALTER TABLE requests ADD COLUMN addressed TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN handed TEXT COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX requests_addressed ON requests (addressed, n) WHERE addressed <> '';

UPDATE meta SET value = '17' WHERE key = 'schema';
