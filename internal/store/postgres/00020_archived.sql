-- The entry up to which what was said may be in an archive and not here any more.
ALTER TABLE conversations ADD COLUMN archived_to BIGINT NOT NULL DEFAULT 0;

UPDATE meta SET value = '20' WHERE key = 'schema';
