-- The bus that a host's hub uses: the prefix of its subjects and the address of its server.
ALTER TABLE hosts ADD COLUMN bus TEXT COLLATE "C" NOT NULL DEFAULT '';

UPDATE meta SET value = '39' WHERE key = 'schema';
