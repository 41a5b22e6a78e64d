package fika_test

import (
	"fmt"
	"testing"

	"fika"
)

// TestCuts: a rewind takes a part out, a later one may take it out as well, and taking one
// back leaves those that it had taken out as they were.
func TestCuts(t *testing.T) {
	cut := func(seq, from, to int64) fika.Entry {
		return fika.Entry{Seq: seq, Type: fika.Rewind, Meta: fika.EntryMeta{Cut: fika.Cut{From: from, To: to}}}
	}
	back := func(seq, of int64) fika.Entry {
		return fika.Entry{Seq: seq, Type: fika.Rewind, Meta: fika.EntryMeta{Undo: of}}
	}
	for _, c := range []struct {
		name    string
		rewinds []fika.Entry
		want    string
		newest  int64
	}{
		{"none", nil, "[]", 0},
		{"one", []fika.Entry{cut(5, 3, 4)}, "[{3 4}]", 5},
		{"taken back", []fika.Entry{cut(5, 3, 4), back(6, 5)}, "[]", 0},
		{"two", []fika.Entry{cut(5, 3, 4), cut(9, 7, 8)}, "[{7 8} {3 4}]", 9},
		{"one over another", []fika.Entry{cut(5, 3, 4), cut(9, 1, 8)}, "[{1 8}]", 9},
		{"the outer is taken back", []fika.Entry{cut(5, 3, 4), cut(9, 1, 8), back(10, 9)}, "[{3 4}]", 5},
		{"the taking back is taken out", []fika.Entry{cut(5, 3, 4), back(6, 5), cut(9, 6, 8)}, "[{6 8} {3 4}]", 9},
		{"in any order", []fika.Entry{cut(9, 7, 8), cut(5, 3, 4)}, "[{7 8} {3 4}]", 9},
		{"one that cannot be", []fika.Entry{cut(5, 3, 9), cut(6, 0, 2), back(7, 99)}, "[]", 0},
		{"another type", []fika.Entry{{Seq: 5, Type: fika.Notice, Meta: fika.EntryMeta{Cut: fika.Cut{From: 1, To: 2}}}}, "[]", 0},
	} {
		if got := fmt.Sprint(fika.CutsOf(c.rewinds)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		newest := int64(0)
		if e := fika.NewestRewind(c.rewinds); e != nil {
			newest = e.Seq
		}
		if newest != c.newest {
			t.Errorf("%s: the newest is %d, want %d", c.name, newest, c.newest)
		}
	}
	cuts := fika.Cuts{{From: 3, To: 4}, {From: 5, To: 8}}
	for seq, want := range map[int64]int64{1: 1, 2: 2, 3: 2, 8: 2, 9: 9} {
		if got := cuts.Before(seq); got != want {
			t.Errorf("before %d: %d, want %d", seq, got, want)
		}
	}
}
