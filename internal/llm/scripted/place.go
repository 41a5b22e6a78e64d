package scripted

import (
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// places records where each rule and its keys are written.
type places struct {
	top   map[string]unstable.Position
	rules []map[string]unstable.Position // the empty key: the rule itself
}

// placeOf returns the place of a rule's key (at the top of the file for -1), or else
// that of the rule.
func (p places) placeOf(rule int, key string) unstable.Position {
	start := unstable.Position{Line: 1, Column: 1}
	keys := p.top
	if rule >= 0 && rule < len(p.rules) {
		keys = p.rules[rule]
	}
	if at, ok := keys[key]; ok {
		return at
	}
	if at, ok := keys[""]; ok {
		return at
	}
	return start
}

func (p places) hasKey(rule int, key string) bool {
	if rule < 0 || rule >= len(p.rules) {
		return false
	}
	_, ok := p.rules[rule][key]
	return ok
}

// locateKeys walks a file that has already been decoded. For rules written as an inline
// array it knows only the place of the array.
func locateKeys(data []byte) places {
	p := places{top: map[string]unstable.Position{}}
	current := p.top
	var parser unstable.Parser
	parser.Reset(data)
	prefix := ""
	for parser.NextExpression() {
		e := parser.Expression()
		key, at, ok := keyOf(&parser, e)
		if !ok {
			continue
		}
		switch e.Kind {
		case unstable.ArrayTable:
			if key == "rule" {
				current = map[string]unstable.Position{"": at}
				p.rules = append(p.rules, current)
				prefix = ""
				continue
			}
			fallthrough
		case unstable.Table:
			prefix = strings.TrimPrefix(key, "rule.") + "."
			rememberFirst(current, prefix, at)
		case unstable.KeyValue:
			rememberFirst(current, prefix+key, at)
		}
	}
	return p
}

// rememberFirst records the first place of a key's first part.
func rememberFirst(m map[string]unstable.Position, key string, at unstable.Position) {
	first, _, _ := strings.Cut(key, ".")
	if _, ok := m[first]; !ok {
		m[first] = at
	}
}

func keyOf(p *unstable.Parser, e *unstable.Node) (string, unstable.Position, bool) {
	var parts []string
	var at unstable.Position
	for it := e.Key(); it.Next(); {
		n := it.Node()
		if len(parts) == 0 {
			at = p.Shape(n.Raw).Start
		}
		parts = append(parts, string(n.Data))
	}
	return strings.Join(parts, "."), at, len(parts) > 0
}
