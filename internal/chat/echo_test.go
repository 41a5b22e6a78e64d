package chat_test

import (
	"fmt"
	"testing"

	"fika"
	"fika/internal/chat"
	"fika/internal/store"
)

// TestEchoes: agents that exchange only letters are noticed when they repeat
// themselves, and nobody else is.
func TestEchoes(t *testing.T) {
	polite := func(from fika.AgentName, _ int) string {
		if from == "arya" {
			return "Thank you so much, gendry!"
		}
		return "You are very welcome. Thank you, arya!"
	}
	const most, far = 6, 12
	for name, tt := range map[string]struct {
		say     func(fika.AgentName, int) string
		between func(r *room, depth int)
		want    int // letters until one is an echo; far+1: never
	}{
		"polite":   {polite, nil, 6},
		"counting": {func(_ fika.AgentName, n int) string { return fmt.Sprintf("this is number %d", n) }, nil, far + 1},
		"something new": {func(from fika.AgentName, n int) string {
			if n == 4 {
				return "by the way, the build is broken since this morning"
			}
			return polite(from, n)
		}, nil, 10},
		"a person in between": {polite, func(r *room, depth int) {
			if depth == 5 {
				r.letter("arya", "ann", fika.ByHuman, "elsewhere", 0, "how nice of you")
			}
		}, 10},
		"a third in between": {polite, func(r *room, depth int) {
			if depth == 5 {
				r.letter("gendry", "hotpie", fika.ByAgent, "root", 5, "and what about me?")
			}
		}, 11},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, "arya", "gendry", "hotpie")
			r.letter("arya", "ann", fika.ByHuman, "root", 0, "say thanks to gendry")
			from, to := fika.AgentName("arya"), fika.AgentName("gendry")
			n := 1
			for ; n <= far; n++ {
				if tt.between != nil {
					tt.between(r, n)
				}
				text := tt.say(from, n)
				row, err := r.store.Agent(t.Context(), to)
				r.ok(err)
				l := chat.Letter{From: from, To: row, Chain: r.root, Depth: n, Text: text}
				echo, err := chat.OnlyEchoes(t.Context(), r.store, l, most)
				r.ok(err)
				if none, err := chat.OnlyEchoes(t.Context(), r.store, l, 0); none || err != nil {
					t.Errorf("switched off: %v, %v", none, err)
				}
				if echo {
					break
				}
				r.letter(to, string(from), fika.ByAgent, "root", n, text)
				from, to = to, from
			}
			if n != tt.want {
				t.Errorf("letter %d is an echo, want %d", n, tt.want)
			}
		})
	}
}

// letter delivers a message; with chain "root", it belongs to the first letter's
// chain.
func (r *room) letter(to fika.AgentName, from string, writer fika.Writer, chain string, depth int, text string) {
	r.Helper()
	row, err := r.store.Agent(r.Context(), to)
	r.ok(err)
	s := store.Send{To: row.ID, From: from, Writer: writer, WriterName: from, Content: text, Depth: depth}
	if chain == "root" {
		s.Chain = r.root
	}
	p, err := r.store.Deliver(r.Context(), s)
	r.ok(err)
	if r.root == "" {
		r.root = p.Entry.Chain
	}
}
