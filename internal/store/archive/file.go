package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/text/safetext"
)

const (
	format    = 1
	maxLine   = 64 << 20
	digestLen = 16 // hexadecimal digits of the SHA-256 in a name
)

// header is the first line of an archive.
type header struct {
	Format int        `json:"fika_archive"`
	Kind   store.Kept `json:"kind"`
	Name   string     `json:"name"`
	Month  string     `json:"month"`
	Rows   int        `json:"rows"`
}

// line is every other line: a row with its columns by name.
type line struct {
	Table  string         `json:"table"`
	Refers bool           `json:"refers,omitempty"` // it stayed in the database: other rows refer to it
	Row    map[string]any `json:"row"`
}

// encode returns a batch as the content of an archive; the same rows give the same bytes.
func encode(b store.Batch) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	put := func(v any) { _ = enc.Encode(v) } // texts, numbers and maps of these
	put(header{format, b.Kind, b.Name, b.Month, b.Count()})
	for i, list := range [][]store.TableRows{b.Refers, b.Tables} {
		for _, t := range list {
			for _, values := range t.Rows {
				l := line{Table: t.Table, Refers: i == 0, Row: map[string]any{}}
				for j, c := range t.Columns {
					l.Row[c] = values[j]
				}
				put(l)
			}
		}
	}
	return out.Bytes()
}

// nameOf returns the name of a batch's archive below archive/, without its ending.
func nameOf(b store.Batch, data []byte) string {
	name := b.Name
	if name == "" {
		name = string(b.Kind)
	}
	sum := sha256.Sum256(data)
	return filepath.Join(string(b.Kind), b.Month, fmt.Sprintf("%s.%s.%s", name, firstOf(b), hex.EncodeToString(sum[:])[:digestLen]))
}

// firstOf names the first row of a batch, so that archives sort by what they hold.
func firstOf(b store.Batch) string {
	for _, of := range []struct{ table, column, form string }{{"requests", "created_at", "20060102-150405"}, {"usage", "at", "20060102-150405"}} {
		for _, t := range b.Tables {
			if i := slices.Index(t.Columns, of.column); t.Table == of.table && i >= 0 {
				ms, _ := t.Rows[0][i].(int64)
				return time.UnixMilli(ms).UTC().Format(of.form)
			}
		}
	}
	for _, t := range b.Tables {
		if i := slices.Index(t.Columns, "seq"); i >= 0 {
			return fmt.Sprintf("%08d", t.Rows[0][i])
		}
	}
	return "0"
}

// decode reads an archive. The error names what is wrong with which line.
func decode(name string, r io.Reader) (refers, list []store.TableRows, err error) {
	bad := func(n int, format string, args ...any) error {
		return fika.Errorf(fika.Invalid, "read archive", "%s:%d: %s", name, n, fmt.Sprintf(format, args...))
	}
	sum := sha256.New()
	in := bufio.NewScanner(io.TeeReader(r, sum))
	in.Buffer(make([]byte, 0, 64<<10), maxLine)
	var head header
	rows, n := 0, 0
	for in.Scan() {
		n++
		if n == 1 {
			if json.Unmarshal(in.Bytes(), &head) != nil || head.Format == 0 {
				return nil, nil, bad(n, "not an archive of fika")
			}
			if head.Format != format {
				return nil, nil, bad(n, "the archive has format %d; this version reads %d", head.Format, format)
			}
			continue
		}
		var l line
		d := json.NewDecoder(bytes.NewReader(in.Bytes()))
		d.UseNumber()
		if err := d.Decode(&l); err != nil || l.Table == "" {
			return nil, nil, bad(n, "not a row of an archive")
		}
		to := &list
		if l.Refers {
			to = &refers
		} else {
			rows++
		}
		if err := addRow(to, l); err != nil {
			return nil, nil, bad(n, "%v", err)
		}
	}
	switch {
	case errors.Is(in.Err(), bufio.ErrTooLong):
		return nil, nil, bad(n+1, "longer than %d MiB", maxLine>>20)
	case in.Err() != nil:
		return nil, nil, fika.Wrap(fika.Storage, "read archive", in.Err())
	case n == 0:
		return nil, nil, bad(1, "the file is empty")
	case rows != head.Rows:
		return nil, nil, bad(n, "the file is cut off: %d of %d rows", rows, head.Rows)
	}
	if parts := strings.Split(strings.TrimSuffix(filepath.Base(name), ".jsonl"), "."); len(parts) > 2 {
		if want := parts[len(parts)-1]; len(want) == digestLen && want != hex.EncodeToString(sum.Sum(nil))[:digestLen] {
			return nil, nil, fika.Errorf(fika.Invalid, "read archive", "%s was changed: its SHA-256 does not begin with %s, as its name says", name, want)
		}
	}
	return refers, list, nil
}

// addRow adds a row to those of its table.
func addRow(list *[]store.TableRows, l line) error {
	columns := make([]string, 0, len(l.Row))
	for c := range l.Row {
		columns = append(columns, c)
	}
	slices.Sort(columns)
	i := slices.IndexFunc(*list, func(t store.TableRows) bool { return t.Table == l.Table })
	if i < 0 {
		i = len(*list)
		*list = append(*list, store.TableRows{Table: l.Table, Columns: columns})
	}
	t := &(*list)[i]
	if !slices.Equal(t.Columns, columns) {
		return fmt.Errorf("the row has other columns than those before it")
	}
	values := make([]any, len(columns))
	for j, c := range columns {
		switch v := l.Row[c].(type) {
		case string:
			values[j] = v
		case json.Number:
			whole, err := v.Int64()
			if err != nil {
				return fmt.Errorf("%s is not an integer", c)
			}
			values[j] = whole
		default:
			return fmt.Errorf("%s is neither text nor an integer", c)
		}
	}
	t.Rows = append(t.Rows, values)
	return nil
}

// describe returns a batch as a person reads it.
func describe(b store.Batch) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s %s, %s\n\n", b.Kind, b.Name, b.Month)
	names := map[string]string{}
	for _, list := range [][]store.TableRows{b.Refers, b.Tables} {
		for _, t := range list {
			eachRow(t, func(at func(string) string) { names[at("id")] = at("name") })
		}
	}
	for _, t := range b.Tables {
		eachRow(t, func(at func(string) string) {
			switch t.Table {
			case "entries":
				fmt.Fprintf(&out, "## %s → %s · #%s · %s · %s\n\n%s\n\n", at("sender"), at("recipient"), at("seq"), at("type"), timeOf(at("at")), strings.TrimRight(at("content"), "\n"))
			case "requests":
				fmt.Fprintf(&out, "- %s %s %s of @%s: %s %s\n", timeOf(at("created_at")), at("kind"), at("id"), names[at("agent")], at("state"), at("reason"))
			case "usage":
				fmt.Fprintf(&out, "- %s @%s %s: %s in, %s out, $%s\n", timeOf(at("at")), names[at("agent")], at("model"), at("input"), at("output"), dollars(at("cost")))
			}
		})
	}
	return []byte(safetext.Clean(out.String()))
}

func eachRow(t store.TableRows, do func(at func(string) string)) {
	for _, values := range t.Rows {
		do(func(column string) string {
			if i := slices.Index(t.Columns, column); i >= 0 {
				return fmt.Sprint(values[i])
			}
			return ""
		})
	}
}

func timeOf(ms string) string {
	var n int64
	_, _ = fmt.Sscan(ms, &n)
	return time.UnixMilli(n).UTC().Format("2006-01-02 15:04:05")
}

// dollars returns a cost in millionths of a dollar as dollars; -1 is an unknown price.
func dollars(micro string) string {
	var n int64
	if _, err := fmt.Sscan(micro, &n); err != nil || n < 0 {
		return "?"
	}
	return fmt.Sprintf("%.6f", float64(n)/1e6)
}
