package service

import (
	"encoding/json"
	"errors"

	"fika/internal/api"
	"fika/internal/store"
)

// With returns the same service for one write: sent again with the same key, by the same
// principal at the same door, it takes effect once and gives the same ids. An agent's
// key counts within its request. Without a key each call is a new write.
func (c *Service) With(w api.Write) *Service {
	s := c.As(c.who)
	s.write = w
	return s
}

// once returns the store for the transaction of a write, kept under its key if it has
// one. body is what is asked for: another one under the same key is refused (Conflict,
// [store.ErrKeyReused]).
func (c *Service) once(verb string, body ...any) *store.Store {
	if c.write.Key == "" {
		return c.store
	}
	raw, err := json.Marshal(body)
	if err != nil {
		raw = nil // cannot fail for strings, numbers and lists of them
	}
	text := c.write.Key
	if c.who.Kind == api.Agent {
		text = c.who.Request + "/" + text
	}
	return c.store.Once(store.Key{Kind: string(c.who.Kind), Name: c.who.Name, Door: string(c.who.Door), Text: text, Verb: verb, Body: raw})
}

// doneBefore returns the first row of a kind that an earlier call of the same write has
// made; false if err is something else.
func doneBefore(err error, kind store.EventKind) (store.Result, bool) {
	var done *store.Repeated
	if !errors.As(err, &done) {
		return store.Result{}, false
	}
	return done.First(kind)
}
