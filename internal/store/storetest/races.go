package storetest

import (
	"fmt"
	"sync"

	"fika"
	"fika/internal/store"
)

// together runs fn n times at once and waits for all of them.
func together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
}

var raceTests = map[string]func(*world){
	"each piece of work is claimed once": func(w *world) {
		const work = 40
		l := w.lease("coder")
		for i := range work {
			w.accept(fika.TaskRequest, l.Agent, fmt.Sprint(i))
		}
		var mu sync.Mutex
		seen := map[fika.RequestID]int{}
		together(8, func(int) {
			for {
				c, err := w.Claim(w.ctx, l, store.Limits{}, nil)
				if err != nil {
					w.Error(err)
					return
				}
				if c == nil {
					return
				}
				mu.Lock()
				seen[c.Request.ID]++
				mu.Unlock()
				if _, err := w.Finish(w.ctx, c.Fence, store.Finish{State: fika.Done}); err != nil {
					w.Error(err)
				}
			}
		})
		equal(w, "requests", len(seen), work)
		for id, n := range seen {
			if n != 1 {
				w.Errorf("%s was claimed %d times", id, n)
			}
		}
	},
	"seqs are gapless under contention": func(w *world) {
		room := w.chat("room")
		together(8, func(i int) {
			for range 20 {
				if _, err := w.Post(w.ctx, store.Post{Conversation: room.ID, From: fmt.Sprint("u", i), Writer: fika.ByHuman, Content: "x"}); err != nil {
					w.Error(err)
				}
			}
		})
		equal(w, "entries", len(w.entries(room.ID)), 160)
		w.whole(room.ID)
	},
	"one acceptance per id": func(w *world) {
		a := w.agent("coder")
		var mu sync.Mutex
		fresh := 0
		together(8, func(int) {
			acc, err := w.Accept(w.ctx, store.NewRequest{ID: "same", Kind: fika.AskRequest, Agent: a.ID, Payload: fika.Payload{Prompt: "x"}})
			if err != nil {
				w.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if !acc.Repeat {
				fresh++
			}
		})
		equal(w, "accepted", fresh, 1)
	},
	"one finish wins": func(w *world) {
		c := w.begin(w.lease("coder"), "x")
		var mu sync.Mutex
		won := 0
		together(8, func(int) {
			_, err := w.Finish(w.ctx, c.Fence, store.Finish{State: fika.Done, Final: &store.ModelCommit{Round: 1, Text: "x"}})
			if err != nil && !fika.IsKind(err, fika.Lost) {
				w.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			}
		})
		equal(w, "winners", won, 1)
		equal(w, "entries", len(w.entries(c.Conversation.ID)), 2)
	},
	"one owner at a time": func(w *world) {
		a := w.agent("coder")
		var mu sync.Mutex
		won := 0
		together(8, func(i int) {
			_, err := w.Acquire(w.ctx, a.ID, fmt.Sprint("p", i), 1<<40, false)
			if err != nil && !fika.IsKind(err, fika.Locked) {
				w.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			}
		})
		equal(w, "owners", won, 1)
	},
}
