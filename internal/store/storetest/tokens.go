package storetest

import (
	"slices"
	"time"

	"fika"
	"fika/internal/store"
)

var tokenTests = map[string]func(*world){
	"a token is there until it is revoked": func(w *world) {
		made := store.Token{Name: "laptop", Hash: "h1", Doors: []string{"mcp", "metrics"}, Agents: []string{"*"}, By: "ann", Expires: w.clock.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)}
		w.ok(second(w.CreateToken(w.ctx, made)))
		k, found, err := w.TokenOf(w.ctx, "h1")
		w.ok(err)
		equal(w, "found", found, true)
		equal(w, "token", words(k.Name, k.Doors, k.Agents, k.By, k.Expires.Equal(made.Expires), k.Created.IsZero(), k.Used.IsZero()), "laptop [mcp metrics] [*] ann true false true")
		w.refused(second(w.CreateToken(w.ctx, store.Token{Name: "laptop", Hash: "h2", Doors: []string{}, Agents: []string{}})), fika.Conflict)
		w.ok(w.RevokeToken(w.ctx, "laptop"))
		_, found, err = w.TokenOf(w.ctx, "h1")
		w.ok(err)
		equal(w, "found", found, false)
		w.refused(w.RevokeToken(w.ctx, "laptop"), fika.NotFound)
		w.ok(second(w.CreateToken(w.ctx, store.Token{Name: "laptop", Hash: "h3", Doors: []string{}, Agents: []string{}})))
	},
	"a token has nobody's name": func(w *world) {
		w.agent("coder")
		room := w.chat("room")
		w.ok(w.Join(w.ctx, room.ID, "Ann"))
		for _, name := range []string{"coder", "ann"} {
			w.refused(second(w.CreateToken(w.ctx, store.Token{Name: name, Hash: name, Doors: []string{}, Agents: []string{}})), fika.Conflict)
		}
		equal(w, "tokens", len(must(w.ListTokens(w.ctx))(w)), 0)
	},
	"its use is noted once an hour": func(w *world) {
		w.ok(second(w.CreateToken(w.ctx, store.Token{Name: "laptop", Hash: "h", Doors: []string{}, Agents: []string{}})))
		var used []bool
		var last time.Time
		for _, later := range []time.Duration{0, time.Minute, 2 * time.Hour} {
			w.clock.Advance(later)
			k, _, err := w.TokenOf(w.ctx, "h")
			w.ok(err)
			w.ok(w.NoteTokenUse(w.ctx, k))
			k, _, err = w.TokenOf(w.ctx, "h")
			w.ok(err)
			used = append(used, !k.Used.Equal(last))
			last = k.Used
		}
		equal(w, "noted", slices.Equal(used, []bool{true, false, true}), true)
	},
}

func second[T any](_ T, err error) error { return err }
