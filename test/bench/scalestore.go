package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fika"
)

// The shape of a store of many entries: every tenth turn is in one chat, the others
// are in a hundred. A turn is four entries: a person's message, a tool call, its
// result, the answer.
const (
	bigChat     = "big"
	otherChats  = 100
	turnEntries = 4
	windowKept  = 16 // of the entries of the big chat, two turns of each agent; a compaction holds the rest
)

// grow fills the store of a home, in which nothing runs and the big chat is empty, as
// if that many entries had been said: with requests, steps, notifications, chains,
// usage and an index of words. One transaction writes everything, in the order of
// time, so that the chats are interleaved in the file.
func (h *home) grow(ctx context.Context, entries int) error {
	db, err := h.database("journal_mode(OFF)", "synchronous(0)", "foreign_keys(1)", "cache_size(-524288)", "temp_store(2)")
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, step := range growing(entries/turnEntries, time.Now().Add(-24*time.Hour)) {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("%w in %s", err, step)
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	var mode string
	if err := db.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode); err != nil || mode != "wal" {
		return fmt.Errorf("back to WAL: %q, %w", mode, err)
	}
	if err := db.Close(); err != nil {
		return err
	}
	last, err := h.cutWindow(ctx, windowKept)
	if want := int64(entries / 10); err == nil && last != want {
		err = fmt.Errorf("%d entries in the big chat, not %d", last, want)
	}
	if err != nil {
		return err
	}
	return flush(filepath.Join(h.root, "fika.db"))
}

// flush syncs a file, so that the next measurement does not wait for the data written
// to prepare it.
func flush(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// database opens the home's database with one connection.
func (h *home) database(pragmas ...string) (*sql.DB, error) {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.Join(h.root, "fika.db"), RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err == nil {
		db.SetMaxOpenConns(1) // temporary tables belong to the connection
	}
	return db, err
}

// forgetWords empties the index of words.
func (h *home) forgetWords(ctx context.Context) error {
	db, err := h.database()
	if err != nil {
		return err
	}
	defer db.Close()
	for _, text := range []string{
		`INSERT INTO entries_words (entries_words) VALUES ('delete-all')`,
		`UPDATE meta SET value = '0' WHERE key = 'words_upto'`,
	} {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// wordsKnown returns the last entry in the index of words.
func (h *home) wordsKnown(ctx context.Context) (n int64, err error) {
	db, err := h.database("query_only(1)", "busy_timeout(5000)")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, `SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'words_upto'`).Scan(&n)
	return n, err
}

// id returns an SQL expression for ids like those of fika, which grow with time.
func id(kind int, number string) string {
	return fmt.Sprintf(`printf('%08x-%%04x-7%%03x-8000-%%012x', (%s) >> 12, (%s) & 4095, %s)`, 0x01900000+kind, number, number, number)
}

// growing returns the statements that write turns, the last of them at end.
func growing(turns int, end time.Time) []string {
	const pace = 20_000 // milliseconds from one turn to the next
	first := end.UnixMilli() - int64(turns)*pace
	other := "(g - g / 10 - 1)"
	fill := strings.NewReplacer(
		"TURNS", fmt.Sprint(turns), "OTHERS", fmt.Sprint(otherChats), "BIG", bigChat, "FIRST", fmt.Sprint(first), "PACE", fmt.Sprint(pace),
		"OTHER", other, "NEWCHAT", id(1, "k"), "CHATID", id(1, other+" % 100"),
		"ASKED", id(2, "g * 4"), "CALLED", id(2, "g * 4 + 1"), "RESULT", id(2, "g * 4 + 2"), "ANSWERED", id(2, "g * 4 + 3"), "REQUEST", id(3, "g"),
		"WORDS", `printf('It is about number %d: the %s of the %s was %s before the %s came, and nobody knew why %d of them were %s.', g,
substr('riverbridgegardenwintersummerharbourengine', 1 + g % 36, 6), substr('stonepaperglasscoppersilverwater', 1 + g % 27, 5),
substr('quietlategreenopenclosednarrowwide', 1 + g % 29, 5), substr('trainshipletterguestdoctor', 1 + g % 20, 6), g % 977,
substr('missingbrokenfoundsoldpaintedcounted', 1 + g % 30, 6))`,
	)
	return strings.Split(fill.Replace(growTexts), ";\n")
}

const growTexts = `INSERT INTO conversations (id, name, kind, created_at, updated_at)
WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k + 1 < OTHERS)
SELECT NEWCHAT, printf('room%02d', k), 'chat', FIRST, FIRST FROM n;
CREATE TEMP TABLE turns AS
WITH RECURSIVE n(g) AS (SELECT 0 UNION ALL SELECT g + 1 FROM n WHERE g + 1 < TURNS)
SELECT g, FIRST + g * PACE AS at,
 CASE WHEN g % 10 = 0 THEN (SELECT id FROM conversations WHERE name = 'BIG') ELSE CHATID END AS chat,
 CASE WHEN g % 10 = 0 THEN 'BIG' ELSE printf('room%02d', OTHER % OTHERS) END AS name,
 4 * CASE WHEN g % 10 = 0 THEN g / 10 ELSE OTHER / OTHERS END AS seq,
 CASE WHEN (g / 10) % 2 = 0 THEN 'arya' ELSE 'gendry' END AS agent,
 (SELECT id FROM agents WHERE name = CASE WHEN (g / 10) % 2 = 0 THEN 'arya' ELSE 'gendry' END) AS agent_id,
 ASKED AS asked, CALLED AS called, RESULT AS result, ANSWERED AS answered, REQUEST AS request, WORDS AS words
FROM n;
INSERT INTO chains (root, turns, tokens, cost, started_at, conversation)
SELECT asked, 1, 640, 1200, at + 15, chat FROM turns ORDER BY g;
INSERT INTO requests (id, kind, origin, agent, conversation, chain, depth, asker, upto_seq, state, owner_epoch, payload, outcome, attempts,
 touched, announced_at, created_at, started_at, finished_at)
SELECT request, 'notify', 'queued', agent_id, chat, asked, 0, 'user', seq + 1, 'done', 1, '{}',
 json_object('answer', words, 'entry', answered, 'seq', seq + 4, 'usage', json_object('input', 600, 'output', 40), 'model', 'bench'), 1,
 at + 3000, at + 3050, at + 15, at + 15, at + 3000 FROM turns ORDER BY g;
INSERT INTO entries (conversation, seq, id, at, sender, recipient, content, type, request, reply_to, chain, depth, metadata)
SELECT chat, seq + k, CASE k WHEN 1 THEN asked WHEN 2 THEN called WHEN 3 THEN result ELSE answered END, at + (k - 1) * 1000,
 CASE k WHEN 1 THEN 'user' WHEN 3 THEN 'read' ELSE agent END, CASE k WHEN 2 THEN 'read' WHEN 3 THEN agent ELSE name END,
 CASE k WHEN 1 THEN '@' || agent || ' what became of it? ' || words WHEN 2 THEN '{"path":"notes.md"}' ELSE words END,
 CASE k WHEN 2 THEN 'tool_call' WHEN 3 THEN 'tool_result' ELSE 'message' END,
 CASE k WHEN 1 THEN '' ELSE request END, CASE k WHEN 3 THEN called WHEN 4 THEN asked ELSE '' END, asked, k > 1,
 CASE k WHEN 1 THEN '{"writer":"human","writer_name":"user"}'
 WHEN 2 THEN json_object('writer', 'agent', 'writer_name', agent, 'tool_call_id', 'call_1', 'usage', json_object('input', 300, 'output', 20))
 WHEN 3 THEN '{"writer":"tool","tool_call_id":"call_1"}'
 ELSE json_object('writer', 'agent', 'writer_name', agent, 'usage', json_object('input', 300, 'output', 20), 'final', json('true')) END
FROM turns CROSS JOIN (SELECT 1 AS k UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) ORDER BY g, k;
INSERT INTO notifications (conversation, seq, agent, chain, depth, state, request, created_at)
SELECT chat, seq + 1, agent_id, asked, 0, 'done', request, at FROM turns ORDER BY g;
INSERT INTO steps (request, n, round, kind, call_id, tool, args_hash, effect, state, entry, call_entry, started_at, finished_at)
SELECT request, k, 1 + k / 3, CASE k WHEN 2 THEN 'tool' ELSE 'model' END, CASE k WHEN 2 THEN 'call_1' ELSE '' END, CASE k WHEN 2 THEN 'read' ELSE '' END,
 CASE k WHEN 2 THEN '3e6ed4352fea02500ef01748c6d08494' ELSE '' END, CASE k WHEN 2 THEN 'pure' ELSE '' END, 'done',
 CASE k WHEN 1 THEN called WHEN 2 THEN result ELSE answered END, CASE k WHEN 2 THEN called ELSE '' END, at + k * 1000, at + k * 1000
FROM turns CROSS JOIN (SELECT 1 AS k UNION ALL SELECT 2 UNION ALL SELECT 3) ORDER BY g, k;
INSERT INTO usage (request, n, agent, model, input, output, cached, reasoning, cost, at)
SELECT request, k, agent_id, 'bench', 300, 20, 0, 0, 600, at + k * 1000
FROM turns CROSS JOIN (SELECT 1 AS k UNION ALL SELECT 3) ORDER BY g, k;
INSERT INTO participants (conversation, agent, person, cursor, joined_at)
SELECT chat, agent_id, '', max(seq) + 4, min(at) FROM turns GROUP BY chat, agent_id;
INSERT INTO participants (conversation, agent, person, joined_at) SELECT chat, '', 'user', min(at) FROM turns GROUP BY chat;
UPDATE conversations SET last_seq = t.last, messages = t.last / 2, updated_at = t.at
FROM (SELECT chat, max(seq) + 4 AS last, max(at) + 3000 AS at FROM turns GROUP BY chat) t WHERE t.chat = conversations.id;
INSERT INTO entries_words (rowid, content) SELECT n, content FROM entries WHERE type = 'message' ORDER BY n;
UPDATE meta SET value = (SELECT max(n) FROM entries) WHERE key = 'words_upto';
DROP TABLE turns`

// cutWindow takes all but the newest entries of the big chat out of the window and
// returns how many it took out.
func (h *home) cutWindow(ctx context.Context, keep int64) (int64, error) {
	s, err := h.store(ctx)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	c, err := s.Conversation(ctx, bigChat)
	if err != nil {
		return 0, err
	}
	_, err = s.AppendCompaction(ctx, c.ID, "arya", "earlier entries", fika.EntryMeta{UpTo: c.LastSeq - keep})
	return c.LastSeq, err
}
