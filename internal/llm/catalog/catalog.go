// Package catalog knows the context windows, output limits and prices of models that their
// makers publish, each with its source and the day on which that was read.
//
// The table is part of the program, and known-models.toml in the home, of the same form, takes
// its place. What is not in it is not known: nothing is inferred by analogy.
//
// Read first: [Parse], [Table.Find], [Prices.Cost].
package catalog

import (
	"bytes"
	_ "embed"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"fika"
)

// Model is what is known of one model. Zero fields are not known.
type Model struct {
	ID        string  `toml:"id"`             // the maker's name for it
	Host      string  `toml:"host"`           // the maker's domain: elsewhere the prices may differ
	Window    int64   `toml:"context_window"` // tokens of prompt and answer together
	MaxTokens int64   `toml:"max_tokens"`     // the most that one answer can have, reasoning included
	Prices    *Prices `toml:"prices"`
	Source    string  `toml:"source"` // the page that says so
	Read      string  `toml:"read"`   // when it was read: 2026-11-22
}

// Prices are US dollars per million tokens.
type Prices struct {
	Input      float64 `toml:"input"`
	Output     float64 `toml:"output"`
	Cached     float64 `toml:"cached"`      // of input read from the provider's cache
	CacheWrite float64 `toml:"cache_write"` // of input written to it; 0: as Input
	Over       int64   `toml:"over"`        // prompts of more tokens than this cost Long; 0: none do
	Long       *Prices `toml:"long"`
}

// Cost returns what a call costs in micro-dollars. A call that is not free costs at least
// one, so that 0 means either free or unknown.
func (p Prices) Cost(u fika.Usage) int64 {
	if p.Over > 0 && p.Long != nil && u.Input > p.Over {
		p = *p.Long
	}
	write := p.CacheWrite
	if write == 0 {
		write = p.Input
	}
	fresh := max(0, u.Input-u.Cached-u.Written)
	n := float64(fresh)*p.Input + float64(u.Cached)*p.Cached + float64(u.Written)*write + float64(u.Output)*p.Output
	switch {
	case math.IsNaN(n) || n <= 0:
		return 0
	case n < 1:
		return 1
	}
	return int64(math.Round(min(n, 1e18)))
}

// Table is a list of models.
type Table struct{ models map[string]Model }

//go:embed models.toml
var shipped []byte

// Shipped returns the table that is part of the program.
func Shipped() *Table {
	t, err := Parse(shipped)
	if err != nil { // a test parses it
		return &Table{}
	}
	return t
}

// MaxFile bounds the size of a table, in bytes.
const MaxFile = 4 << 20

// Parse reads a table. An Invalid error gives the line of the first mistake.
func Parse(data []byte) (*Table, error) {
	if len(data) > MaxFile {
		return nil, fika.Errorf(fika.Invalid, "", "the table is larger than %d MiB", MaxFile>>20)
	}
	var file struct {
		Models []Model `toml:"model"`
	}
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, explain(err)
	}
	t := &Table{map[string]Model{}}
	for i, m := range file.Models {
		if wrong := m.wrong(); wrong != "" {
			return nil, fika.Errorf(fika.Invalid, "", "model %d (%q): %s", i+1, m.ID, wrong)
		}
		if _, twice := t.models[m.ID]; twice {
			return nil, fika.Errorf(fika.Invalid, "", "model %d: %q is listed twice", i+1, m.ID)
		}
		t.models[m.ID] = m
	}
	if len(t.models) == 0 {
		return nil, fika.Errorf(fika.Invalid, "", "the table has no [[model]]")
	}
	return t, nil
}

// explain names the place of a mistake.
func explain(err error) error {
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		row, col := unknown.Errors[0].Position()
		return fika.Errorf(fika.Invalid, "", "%d:%d: unknown key %s", row, col, strings.Join(unknown.Errors[0].Key(), "."))
	}
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		row, col := wrong.Position()
		return fika.Errorf(fika.Invalid, "", "%d:%d: %s", row, col, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	return fika.Wrap(fika.Invalid, "", err)
}

// wrong says what is wrong with an entry; "" if nothing.
func (m Model) wrong() string {
	_, err := time.Parse(time.DateOnly, m.Read)
	switch {
	case m.ID == "":
		return "id is missing"
	case m.Host == "" || strings.ContainsAny(m.Host, "/: "):
		return "host must be a domain, as in anthropic.com"
	case m.Source == "" || err != nil:
		return "source and read (a day, as in 2026-11-22) are required"
	case m.Window < 0 || m.MaxTokens < 0:
		return "context_window and max_tokens must not be negative"
	case m.Prices != nil && !m.Prices.usable():
		return "prices must not be negative, and over needs long"
	}
	return ""
}

func (p Prices) usable() bool {
	for _, x := range []float64{p.Input, p.Output, p.Cached, p.CacheWrite} {
		if math.IsNaN(x) || x < 0 || x > 1e6 {
			return false
		}
	}
	return p.Over >= 0 && (p.Over > 0) == (p.Long != nil) && (p.Long == nil || p.Long.Long == nil && p.Long.usable())
}

// Find returns what is known of a model: by the maker's name for it, which may end with the
// date of an edition, or by the name that gateways make of that: vendor/name, with dots.
func (t *Table) Find(id string) (Model, bool) {
	if t == nil {
		return Model{}, false
	}
	id = id[strings.LastIndexByte(id, '/')+1:]
	for _, name := range []string{id, undated(id), strings.ReplaceAll(id, ".", "-")} {
		if m, ok := t.models[name]; ok {
			return m, true
		}
	}
	return Model{}, false
}

// Len returns the number of models.
func (t *Table) Len() int { return len(t.models) }

// Newest returns the newest day on which an entry was read, as in 2026-11-22.
func (t *Table) Newest() string {
	day := ""
	for _, m := range t.models {
		day = max(day, m.Read)
	}
	return day
}

// Difference lists models by their makers' names, in order.
type Difference struct{ Added, Removed, Differs []string }

// Compare returns how a table differs from the one before it.
func Compare(was, now *Table) Difference {
	d := Difference{[]string{}, []string{}, []string{}}
	for id, m := range now.models {
		switch old, known := was.models[id]; {
		case !known:
			d.Added = append(d.Added, id)
		case !reflect.DeepEqual(old, m):
			d.Differs = append(d.Differs, id)
		}
	}
	for id := range was.models {
		if _, kept := now.models[id]; !kept {
			d.Removed = append(d.Removed, id)
		}
	}
	for _, ids := range [][]string{d.Added, d.Removed, d.Differs} {
		slices.Sort(ids)
	}
	return d
}

// undated returns an id without the date at its end that names an edition of a model:
// -20251001 or -2025-10-01.
func undated(id string) string {
	for _, form := range []string{"-20060102", "-2006-01-02"} {
		if at := len(id) - len(form); at > 0 {
			if _, err := time.Parse(form, id[at:]); err == nil {
				return id[:at]
			}
		}
	}
	return id
}
