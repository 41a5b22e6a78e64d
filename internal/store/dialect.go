package store

import (
	"strings"
	"unicode"
)

// dialect is what differs between the SQL engines. All query texts in this
// package are written once, with ? for arguments.
type dialect interface {
	// rebind turns a query text into the engine's own: placeholders, and
	// the row lock asked for by the mark lockRow.
	rebind(query string) string
	// fault says what an error of the driver means for the caller.
	fault(err error) fault
	// matching gives the query that finds entries by words (full text) and the
	// argument made of what a person typed; "" when nothing can match.
	matching(words string) (query, arg string)
}

// fault is the meaning of a driver's error.
type fault int

const (
	faultOther    fault = iota // a mistake of ours, or unknown
	faultBusy                  // others are writing
	faultFull                  // no space left
	faultReadOnly              // may not be written
	faultCorrupt               // not a database, or a damaged one
	faultDisk                  // reading or writing failed
	faultOpen                  // cannot be opened
	faultConn                  // the connection is gone; a new one may work
)

// lockRow marks a SELECT whose row must not change until the transaction
// ends. In SQLite a write transaction has that property anyway.
const lockRow = " /*lock row*/"

// sqliteDialect speaks SQLite.
type sqliteDialect struct{}

func (sqliteDialect) rebind(query string) string { return query }

// matching quotes every word, so that nothing typed is taken for an operator
// of FTS5; a trailing * asks for a beginning.
func (sqliteDialect) matching(words string) (query, arg string) {
	var terms []string
	for _, w := range strings.FieldsFunc(words, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		prefix := strings.HasSuffix(w, "*")
		w = strings.TrimRight(w, "*")
		if w == "" {
			continue
		}
		term := `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
		if prefix {
			term += "*"
		}
		terms = append(terms, term)
	}
	if len(terms) == 0 {
		return "", ""
	}
	return searchSQLite, strings.Join(terms, " ")
}

const searchSQLite = `SELECT ` + entryColumns + `, c.name, snippet(entries_words, 0, '', '', '…', 16)
FROM entries_words
JOIN entries e ON e.n = entries_words.rowid
JOIN conversations c ON c.id = e.conversation
WHERE entries_words MATCH ?
  AND (e.expires_at = 0 OR e.expires_at > ? OR e.pinned = 1)
  AND (? = '' OR c.kind = ?)
  AND (? = '' OR c.agent = ? OR EXISTS (SELECT 1 FROM participants p WHERE p.conversation = c.id AND p.agent = ?))
ORDER BY e.n DESC LIMIT ?`
