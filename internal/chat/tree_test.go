package chat_test

import (
	"fmt"
	"strings"
	"testing"

	"fika"
	"fika/internal/chat"
)

// TestTree: an answer follows the entry that it answers, and each entry appears once.
func TestTree(t *testing.T) {
	said := func(seq int64, request, replyTo string) fika.Entry {
		return fika.Entry{Seq: seq, ID: fika.EntryID(fmt.Sprint("e", seq)), Request: fika.RequestID(request), ReplyTo: fika.EntryID(replyTo)}
	}
	for name, tt := range map[string]struct {
		entries []fika.Entry
		covers  map[fika.RequestID][]int64
		want    string // level:seq<parent+also
	}{
		"nothing": {nil, nil, ""},
		"two chains at once": {
			[]fika.Entry{said(1, "", ""), said(2, "", ""), said(3, "r", "e1"), said(4, "s", "e2"), said(5, "t", "e3")},
			nil, "0:1 1:3<1 2:5<3 0:2 1:4<2",
		},
		"one answer to three": {
			[]fika.Entry{said(1, "", ""), said(2, "", ""), said(3, "", ""), said(4, "r", "e3")},
			map[fika.RequestID][]int64{"r": {1, 2, 3}}, "0:1 0:2 0:3 1:4<3+1+2",
		},
		"words in the middle of a turn": {
			[]fika.Entry{said(1, "", ""), said(2, "r", ""), said(3, "r", "e1")},
			map[fika.RequestID][]int64{"r": {1}}, "0:1 1:2<1 1:3<1",
		},
		"what is not shown is no parent": {
			[]fika.Entry{said(3, "r", "e1"), said(4, "s", "e3")}, map[fika.RequestID][]int64{"r": {1}}, "0:3 1:4<3",
		},
		"nothing answers itself or what comes later": {
			[]fika.Entry{said(1, "", "e2"), said(2, "", "e2")}, map[fika.RequestID][]int64{"": {1}}, "0:1 0:2",
		},
	} {
		var got []string
		for _, n := range chat.AnswerTree(tt.entries, tt.covers) {
			w := fmt.Sprintf("%d:%d", n.Level, n.Seq)
			if n.Parent > 0 {
				w += fmt.Sprint("<", n.Parent)
			}
			for _, a := range n.Also {
				w += fmt.Sprint("+", a)
			}
			got = append(got, w)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, " "), tt.want)
		}
	}
	// A long chain must not be a problem.
	var long []fika.Entry
	for i := int64(1); i <= 20_000; i++ {
		long = append(long, said(i, "", fmt.Sprint("e", i-1)))
	}
	if nodes := chat.AnswerTree(long, nil); len(nodes) != len(long) || nodes[len(nodes)-1].Level != len(long)-1 {
		t.Errorf("%d nodes", len(nodes))
	}
}
