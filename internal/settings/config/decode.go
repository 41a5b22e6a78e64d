package config

import (
	"strings"

	"fika/internal/rights/guard"
	"fika/internal/settings/toml"
)

// reader fills a configuration from one file's tree and records where each key was set.
type reader struct {
	*toml.Source
	where map[string]Place
}

// decodeTable reads t into target by the keys. path is the path of the table, as in
// "nats." or "agents[0].". Keys that are not in the table of keys are passed to rest,
// or reported if rest is nil.
func decodeTable[T any](r *reader, t *table, path string, target *T, keys []key[T], rest func(e *entry) bool) {
	for i := range t.Entries {
		e := &t.Entries[i]
		k := findKey(keys, e.Name)
		if k == nil {
			if rest == nil || !rest(e) {
				r.reportUnknown(e, path, keyNames(keys))
			}
			continue
		}
		at := k.at(target)
		r.where[path+k.name] = r.Place(e.At)
		if r.setValue(at, e.Value, path+k.name, toml.Limits{Unit: k.unit, Min: k.min, Max: k.max, OneOf: k.oneOf}) && k.check != nil {
			if wrong := k.check(e.Value, at); wrong != "" {
				r.Problem(e.Value.At, "%s: %s", k.name, wrong)
			}
		}
	}
}

func findKey[T any](keys []key[T], name string) *key[T] {
	for i := range keys {
		if keys[i].name == name {
			return &keys[i]
		}
	}
	return nil
}

// keyNames returns the names of the keys.
func keyNames[T any](keys []key[T]) []string {
	list := make([]string, 0, len(keys))
	for i := range keys {
		list = append(list, keys[i].name)
	}
	return list
}

// setValue stores v at the pointer. If v does not fit, it reports that and returns
// false.
func (r *reader) setValue(at any, v value, path string, l toml.Limits) bool {
	if ok, done := r.setTable(at, v, path); done {
		return ok
	}
	wrong := assignValue(at, v, l)
	if wrong != "" {
		r.Problem(v.At, "%s %s", lastPart(path), wrong)
	}
	return wrong == ""
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// setTable reads the values that are tables; done is false for all others.
func (r *reader) setTable(at any, v value, path string) (ok, done bool) {
	switch p := at.(type) {
	case *NATS:
		return decodeSub(r, v, path, p, natsKeys()), true
	case *TLS:
		return decodeSub(r, v, path, p, tlsKeys()), true
	case *Master:
		return decodeSub(r, v, path, p, masterKeys()), true
	case *Hub:
		return decodeSub(r, v, path, p, hubKeys()), true
	case *Web:
		return decodeSub(r, v, path, p, webKeys()), true
	case *OTLP:
		return decodeSub(r, v, path, p, otlpKeys()), true
	case *Doors:
		return decodeSub(r, v, path, p, doorKeys()), true
	case *Terminal:
		return decodeSub(r, v, path, p, terminalKeys()), true
	case *Routing:
		return decodeSub(r, v, path, p, routingKeys()), true
	case *Store:
		return decodeSub(r, v, path, p, storeKeys()), true
	case *Keep:
		return decodeSub(r, v, path, p, keepKeys()), true
	case *Chat:
		return decodeSub(r, v, path, p, chatKeys()), true
	case *Board:
		return decodeSub(r, v, path, p, boardKeys()), true
	case *Landing:
		return decodeSub(r, v, path, p, landingKeys()), true
	case *Answer:
		return decodeSub(r, v, path, p, answerKeys()), true
	case *Tools:
		return decodeSub(r, v, path, p, toolKeys()), true
	case *Guard:
		return decodeSub(r, v, path, p, guardKeys()), true
	case *Sandbox:
		return decodeSub(r, v, path, p, sandboxKeys()), true
	case *Resources:
		return decodeSub(r, v, path, p, resourceKeys()), true
	case *Prices:
		return r.readPrices(v, path, p), true
	case **Reserve:
		return r.readReserve(v, path, p), true
	case *[]Budget:
		return r.readBudgets(v, path, p), true
	case *[]ModelRule:
		return r.readModelRules(v, path, p), true
	case *[]Schedule:
		return r.readSchedules(v, path, p), true
	case **Reasoning:
		return r.readReasoning(v, path, p), true
	case *map[string]Plugin:
		return r.readPlugins(v, path, p), true
	case *map[string]OnDemand:
		return r.readOnDemand(v, path, p), true
	case *[]Agent:
		return r.readAgents(v, path, p), true
	case *[]Model:
		return r.readModels(v, path, p), true
	case *[]Executor:
		return r.readExecutors(v, path, p), true
	case *[]MCPServer:
		return r.readMCPServers(v, path, p), true
	case *[]Webhook:
		return r.readWebhooks(v, path, p), true
	case *[]BusMember:
		return r.readBusMembers(v, path, p), true
	case *[]guard.Rule:
		return r.readRules(v, path, p), true
	case *map[string]string:
		return r.readStrings(v, path, p), true
	}
	return false, false
}

func decodeSub[T any](r *reader, v value, path string, target *T, keys []key[T]) bool {
	if !r.isTable(v, path) {
		return false
	}
	decodeTable(r, v.Table, path+".", target, keys, nil)
	return true
}

func (r *reader) isTable(v value, path string) bool {
	if v.Kind != toml.KindTable {
		r.Problem(v.At, "%s must be a table, as in [%s]; this is %s", lastPart(path), path, v.Kind)
		return false
	}
	return true
}

// readTables adds a list of tables to list and records the place of each. An element
// starts as begin returns it (nil: as the zero value), and check is called once its
// keys are read. It reports whether v is such a list.
func readTables[T any](r *reader, v value, path string, list *[]T, keys []key[T], begin func(item value) T, check func(item value, x *T)) bool {
	items, ok := r.listElements(v, path)
	for _, item := range items {
		var x T
		if begin != nil {
			x = begin(item)
		}
		name := elementPath(path, len(*list))
		r.where[name] = r.Place(item.At)
		decodeTable(r, item.Table, name+".", &x, keys, nil)
		check(item, &x)
		*list = append(*list, x)
	}
	return ok
}

// needKey reports wrong for a table that lacks a key.
func (r *reader) needKey(item value, key, wrong string) {
	if item.Table.Get(key) == nil {
		r.Problem(item.At, "%s", wrong)
	}
}
