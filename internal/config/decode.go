package config

import (
	"strings"

	"fika/internal/guard"
	"fika/internal/toml"
)

// reader fills a configuration from one file's tree and remembers where each
// key stood.
type reader struct {
	*toml.Source
	where   map[string]Place
	ignored *[]Problem
}

// decode reads t into target by the keys. path is the way to the table, as in
// "nats." or "agents[0].". Keys that are not in the table of keys are left to
// rest, or reported when rest is nil.
func decode[T any](r *reader, t *table, path string, target *T, keys []key[T], rest func(e *entry) bool) {
	for i := range t.Entries {
		e := &t.Entries[i]
		k := find(keys, e.Name)
		if k == nil {
			if rest == nil || !rest(e) {
				r.unknown(e, path, names(keys))
			}
			continue
		}
		if k.ignored != "" {
			*r.ignored = append(*r.ignored, Problem{Place: r.Place(e.At), Message: path + k.name + " does nothing: " + k.ignored})
			continue
		}
		at := k.at(target)
		r.where[path+k.name] = r.Place(e.At)
		if r.set(at, e.Value, path+k.name, toml.Limits{Unit: k.unit, Min: k.min, Max: k.max, OneOf: k.oneOf}) && k.check != nil {
			if wrong := k.check(e.Value, at); wrong != "" {
				r.Problem(e.Value.At, "%s: %s", k.name, wrong)
			}
		}
	}
}

func find[T any](keys []key[T], name string) *key[T] {
	for i := range keys {
		if keys[i].name == name {
			return &keys[i]
		}
	}
	return nil
}

// names are those of the keys that do something.
func names[T any](keys []key[T]) []string {
	list := make([]string, 0, len(keys))
	for i := range keys {
		if keys[i].ignored == "" {
			list = append(list, keys[i].name)
		}
	}
	return list
}

// set stores v at the pointer; it reports what does not fit and then returns
// false.
func (r *reader) set(at any, v value, path string, l toml.Limits) bool {
	if ok, done := r.setTable(at, v, path); done {
		return ok
	}
	wrong := assign(at, v, l)
	if wrong != "" {
		r.Problem(v.At, "%s %s", leaf(path), wrong)
	}
	return wrong == ""
}

func leaf(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// setTable reads the values that are tables; done is false for all others.
func (r *reader) setTable(at any, v value, path string) (ok, done bool) {
	switch p := at.(type) {
	case *NATS:
		return sub(r, v, path, p, natsKeys()), true
	case *TLS:
		return sub(r, v, path, p, tlsKeys()), true
	case *Master:
		return sub(r, v, path, p, masterKeys()), true
	case *Hub:
		return sub(r, v, path, p, hubKeys()), true
	case *Terminal:
		return sub(r, v, path, p, terminalKeys()), true
	case *Store:
		return sub(r, v, path, p, storeKeys()), true
	case *Chat:
		return sub(r, v, path, p, chatKeys()), true
	case *Tools:
		return sub(r, v, path, p, toolKeys()), true
	case *Guard:
		return sub(r, v, path, p, guardKeys()), true
	case *Sandbox:
		return sub(r, v, path, p, sandboxKeys()), true
	case *Prices:
		return r.prices(v, path, p), true
	case **Reasoning:
		return r.reasoning(v, path, p), true
	case *map[string]Plugin:
		return r.plugins(v, path, p), true
	case *[]Agent:
		return r.agents(v, path, p), true
	case *[]Model:
		return r.models(v, path, p), true
	case *[]guard.Rule:
		return r.rules(v, path, p), true
	case *map[string]string:
		return r.strings(v, path, p), true
	}
	return false, false
}

func sub[T any](r *reader, v value, path string, target *T, keys []key[T]) bool {
	if !r.isTable(v, path) {
		return false
	}
	decode(r, v.Table, path+".", target, keys, nil)
	return true
}

func (r *reader) isTable(v value, path string) bool {
	if v.Kind != toml.KindTable {
		r.Problem(v.At, "%s must be a table, as in [%s]; this is %s", leaf(path), path, v.Kind)
		return false
	}
	return true
}
