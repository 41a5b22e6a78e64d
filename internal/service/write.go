package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"fika"
	"fika/internal/api"
	"fika/internal/store"
)

// With returns the same service for one thing that is asked for: asked for again with the
// same key, by the same principal at the same door, it takes effect once and gives the
// same ids. The key of an agent counts within the tool call that the agent speaks
// through. Without a key each call is a new write.
func (c *Service) With(w api.Write) *Service {
	s := c.As(c.who)
	if w.Key != "" {
		s.write = &writing{key: w.Key}
	}
	return s
}

// writing is the key under which a service writes. Of several writes, the n-th has a key
// of its own, which the n-th write of a repeat meets again.
type writing struct {
	key string
	n   atomic.Int64 // number of writes so far
}

// key returns the key of the n-th write; false if the service has none.
func (c *Service) key(n int64, verb string, body []any) (k store.Key, ok bool) {
	if c.write == nil {
		return k, false
	}
	raw, err := json.Marshal(body)
	if err != nil {
		raw = nil // cannot fail for strings, numbers and lists of them
	}
	text := c.write.key
	if n > 1 {
		text = fmt.Sprintf("%s\x00%d", text, n)
	}
	if c.who.Kind == api.Agent {
		text = c.who.Step + "\x00" + text
	}
	return store.Key{Kind: string(c.who.Kind), Name: c.who.Name, Door: string(c.who.Door), Text: text, Verb: verb, Body: raw}, true
}

// nextKey returns the key of the next write.
func (c *Service) nextKey(verb string, body []any) (store.Key, bool) {
	if c.write == nil {
		return store.Key{}, false
	}
	return c.key(c.write.n.Add(1), verb, body)
}

// once does a write. If it has a key, do changes something in one transaction of the
// store that it is given; what it changes elsewhere must bear repeating. If that was done
// before, before returns what do returned then, as it now stands. body is what is asked
// for: another one under the same key is refused (Conflict, [store.ErrKeyReused]).
func once[T any](ctx context.Context, c *Service, verb string, body []any, do func(*store.Store) (T, error), before func(*store.Repeated) (T, error)) (out T, err error) {
	k, ok := c.nextKey(verb, body)
	if !ok {
		return do(c.store)
	}
	done, err := c.store.Known(ctx, k)
	if err == nil && done == nil {
		if out, err = do(c.store.Once(k)); !errors.As(err, &done) {
			return out, err
		}
	}
	if done == nil {
		return out, err
	}
	return before(done)
}

// nothing is what once returns for a write that gives no ids.
type nothing = struct{}

// onceOnly is [once] for a write that returns nothing.
func (c *Service) onceOnly(ctx context.Context, verb string, body []any, do func(*store.Store) error) error {
	_, err := once(ctx, c, verb, body, func(to *store.Store) (nothing, error) { return nothing{}, do(to) },
		func(*store.Repeated) (nothing, error) { return nothing{}, nil })
	return err
}

// wish is what a verb wants outside the database.
type wish struct {
	// want is what state returns once it is done; nil: anything else than before.
	want any
	// state returns what is so now, in a form that can be digested.
	state func() (any, error)
	// do makes it so. It is called again if it was interrupted.
	do func() error
}

// intent does something outside the database. If it has a key, it first commits what it
// found there, and last that it is done: a repeat finishes what was interrupted, and does
// nothing if it was done. It fails with Conflict if, in between, somebody else has made
// it neither as it was nor as it is wanted.
func (c *Service) intent(ctx context.Context, verb string, body []any, w wish) error {
	k, ok := c.nextKey(verb, body)
	if !ok {
		return w.do()
	}
	done, err := c.store.Known(ctx, k)
	if done != nil || err != nil {
		return err
	}
	now, err := w.state()
	if err != nil {
		return err
	}
	found := digest(now)
	before, err := c.store.Intend(ctx, k, found)
	switch {
	case errors.As(err, &done):
		return nil
	case err != nil:
		return err
	case before == "" || before == found:
		if err := w.do(); err != nil {
			return err
		}
	case w.want != nil && digest(w.want) != found:
		return fika.Errorf(fika.Conflict, "", "it was begun before under this key, and changed by somebody else since: check it, and use a new key")
	}
	return c.store.Done(ctx, k)
}

// digest identifies a state.
func digest(state any) string {
	raw, err := json.Marshal(state)
	if err != nil {
		raw = nil // cannot fail for settings
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Intend does something outside the database of which the service knows nothing else,
// such as a command on files. It reports whether do was called: if it was interrupted
// before, it is called again.
func (c *Service) Intend(ctx context.Context, verb string, body []any, do func() error) (did bool, err error) {
	err = c.intent(ctx, verb, body, wish{state: func() (any, error) { return nil, nil }, do: func() error {
		did = true
		return do()
	}})
	return did, err
}
