-- Which conversations are active, for whoever reads the tables with other programs.
CREATE INDEX conversations_status ON conversations (status, kind);

UPDATE meta SET value = '28' WHERE key = 'schema';
