package main

import (
	"context"
	"fmt"
	"strings"

	"fika/internal/store"
)

// tablesPage returns the reference of the tables of the database.
func tablesPage() (string, error) {
	tables, err := store.Describe(context.Background())
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# Tables\n\n" + notice)
	b.WriteString(`What is in the database of a home, for whoever reads it with other programs: ` + "`fika.db`" + `, an SQLite file, or the schema of ` + "`[store] url`" + ` on a PostgreSQL server.
` + "`fika store`" + ` says which.

**Read only.** Columns come and go with versions: no name on this page is a promise, and ` + "`--json`" + ` answers and the bus ([bus](bus.md)) are steadier. Do not write: fika
trusts its own rows, so whoever can write them can make agents run what they like. A copy can do no harm: ` + "`fika store backup`" + ` makes one in a file, whatever the database is.

Times are milliseconds since 1970, UTC; 0 is never. Ids are texts. A column that is empty has nothing to say. Larger values are JSON: ` + "`payload`, `outcome`, `metadata`, `limits`, `rights`, `definition`" + ` and the like.

**What is in it.** Everything that was said, to whom it was said, and every argument and result of a tool. API keys that fika knows are taken out before a row is written
([security](../concepts/security.md)), credentials of the bus and of the page are in files and never in rows; a secret that fika does not know is there if a person pasted it or a tool
printed it. The columns marked **words** below are in tables with such texts.

## A role that only reads, on PostgreSQL

As the user that fika connects as, with the schema that ` + "`search_path`" + ` names (here ` + "`fika`" + `):

` + "```sql\n" + readerRole + "```" + `

` + "`ALTER DEFAULT PRIVILEGES`" + ` lets the role read the tables that a later version adds. The time limits are there because a migration waits for whoever reads. Let programs of others
connect as this role, and never as the user of fika.

For figures alone, without anything that was said, grant these tables one by one instead:

` + "```sql\n" + figuresRole(tables) + "```" + `

On SQLite, ` + "`sqlite3 'file:fika.db?mode=ro'`" + ` reads beside a running fika; whoever can read the file reads everything in it, and a program that keeps a transaction open makes
` + "`fika.db-wal`" + ` grow.

`)
	b.WriteString("| table | a row is | key |\n|---|---|---|\n")
	for _, t := range tables {
		words := ""
		if t.Words {
			words = " (**words**)"
		}
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s%s | `%s` |\n", t.Name, t.Name, cell(t.Row), words, strings.Join(t.Key, ", "))
	}
	b.WriteString("\nBesides, `writers` has the last write of each process, SQLite keeps the index of words in tables `entries_words…`, and PostgreSQL in the column `words` of `entries`.\n")
	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n| column | SQLite | PostgreSQL |\n|---|---|---|\n", t.Name)
		for _, c := range t.Columns {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", c.Name, c.SQLite, c.PostgreSQL)
		}
	}
	return b.String(), nil
}

// readerRole makes a role that may read the tables of the schema fika.
const readerRole = `CREATE ROLE fika_reader LOGIN PASSWORD 'choose one';
GRANT USAGE ON SCHEMA fika TO fika_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA fika TO fika_reader;
ALTER DEFAULT PRIVILEGES IN SCHEMA fika GRANT SELECT ON TABLES TO fika_reader;
ALTER ROLE fika_reader SET default_transaction_read_only = on;
ALTER ROLE fika_reader SET statement_timeout = '30s';
ALTER ROLE fika_reader SET idle_in_transaction_session_timeout = '10s';
ALTER ROLE fika_reader SET search_path = fika;
`

// figuresRole makes a role that may read the tables without words.
func figuresRole(tables []store.Table) string {
	var names []string
	for _, t := range tables {
		if !t.Words {
			names = append(names, "fika."+t.Name)
		}
	}
	return "CREATE ROLE fika_figures LOGIN PASSWORD 'choose one';\nGRANT USAGE ON SCHEMA fika TO fika_figures;\nGRANT SELECT ON\n    " +
		strings.Join(names, ",\n    ") + "\n  TO fika_figures;\n"
}
