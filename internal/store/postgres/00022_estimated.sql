-- Whether a provider left out some of the tokens of a call, so that they were estimated.
ALTER TABLE usage ADD COLUMN estimated BIGINT NOT NULL DEFAULT 0;

UPDATE meta SET value = '22' WHERE key = 'schema';
