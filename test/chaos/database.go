package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"
)

// connect opens the database of the home directly, without the program. It exists once
// a command has run.
func (h *home) connect() (*sql.DB, error) {
	if h.url == "" {
		path := filepath.Join(h.root, "fika.db")
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
		if err == nil {
			db.SetMaxOpenConns(1)
		}
		return db, err
	}
	db, err := sql.Open("pgx", h.owner+"&default_query_exec_mode=exec")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	db.SetConnMaxIdleTime(5 * time.Second)
	made := false
	err = db.QueryRow(`SELECT to_regclass('meta') IS NOT NULL`).Scan(&made)
	if err == nil && !made {
		err = errors.New("there are no tables yet")
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Replacers for the parts of queries that differ between engines.
var (
	onSQLite   = strings.NewReplacer("{final}", `json_extract(nullif(metadata, ''), '$.final') = 1`, "{prompt}", `json_extract(payload, '$.prompt')`)
	onPostgres = strings.NewReplacer("{final}", `(CAST(nullif(metadata, '') AS json) ->> 'final' = 'true')`, "{prompt}", `(CAST(payload AS json) ->> 'prompt')`)
)

// sql converts the text of a query for the home's engine. Every ? is an argument,
// wherever it stands.
func (h *home) sql(text string) string {
	if h.url == "" {
		return onSQLite.Replace(text)
	}
	var b strings.Builder
	n := 0
	for _, r := range onPostgres.Replace(text) {
		if r == '?' {
			n++
			b.WriteString("$" + strconv.Itoa(n))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// soundness returns the queries that find damage in the database itself.
func (h *home) soundness() []violation {
	if h.url == "" {
		return []violation{
			{"the database is damaged", `SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'`},
			{"a row points nowhere", `SELECT "table" || ' ' || rowid FROM pragma_foreign_key_check`},
		}
	}
	return []violation{
		// This query fails if an index lacks a row or has one too many.
		{"an index is damaged", `WITH trees AS MATERIALIZED (SELECT c.oid AS tree FROM pg_class c JOIN pg_am m ON m.oid = c.relam WHERE c.relnamespace = CAST(current_schema() AS regnamespace) AND m.amname = 'btree')
SELECT said FROM (SELECT CAST(public.bt_index_check(tree, true) AS text) AS said FROM trees) AS checks WHERE said <> ''`},
		{"a row points nowhere", `SELECT 'entry ' || e.id FROM entries e LEFT JOIN conversations c ON c.id = e.conversation WHERE c.id IS NULL
UNION ALL SELECT 'request ' || r.id FROM requests r LEFT JOIN conversations c ON c.id = r.conversation LEFT JOIN agents a ON a.id = r.agent WHERE c.id IS NULL OR a.id IS NULL
UNION ALL SELECT 'step of ' || s.request FROM steps s LEFT JOIN requests r ON r.id = s.request WHERE r.id IS NULL`},
	}
}

// schema returns the schema of the home's tables on the server.
func (h *home) schema() string {
	u, _ := url.Parse(h.url)
	return u.Query().Get("search_path")
}

// dropDatabase drops the schema of a finished run.
func (h *home) dropDatabase() {
	if h.url != "" {
		_ = h.server.Exec(context.Background(), `DROP SCHEMA IF EXISTS `+h.schema()+` CASCADE`)
	}
}

// dumpDatabase saves the server's data of a red run beside its home.
func (h *home) dumpDatabase() {
	if h.url == "" {
		return
	}
	out, err := exec.Command("pg_dump", "--inserts", "--dbname", "postgres", "--host", h.server.Dir, "--username", "postgres", "--schema", h.schema()).CombinedOutput()
	if err != nil {
		out = append(out, err.Error()...)
	}
	_ = os.WriteFile(filepath.Join(h.dir, "database.sql"), out, 0o600)
}
