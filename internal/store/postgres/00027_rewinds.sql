CREATE INDEX entries_rewind ON entries (conversation, seq) WHERE type = 'rewind';

UPDATE meta SET value = '27' WHERE key = 'schema';
