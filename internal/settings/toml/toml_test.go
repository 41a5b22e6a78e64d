package toml_test

import (
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/settings/toml"
)

func TestRead(t *testing.T) {
	var p toml.Problems
	s := toml.Read("f.toml", []byte("\xef\xbb\xbfa = 1\n[t]\n\"ö\" = [\"x\", {k = true}]\n[[l]]\nn = 1\n[[l]]\nn = 2\n"), &p)
	if err := p.Err("f.toml"); err != nil {
		t.Fatal(err)
	}
	if at := s.Place(s.Root.Get("a").Value.At).String(); at != "f.toml:1:5" {
		t.Errorf("a is at %s", at)
	}
	list := s.Root.Get("t").Value.Table.Get("ö").Value
	if list.Kind != toml.KindList || list.Items[0].Text != "x" || list.Items[1].Table.Get("k").Value.Kind != toml.KindBool {
		t.Errorf("%+v", list)
	}
	if at := s.Place(list.Items[0].At).String(); at != "f.toml:3:8" {
		t.Errorf("x is at %s", at)
	}
	if tables := s.Root.Get("l").Value.Items; len(tables) != 2 || tables[1].Table.Get("n").Value.Text != "2" {
		t.Errorf("%+v", tables)
	}
}

// TestProblems: a syntax error hides nothing in the tables behind it, and the
// error is of kind usage.
func TestProblems(t *testing.T) {
	var p toml.Problems
	s := toml.Read("f.toml", []byte("a = x\n[t]\nb = 1\nb = 2\n"), &p)
	err := p.Err("f.toml")
	if !s.Broken || fika.KindOf(err) != fika.Invalid {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"f.toml:1:5: not valid TOML", "text stands in double quotes", "f.toml:4:1: \"b\" is set twice; the first is in line 3"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nlacks %q", err, want)
		}
	}
}

func TestAssign(t *testing.T) {
	var (
		text string
		n    int
		d    time.Duration
		list []string
	)
	for _, tt := range []struct {
		into any
		v    toml.Value
		l    toml.Limits
		want string
	}{
		{&text, toml.Value{Kind: toml.KindText, Text: "a"}, toml.Limits{}, ""},
		{&text, toml.Value{Kind: toml.KindText, Text: "al"}, toml.Limits{OneOf: []string{"all", "any"}}, `must be one of all, any; this is "al"; did you mean all?`},
		{&n, toml.Value{Kind: toml.KindInt, Text: "7"}, toml.Limits{Max: 5}, "is out of range: from 0 to 5"},
		{&n, toml.Value{Kind: toml.KindText, Text: "7"}, toml.Limits{}, "must be a whole number; this is a text"},
		{&d, toml.Value{Kind: toml.KindText, Text: "1d2h"}, toml.Limits{}, ""},
		{&list, toml.Value{Kind: toml.KindList, Items: []toml.Value{{Kind: toml.KindInt}}}, toml.Limits{}, "must be a list of texts; one of them is a whole number"},
	} {
		if got := toml.Assign(tt.into, tt.v, tt.l); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.v, got, tt.want)
		}
	}
	if text != "a" || d != 26*time.Hour {
		t.Errorf("%q, %s", text, d)
	}
}

// FuzzRead: whatever stands in a file, there is a tree, and every place in it
// is inside the file.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"", "a = 1", "[a]\nb = x\n[[c]]\nd = {e = [1, \"2\"]}", "\xef\xbb\xbf[x", "a.b = 1\na = 2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var p toml.Problems
		s := toml.Read("f", []byte(text), &p)
		lines := strings.Count(text, "\n") + 1
		for _, q := range p.List {
			if q.Line > lines || q.Message == "" {
				t.Errorf("%q: %s", text, q)
			}
		}
		for _, e := range s.Root.Entries {
			if at := s.Place(e.At); at.Line < 1 || at.Line > lines || at.Column < 1 {
				t.Errorf("%q: %s is at %s", text, e.Name, at)
			}
		}
	})
}

// FuzzDuration: a duration is refused, or is one that a file may ask for and that
// can be written and read again.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"90s", "7d", "1d12h", "1.5d", "-1s", "NaNd", "1e9d", "0x10d", "3650d1ns", "9223372036854775807ns", "d", "1d-1h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, ok := toml.ParseDuration(text)
		if !ok {
			return
		}
		if d < 0 || d > 3650*24*time.Hour {
			t.Fatalf("%q is %s", text, d)
		}
		if again, ok := toml.ParseDuration(d.String()); !ok || again != d {
			t.Fatalf("%q is %s, and that is %s, %t", text, d, again, ok)
		}
	})
}
