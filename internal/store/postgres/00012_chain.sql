-- What belongs to a chain is found without reading what does not.
CREATE INDEX requests_chain ON requests (chain, n);

UPDATE meta SET value = '12' WHERE key = 'schema';
