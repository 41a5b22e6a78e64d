-- What agents may do by themselves because of what is said here; empty: the settings alone
-- say it.
ALTER TABLE conversations ADD COLUMN mode TEXT COLLATE "C" NOT NULL DEFAULT '';

UPDATE meta SET value = '26' WHERE key = 'schema';
