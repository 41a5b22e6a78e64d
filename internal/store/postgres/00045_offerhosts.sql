-- The home in whose repository the commits of an offer are, and whose hub lands it; '': not known.
ALTER TABLE offers ADD COLUMN host TEXT COLLATE "C" NOT NULL DEFAULT '';

UPDATE meta SET value = '45' WHERE key = 'schema';
