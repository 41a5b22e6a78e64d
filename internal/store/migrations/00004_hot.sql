-- +goose Up

-- A commit costs a write for each page it touches, so what is written in every
-- turn touches few.

-- The words of messages are indexed by whoever searches, and by the hub now and
-- then, not by whoever writes. words_upto is the last entry of which the index
-- knows; a later one must not be taken out of it. Numbers at the end are given
-- again, so it never lies beyond the last entry.
INSERT INTO meta (key, value) SELECT 'words_upto', COALESCE(max(n), 0) FROM entries;
DROP TRIGGER entries_words_insert;
DROP TRIGGER entries_words_delete;
-- +goose StatementBegin
CREATE TRIGGER entries_words_delete AFTER DELETE ON entries
WHEN old.n <= (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'words_upto')
BEGIN
    INSERT INTO entries_words (entries_words, rowid, content) SELECT 'delete', old.n, old.content WHERE old.type = 'message';
    UPDATE meta SET value = (SELECT COALESCE(max(n), 0) FROM entries WHERE n < old.n)
    WHERE key = 'words_upto' AND CAST(value AS INTEGER) = old.n;
END;
-- +goose StatementEnd

-- Lists sort the few conversations there are.
DROP INDEX conversations_recent;

PRAGMA user_version = 4;
