package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"fika/internal/store"
	"fika/internal/store/pgtest"
)

var servers pgtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	servers.Stop()
	os.Exit(code)
}

// TestTables: the page says of each table what a row is, and on PostgreSQL the tables are
// as it says.
func TestTables(t *testing.T) {
	tables, err := store.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, x := range tables {
		if x.Row == "" || len(x.Columns) == 0 {
			t.Errorf("of %s nothing is said", x.Name)
		}
		for _, c := range x.Columns {
			said[x.Name+"."+c.Name] = c.PostgreSQL
		}
	}
	server := servers.Server(t)
	makeSchema(t, server)
	there, err := server.Texts(t.Context(), `SELECT table_name || '.' || column_name || ' ' || data_type FROM information_schema.columns
WHERE table_schema = 'fika' AND table_name <> 'writers' AND data_type <> 'tsvector'`)
	if err != nil || len(there) < 80 {
		t.Fatal(len(there), err)
	}
	for _, line := range there {
		name, is, _ := strings.Cut(line, " ")
		if said[name] != is {
			t.Errorf("%s is %s, and the page says %q", name, is, said[name])
		}
		delete(said, name)
	}
	if len(said) > 0 {
		t.Errorf("on PostgreSQL there is no %v", said)
	}
}

// makeSchema makes the schema fika, with the tables of a new store, once.
func makeSchema(t *testing.T, server *pgtest.Server) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{URL: server.At(server.Dir, "fika")})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestReadOnlyRoles: the roles of the page read what they may, also what comes later, and
// write nothing.
func TestReadOnlyRoles(t *testing.T) {
	server := servers.Server(t)
	makeSchema(t, server)
	tables, err := store.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{readerRole, figuresRole(tables), `CREATE TABLE fika.later (n BIGINT)`} {
		if err := server.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = server.Exec(context.Background(), `DROP TABLE fika.later`) })
	for role, all := range map[string]bool{"fika_reader": true, "fika_figures": false} {
		q := url.Values{"host": {server.Dir}, "search_path": {"fika"}}
		c, err := pgx.Connect(t.Context(), "postgres://"+role+"@/postgres?"+q.Encode())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.WithoutCancel(t.Context()))
		can := func(text string) bool {
			_, err := c.Exec(t.Context(), text)
			var refused interface{ SQLState() string }
			if err != nil && (!errors.As(err, &refused) || refused.SQLState() != "42501" && refused.SQLState() != "25006") {
				t.Errorf("%s: %s: %v", role, text, err)
			}
			return err == nil
		}
		for _, x := range tables {
			if got := can(fmt.Sprintf(`SELECT * FROM %s LIMIT 1`, x.Name)); got != (all || !x.Words) {
				t.Errorf("%s reads %s: %v", role, x.Name, got)
			}
		}
		if got := can(`SELECT * FROM later`); got != all {
			t.Errorf("%s reads a later table: %v", role, got)
		}
		if _, err := c.Exec(t.Context(), `SET default_transaction_read_only = off`); err != nil { // the rights hold without it
			t.Fatal(err)
		}
		for _, text := range []string{
			`UPDATE agents SET owner = 'me'`, `DELETE FROM usage`, `INSERT INTO meta (key, value) VALUES ('x', 'y')`, `TRUNCATE events`, `CREATE TABLE fika.mine (n BIGINT)`,
			`DROP TABLE fika.later`, `BEGIN; LOCK TABLE agents IN ACCESS EXCLUSIVE MODE; COMMIT`,
		} {
			if can(text) {
				t.Errorf("%s may %s", role, text)
			}
		}
	}
}
