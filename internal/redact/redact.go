package redact

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// shortest is the fewest bytes of a value that is taken for a key: shorter ones
// occur in texts by chance.
const shortest = 16

// Keys are the values to take out, by name.
type Keys struct {
	mu     sync.Mutex
	look   func() (values map[string]string, changed bool) // nil: they never change
	values map[string]string
	now    *patterns // of values; nil: there are none
}

// New makes Keys of values by name; nil when none is long enough to be one.
func New(values map[string]string) *Keys {
	k := &Keys{}
	if k.learnValues(values); k.now == nil {
		return nil
	}
	return k
}

// NewFollowing makes Keys that ask look whenever they are used. A value that they
// have known once stays one: it may still be a key somewhere. look is called by
// one goroutine at a time.
func NewFollowing(look func() (values map[string]string, changed bool)) *Keys {
	return &Keys{look: look}
}

// currentPatterns returns what to look for now; nil: nothing.
func (k *Keys) currentPatterns() *patterns {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.look != nil {
		if values, changed := k.look(); changed {
			k.learnValues(values)
		}
	}
	return k.now
}

// learnValues adds values to those that are known. The caller holds mu, or k alone.
func (k *Keys) learnValues(values map[string]string) {
	before := len(k.values)
	if k.values == nil {
		k.values = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := strings.TrimSpace(values[name])
		if _, known := k.values[value]; len(value) >= shortest && !known {
			k.values[value] = name
		}
	}
	if len(k.values) > before {
		k.now = newPatterns(k.values)
	}
}

// Text is a text without keys.
func (k *Keys) Text(s string) string {
	p := k.currentPatterns()
	if p == nil || !p.holdsKey(s) {
		return s
	}
	return string(p.replaceAll([]byte(s)))
}

// Bytes is a text without keys; data itself when it has none.
func (k *Keys) Bytes(data []byte) []byte {
	p := k.currentPatterns()
	if p == nil {
		return data
	}
	return p.replaceAll(data)
}

// FindKey names a key that a text has in it, as it is or encoded.
func (k *Keys) FindKey(s string) (name string, found bool) {
	p := k.currentPatterns()
	if p == nil {
		return "", false
	}
	if _, one := p.firstKey([]byte(s), dropLineEnds([]byte(s))); one != nil {
		return one.name, true
	}
	return "", false
}

// FindMark names a key that was taken out of a text: what stands there instead is
// in it.
func (k *Keys) FindMark(s string) (name string, found bool) {
	if p := k.currentPatterns(); p != nil && strings.Contains(s, markBegins) {
		for _, one := range p.list {
			if strings.Contains(s, string(one.shown)) {
				return one.name, true
			}
		}
	}
	return "", false
}

// Stream redacts a text that comes in pieces, with the keys that are known now.
// It holds back the few bytes that may be the beginning of a key.
func (k *Keys) Stream() *Stream { return &Stream{patterns: k.currentPatterns()} }

// Stream is one text under way; see [Keys.Stream]. The zero value passes
// everything on.
type Stream struct {
	patterns *patterns
	held     []byte
}

// Next takes a piece and gives what can be passed on so far.
func (s *Stream) Next(piece []byte) []byte {
	if s.patterns == nil {
		return piece
	}
	data := append(s.held, piece...)
	out, data := s.patterns.replaceKeys(data, false)
	open := s.patterns.countBegun(data)
	out = append(out, data[:len(data)-open]...)
	s.held = bytes.Clone(data[len(data)-open:])
	return out
}

// End gives what was held back, now that nothing follows it.
func (s *Stream) End() []byte {
	if s.patterns == nil {
		return nil
	}
	out, rest := s.patterns.replaceKeys(s.held, true)
	s.held = nil
	return append(out, rest...)
}

// patterns are the forms in which keys occur in texts, all found in one pass
// over a text. Ends of lines within a key do not matter after its first bytes:
// encoders break long lines.
type patterns struct {
	list    []*pattern // longest first: of two that begin alike the longer one is meant
	first1  [256]bool  // bytes with which one begins
	first2  map[[2]byte][]*pattern
	longest int
}

type pattern struct {
	value []byte
	shown []byte // what stands there instead
	name  string
}

const (
	markBegins = "[key "
	// unbroken is how many of the first bytes of a key stand in one line. So the
	// end of a line is not held back for a byte that may begin a key. What is
	// broken earlier is found without these bytes.
	unbroken = 4
)

// newPatterns makes patterns of names by value.
func newPatterns(names map[string]string) *patterns {
	p := &patterns{first2: map[[2]byte][]*pattern{}}
	seen := map[string]bool{}
	for _, value := range slices.Sorted(maps.Keys(names)) {
		name := names[value]
		shown := []byte(markBegins + name + "]")
		for _, form := range writtenForms(value) {
			form := dropLineEnds([]byte(form))
			for from := 0; from < unbroken && len(form)-from >= shortest; from++ {
				if text := string(form[from:]); !seen[text] {
					seen[text] = true
					p.list = append(p.list, &pattern{value: form[from:], shown: shown, name: name})
				}
			}
			p.longest = max(p.longest, len(form))
		}
	}
	slices.SortStableFunc(p.list, func(a, b *pattern) int { return cmp.Compare(len(b.value), len(a.value)) })
	for _, one := range p.list {
		p.first1[one.value[0]] = true
		two := [2]byte(one.value)
		p.first2[two] = append(p.first2[two], one)
	}
	return p
}

func (p *patterns) holdsKey(s string) bool {
	_, found := p.firstKey([]byte(s), dropLineEnds([]byte(s)))
	return found != nil
}

func (p *patterns) replaceAll(data []byte) []byte {
	s := Stream{patterns: p}
	return append(s.Next(data), s.End()...)
}

// replaceKeys takes the keys out of data, up to one that may become a longer one
// unless this is the end. rest is what follows the last key.
func (p *patterns) replaceKeys(data []byte, end bool) (out, rest []byte) {
	flat := dropLineEnds(data)
	for {
		at, found := p.firstKey(data, flat)
		if found == nil || !end && p.mayBeLonger(flat[at:], len(found.value)) {
			return out, data
		}
		from := positionBefore(data, at)
		to := from + positionBefore(data[from:], len(found.value)-1) + 1
		out = append(append(out, data[:from]...), found.shown...)
		data, flat = data[to:], flat[at+len(found.value):]
	}
}

// firstKey finds the first key in data, which is flat when squeezed, the longest of
// those that begin there; nil when there is none.
func (p *patterns) firstKey(data, flat []byte) (int, *pattern) {
	for i := 0; i+1 < len(flat); i++ {
		if !p.first1[flat[i]] {
			continue
		}
		for _, one := range p.first2[[2]byte{flat[i], flat[i+1]}] {
			if bytes.HasPrefix(flat[i:], one.value) && inOneLine(data, positionBefore(data, i)) {
				return i, one
			}
		}
	}
	return -1, nil
}

// inOneLine reports whether no line ends in the first bytes of a key at a place
// of data.
func inOneLine(data []byte, at int) bool {
	return !bytes.ContainsAny(data[at:min(at+unbroken, len(data))], "\r\n")
}

// mayBeLonger reports whether flat, which begins with a key of size bytes, may turn
// out to begin with a longer one.
func (p *patterns) mayBeLonger(flat []byte, size int) bool {
	for _, one := range p.first2[[2]byte(flat)] {
		if len(one.value) > size && len(flat) < len(one.value) && bytes.HasPrefix(one.value, flat) {
			return true
		}
	}
	return false
}

// countBegun is how many of the last bytes of data may be the beginning of a key, or
// a whole one that may become longer.
func (p *patterns) countBegun(data []byte) int {
	flat := dropLineEnds(data)
	for i := max(0, len(flat)-p.longest); i < len(flat); i++ {
		if !p.first1[flat[i]] || !p.beginsLonger(flat[i:]) {
			continue
		}
		if at := positionBefore(data, i); inOneLine(data, at) {
			return len(data) - at
		}
	}
	return 0
}

// beginsLonger reports whether a longer pattern begins with tail.
func (p *patterns) beginsLonger(tail []byte) bool {
	if len(tail) == 1 {
		return true
	}
	for _, one := range p.first2[[2]byte(tail)] {
		if len(tail) < len(one.value) && bytes.HasPrefix(one.value, tail) {
			return true
		}
	}
	return false
}

// dropLineEnds is data without ends of lines; data itself when it has none.
func dropLineEnds(data []byte) []byte {
	if !bytes.ContainsAny(data, "\r\n") {
		return data
	}
	flat := make([]byte, 0, len(data))
	for _, b := range data {
		if b != '\r' && b != '\n' {
			flat = append(flat, b)
		}
	}
	return flat
}

// positionBefore is where byte n of the squeezed data stands in data.
func positionBefore(data []byte, n int) int {
	for i, b := range data {
		if b == '\r' || b == '\n' {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return len(data)
}
