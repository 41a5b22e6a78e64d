package compaction

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"fika"
)

func TestParseChoiceFindsTheArrayWhereverItIs(t *testing.T) {
	for answer, want := range map[string][]string{
		"[1, 2, 3]": {"1", "2", "3"},
		"Sure! Here [as asked] it is:\n```json\n[\"4\", 5]\n```\nAnything else?": {"4", "5"},
		`{"archive": [7, 8], "keep": [1]}`:                                       {"7", "8"},
		`[{"id": "abc"}, {"seq": 9}, {"x": 1}]`:                                  {"abc", "9"},
		`["[12]", "#13", null, true]`:                                            {"12", "13"},
		"[]":                                                                     nil,
		"":                                                                       nil,
		"[1, 2":                                                                  nil,
		"[[1],[2,3]]":                                                            {"2", "3"},
		"none of them, I think [sic]":                                            nil,
		strings.Repeat("[", 1200) + "1" + strings.Repeat("]", 1200): nil,
	} {
		if got := ParseChoice(answer); !slices.Equal(got, want) {
			t.Errorf("%.60q: got %q, want %q", answer, got, want)
		}
	}
}

func FuzzParseChoice(f *testing.F) {
	f.Add("Sure: [1, \"2\", {\"seq\": 3}]")
	f.Add("[[[[")
	f.Fuzz(func(t *testing.T, s string) {
		for _, id := range ParseChoice(s) {
			if len(id) > len(s)+8 {
				t.Errorf("%q from %q", id, s)
			}
		}
	})
}

// units makes units of so many entries each.
func units(sizes ...int) []Unit {
	var out []Unit
	seq := int64(0)
	for _, n := range sizes {
		u := Unit{Tokens: int64(10 * n)}
		for range n {
			seq++
			u.Entries = append(u.Entries, fika.Entry{Seq: seq})
		}
		out = append(out, u)
	}
	return out
}

func TestRollingArchivesTheChosenThenTheOldestUntilItFits(t *testing.T) {
	for _, c := range []struct {
		name   string
		keep   []int
		drop   float64
		room   int64
		chosen []int
		want   []int // units archived
	}{
		{"the oldest half", nil, 50, 1000, nil, []int{0, 1}},
		{"what the model chose", nil, 50, 1000, []int{1, 2}, []int{1, 2}},
		{"too little was chosen", nil, 50, 1000, []int{2}, []int{0, 2}},
		{"the newest is not for choice", nil, 25, 1000, []int{4}, []int{0}},
		{"until it fits", nil, 10, 25, nil, []int{0, 1, 2}},
		{"even the newest", nil, 10, 5, nil, []int{0, 1, 2, 3, 4}},
		{"but not what waits", []int{1, 4}, 100, -5, []int{1}, []int{0, 2, 3}},
		{"all but the newest", nil, 100, 1000, nil, []int{0, 1, 2, 3}},
	} {
		list := units(2, 2, 2, 1, 1)
		for _, i := range c.keep {
			list[i].Keep = true
		}
		chosen := map[int]bool{}
		for _, i := range c.chosen {
			chosen[i] = true
		}
		p := PlanRolling(list, c.drop, c.room, chosen)
		var got []int
		for _, u := range p.Archive {
			for i := range list {
				if list[i].Entries[0].Seq == u.Entries[0].Seq {
					got = append(got, i)
				}
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: archived %v, want %v", c.name, got, c.want)
		}
	}
}

// A rolling compaction that archives only what an earlier one kept must not
// bring back what that had archived.
func TestWhatWasArchivedStaysArchived(t *testing.T) {
	list := units(1, 1, 1)
	list[0].Entries[0].Seq, list[1].Entries[0].Seq, list[2].Entries[0].Seq = 50, 60, 101
	upTo, kept := PlanRolling(list, 30, 1000, map[int]bool{0: true}).entryMarks(100)
	if upTo != 100 || !slices.Equal(kept, []int64{60}) {
		t.Errorf("got %d, %v", upTo, kept)
	}
}

func TestDivideKeepsWhatNobodyHasRead(t *testing.T) {
	list := DivideUnits([]fika.Entry{
		{Seq: 1}, {Seq: 2, Request: "a"}, {Seq: 3}, {Seq: 4, Request: "a"}, {Seq: 5},
	}, 2, false)
	var kept []int64
	for _, u := range list {
		if u.Keep {
			kept = append(kept, u.Entries[0].Seq)
		}
	}
	if len(list) != 4 || !slices.Equal(kept, []int64{3, 5}) {
		t.Errorf("%d units, kept %v", len(list), kept)
	}
}

// Texts are cut between characters, wherever the limit falls.
func TestCuttingKeepsCharactersWhole(t *testing.T) {
	text := strings.Repeat("añ日🙂", 100)
	for most := range 200 {
		for _, got := range []string{clipBytes(text, most), shortenMiddle(text, most)} {
			if !utf8.ValidString(got) {
				t.Fatalf("%d: %q", most, got)
			}
		}
	}
}
