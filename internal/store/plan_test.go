package store

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// NewTexts returns a dialect that records all query texts.
func NewTexts() *texts { return &texts{dialect: sqliteDialect{}, all: map[string]bool{}} }

// Listen makes d record the queries of s from now on.
func (d *texts) Listen(s *Store) { s.db.d, s.db.file.d, s.db.file.conn.d = d, d, d }

// texts is a dialect that records all query texts.
type texts struct {
	dialect
	mu  sync.Mutex
	all map[string]bool
	n   int // number of queries
}

// asked returns the number of statements so far.
func (d *texts) asked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

func (d *texts) rebind(query string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	query = d.dialect.rebind(query)
	d.all[query] = true
	d.n++
	return query
}

// statements returns the texts that find rows.
func (d *texts) statements() []string {
	var all []string
	for text := range d.all {
		if first, _, _ := strings.Cut(strings.TrimSpace(text), " "); slices.Contains([]string{"SELECT", "UPDATE", "DELETE", "INSERT", "WITH"}, first) {
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return all
}

// plan returns how the database would find the rows of a text, one step per line.
func plan(t *testing.T, s *Store, text string) []string {
	rows, err := s.db.file.conn.c.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, make([]any, strings.Count(text, "?"))...)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		out = append(out, detail)
	}
	return out
}

// walks lists the texts that may read every row of something, and why.
var walks = []struct{ text, step, why string }{
	{"DELETE FROM agents WHERE id", "", "agents are deleted by hand, and seldom"},
	{"DELETE FROM participants WHERE agent", "SCAN participants", "the same, and participants are few"},
	{"DELETE FROM conversations", "(conversation=?)", "all in it goes"},
	{"DELETE FROM entries", "(conversation=?)", "the same"},
	{"ORDER BY r.n DESC LIMIT", " r", "backwards, until enough are found"},
	{"SELECT depth FROM entries", "(conversation=?)", "backwards, until one is found: a chain that continues is at the end"},
	{"c.messages = 0", "SEARCH e ", "of a chat that has no messages"},
	{"WHERE n.conversation = ? ORDER BY n.seq, n.id", "(conversation=?)", "all of them are asked for"},
	{"u.at / ? AS part", "SCAN x", "what the sum has given"},
	{"SELECT n FROM events ORDER BY n DESC LIMIT 1", "SCAN events", "the last"},
	{"SELECT n, at FROM events ORDER BY n", "SCAN events", "the first thousand, or the last"},
	{"DELETE FROM parked WHERE id <=", "SEARCH parked", "the oldest: this keeps the table small"},
	{"SELECT COALESCE(max(n), 0) FROM entries", "SEARCH entries", "the last"},
	{"SELECT COALESCE(max(n), 0) FROM tasks", "SEARCH tasks", "the last"},
	{"SELECT COALESCE(max(n), 0) FROM offers", "SEARCH offers", "the last"},
	{"SELECT 'a token' FROM tokens", "SCAN participants", "a person makes a token, seldom"},
	{"SELECT t.state, count(*) FROM tasks t", "SCAN t USING COVERING INDEX tasks_ended", "all are counted"},
	{"FROM tasks t WHERE t.state = ?", "SCAN part", "as many as are asked for"},
}

// few matches scans that stay small: small tables, recursions, and indexes of
// exceptions.
var few = regexp.MustCompile(`^SCAN (a|agents|h|u|hosts|duties|od|on_demand|c|d|f|figures|j|k|w|webhooks|v|deliveries|tc|executors|schedules|conversations|brakes|up|down|next\d|entries_words|CONSTANT ROW|\(.*\)|\d+-ROW VALUES|\w+ USING (COVERING )?INDEX (requests_active|requests_busy|notifications_pending|notifications_live|notifications_dropped|approvals_open|inputs_queued|jobs_running|offers_going|tasks_(open|going|listed|claimed)))\b`)

// wide matches steps that read a whole conversation, everything that an agent ever
// did, or all requests of a kind.
var wide = regexp.MustCompile(`^(SCAN|SEARCH \w+$|SEARCH .*(autoindex_(notifications|entries)_1|requests_conversation|requests_agent|requests_kind) \((conversation|agent|kind)=\?\))`)

// Plans keeps all costs independent of the amount ever said: no query that the suite
// makes a store run may read the whole of a growing table, or of a conversation,
// unless it is listed above.
func (d *texts) Plans(t *testing.T) {
	s := openAt(t, Options{Path: filepath.Join(t.TempDir(), "fika.db")})
	all := d.statements()
	if len(all) < 100 {
		t.Skipf("only part of the suite ran: %d texts", len(all))
	}
	for _, text := range all {
		for _, step := range plan(t, s, text) {
			if strings.Contains(text, "MATCH") && strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("a search reads all that it finds: %s: %s", step, text)
			}
			if !wide.MatchString(step) || few.MatchString(step) {
				continue
			}
			if !slices.ContainsFunc(walks, func(w struct{ text, step, why string }) bool {
				return strings.Contains(text, w.text) && strings.Contains(step, w.step)
			}) {
				t.Errorf("%s: %s", step, text)
			}
		}
	}
}
