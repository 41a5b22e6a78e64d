package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reader fills a configuration from one file's tree and remembers where each
// key stood.
type reader struct {
	*source
	where   map[string]Place
	ignored *[]Problem
}

// decode reads t into target by the keys. path is the way to the table, as in
// "nats." or "agents[0].". Keys that are not in the table of keys are left to
// rest, or reported when rest is nil.
func decode[T any](r *reader, t *table, path string, target *T, keys []key[T], rest func(e *entry) bool) {
	for i := range t.entries {
		e := &t.entries[i]
		k := find(keys, e.name)
		if k == nil {
			if rest == nil || !rest(e) {
				r.unknown(e, path, names(keys))
			}
			continue
		}
		if k.ignored != "" {
			*r.ignored = append(*r.ignored, Problem{Place: r.place(e.at), Message: path + k.name + " does nothing: " + k.ignored})
			continue
		}
		at := k.at(target)
		r.where[path+k.name] = r.place(e.at)
		if r.set(at, e.val, path+k.name, limits{k.unit, k.min, k.max, k.oneOf}) && k.check != nil {
			if wrong := k.check(e.val, at); wrong != "" {
				r.problem(e.val.at, "%s: %s", k.name, wrong)
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

// limits are what is checked of a scalar.
type limits struct {
	unit  time.Duration
	min   float64
	max   float64
	oneOf []string
}

func (l limits) check(f float64) string {
	switch {
	case f < l.min && l.max > 0, l.max > 0 && f > l.max:
		return fmt.Sprintf("is out of range: from %s to %s", number(l.min), number(l.max))
	case f < l.min:
		return fmt.Sprintf("is too small: at least %s", number(l.min))
	}
	return ""
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// set stores v at the pointer; it reports what does not fit and then returns
// false.
func (r *reader) set(at any, v value, path string, l limits) bool {
	if ok, done := r.setTable(at, v, path); done {
		return ok
	}
	wrong := assign(at, v, l)
	if wrong != "" {
		r.problem(v.at, "%s %s", leaf(path), wrong)
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
	case *Store:
		return sub(r, v, path, p, storeKeys()), true
	case *Chat:
		return sub(r, v, path, p, chatKeys()), true
	case *Tools:
		return sub(r, v, path, p, toolKeys()), true
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
	case *map[string]string:
		return r.strings(v, path, p), true
	}
	return false, false
}

func sub[T any](r *reader, v value, path string, target *T, keys []key[T]) bool {
	if !r.isTable(v, path) {
		return false
	}
	decode(r, v.table, path+".", target, keys, nil)
	return true
}

func (r *reader) isTable(v value, path string) bool {
	if v.kind != tableKind {
		r.problem(v.at, "%s must be a table, as in [%s]; this is %s", leaf(path), path, v.kind)
		return false
	}
	return true
}

// assign stores a scalar or a list of texts. The answer says what is wrong, as
// the end of a sentence that begins with the key.
func assign(at any, v value, l limits) string {
	switch p := at.(type) {
	case *string:
		return assignText(p, v, l)
	case *bool:
		if v.kind != boolKind {
			return "must be true or false; this is " + v.kind.String()
		}
		*p = v.text == "true"
	case *int:
		n, wrong := whole(v, l)
		if wrong != "" {
			return wrong
		}
		*p = int(n)
	case *int64:
		n, wrong := whole(v, l)
		if wrong != "" {
			return wrong
		}
		*p = n
	case *float64:
		f, wrong := fraction(v, l)
		if wrong != "" {
			return wrong
		}
		*p = f
	case *MicroDollars:
		f, wrong := fraction(v, l)
		if wrong != "" {
			return wrong
		}
		*p = MicroDollars(math.Round(f * 1e6))
	case *time.Duration:
		return assignDuration(p, v, l)
	case *[]string:
		return assignTexts(p, v)
	}
	return ""
}

func assignText(p *string, v value, l limits) string {
	if v.kind != textKind {
		return "must be a text in quotes; this is " + v.kind.String()
	}
	if len(l.oneOf) > 0 && !slices.Contains(l.oneOf, v.text) {
		return fmt.Sprintf("must be one of %s; this is %s%s", strings.Join(l.oneOf, ", "), quote(v.text), meant(v.text, l.oneOf))
	}
	*p = v.text
	return ""
}

func assignTexts(p *[]string, v value) string {
	if v.kind != listKind {
		return "must be a list of texts, as in [\"a\", \"b\"]; this is " + v.kind.String()
	}
	list := make([]string, 0, len(v.items))
	for _, item := range v.items {
		if item.kind != textKind {
			return "must be a list of texts; one of them is " + item.kind.String()
		}
		list = append(list, item.text)
	}
	*p = list
	return ""
}

func whole(v value, l limits) (int64, string) {
	if v.kind != intKind {
		return 0, "must be a whole number; this is " + v.kind.String()
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(v.text, "+"), 0, 64)
	if err != nil {
		return 0, "is not a number fika can hold"
	}
	return n, l.check(float64(n))
}

// maxMoney bounds prices and budgets, so that sums of micro-dollars cannot
// overflow.
const maxMoney = 1e9

func fraction(v value, l limits) (float64, string) {
	if v.kind != intKind && v.kind != floatKind {
		return 0, "must be a number; this is " + v.kind.String()
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(v.text, "_", ""), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f > maxMoney {
		return 0, "is not a number fika can hold"
	}
	return f, l.check(f)
}
