package store

import (
	"context"
	"strconv"

	"fika"
	"fika/internal/system/sleep"
)

// Found is an entry that a search found.
type Found struct {
	fika.Entry
	N                int64 // its place in the order of all entries
	ConversationName fika.ConversationName
	Snippet          string
}

// Search finds messages by words (full text), newest first; at most 50 if f sets no
// limit. It reads no more of the entries than it returns, however many have the words.
func (s Transcripts) Search(ctx context.Context, words string, f ConversationFilter) ([]Found, error) {
	text, arg := s.d.matching(words)
	if text == "" {
		return nil, nil
	}
	if err := s.IndexWords(ctx, 0); err != nil {
		return nil, err
	}
	limit := f.Limit
	if limit <= 0 {
		limit = 50
	}
	all, err := many(ctx, s.r, func(sc scanner) (Found, error) {
		var found Found
		var err error
		found.Entry, err = entryRow(sc, &found.N, &found.ConversationName)
		found.Snippet = snippet(found.Content, words)
		return found, err
	}, text, arg, noLimit(f.Before), s.nowMS(), f.Kind, f.Kind, f.Agent, f.Agent, f.Agent, limit)
	return all, s.explain("search", err)
}

// wordsBatch is how many entries one transaction indexes: it holds up writers for
// about as long as a slow commit.
const wordsBatch = 500

// IndexWords indexes the entries that a search would otherwise index first, in the
// given number of batches of a few hundred entries each, or all of them if batches is
// 0. Without it, a search after a long time is slow.
func (s Transcripts) IndexWords(ctx context.Context, batches int) error {
	const op = "index words"
	if s.file == nil {
		return nil // a server indexes an entry when it is written
	}
	for n := 0; batches == 0 || n < batches; n++ {
		from, err := s.wordsUpto(ctx)
		if err != nil {
			return s.explain(op, err)
		}
		newest, _, err := one(ctx, s.r, scanInt, `SELECT COALESCE(max(n), 0) FROM entries`)
		if err != nil || newest <= from {
			return s.explain(op, err)
		}
		if n > 0 { // by then every waiting writer has tried again
			if err := sleep.For(ctx, lastWait); err != nil {
				return fika.Wrap(fika.Interrupted, op, err)
			}
		}
		if err := s.writeRelaxed(ctx, op, func(ctx context.Context, t *tx) error { return t.indexWords(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

const wordsUpto = `SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'words_upto'`

func (s Transcripts) wordsUpto(ctx context.Context) (int64, error) {
	n, _, err := one(ctx, s.r, scanInt, wordsUpto)
	return n, err
}

// indexWords indexes the next batch of entries.
func (t *tx) indexWords(ctx context.Context) error {
	from, _, err := one(ctx, t, scanInt, wordsUpto)
	if err != nil {
		return err
	}
	to, _, err := one(ctx, t, scanInt, `SELECT COALESCE(max(n), 0) FROM (SELECT n FROM entries WHERE n > ? ORDER BY n LIMIT ?)`, from, wordsBatch)
	if err != nil || to == 0 {
		return err
	}
	if _, err := t.exec(ctx, `INSERT INTO entries_words (rowid, content) SELECT n, content FROM entries
WHERE n > ? AND n <= ? AND type = 'message' ORDER BY n`, from, to); err != nil {
		return err
	}
	_, err = t.exec(ctx, `UPDATE meta SET value = ? WHERE key = 'words_upto'`, strconv.FormatInt(to, 10))
	return err
}
