-- Which model a step has asked, and why it was that one of an agent's several;
-- no reason: it is the first of them.
ALTER TABLE steps ADD COLUMN model TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE steps ADD COLUMN choice TEXT COLLATE "C" NOT NULL DEFAULT '';

UPDATE meta SET value = '16' WHERE key = 'schema';
