-- Which lease an agent is held by, and with which a running request was taken:
-- an epoch alone could be counted twice, after a restore or on a server that
-- has lost something.
ALTER TABLE agents ADD COLUMN lease TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE requests ADD COLUMN owner_lease TEXT COLLATE "C" NOT NULL DEFAULT '';

UPDATE meta SET value = '7' WHERE key = 'schema';
