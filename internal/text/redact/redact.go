package redact

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// shortest is the minimum length, in bytes, of a value that is treated as a key: shorter
// ones occur in texts by chance.
const shortest = 16

// Keys holds the values to replace, with their names. It is safe for concurrent use.
type Keys struct {
	mu     sync.Mutex
	look   func() (values map[string]string, changed bool) // nil: the values never change
	values map[string]string
	now    *patterns // patterns for values; nil: there are none
}

// New returns the Keys for values by name; nil if none is long enough to be treated as a
// key.
func New(values map[string]string) *Keys {
	k := &Keys{}
	if k.learnValues(values); k.now == nil {
		return nil
	}
	return k
}

// NewFollowing returns Keys that call look whenever they are used. A value that was known
// once remains known, because it may still be a key somewhere. look is called by one
// goroutine at a time.
func NewFollowing(look func() (values map[string]string, changed bool)) *Keys {
	return &Keys{look: look}
}

// currentPatterns returns what to look for now, or nil for nothing.
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

// learnValues adds values to the known ones. The caller holds mu, or is the only user of
// k.
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

// Text returns s with its keys replaced.
func (k *Keys) Text(s string) string {
	p := k.currentPatterns()
	if p == nil || !p.holdsKey(s) {
		return s
	}
	return string(p.replaceAll([]byte(s)))
}

// Bytes returns data with its keys replaced.
func (k *Keys) Bytes(data []byte) []byte {
	p := k.currentPatterns()
	if p == nil {
		return data
	}
	return p.replaceAll(data)
}

// FindKey returns the name of a key that s contains, plain or encoded.
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

// FindMark returns the name of a key that was replaced in a text, as its mark shows.
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

// Stream returns a redactor for a text that comes in pieces, with the keys that are known
// now. It holds back the few bytes that may be the beginning of a key.
func (k *Keys) Stream() *Stream { return &Stream{patterns: k.currentPatterns()} }

// Stream is one text in progress; see [Keys.Stream]. The zero value passes everything on.
// It is not safe for concurrent use.
type Stream struct {
	patterns *patterns
	held     []byte
}

// Next takes a piece and returns what can be passed on so far.
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

// End returns what was held back, now that nothing follows.
func (s *Stream) End() []byte {
	if s.patterns == nil {
		return nil
	}
	out, rest := s.patterns.replaceKeys(s.held, true)
	s.held = nil
	return append(out, rest...)
}

// patterns are the forms in which keys occur in texts, all found in one pass over a text.
// Line breaks within a key are ignored after its first bytes, because encoders break long
// lines.
type patterns struct {
	list    []*pattern // longest first: of two with a common beginning the longer one is meant
	first1  [256]bool  // bytes with which some pattern begins
	first2  map[[2]byte][]*pattern
	longest int
}

type pattern struct {
	value []byte
	shown []byte // the mark that replaces it
	name  string
}

const (
	markBegins = "[key "
	// unbroken is how many of the first bytes of a key must be on one line, so that the
	// end of a line is not held back for a byte that may begin a key. A key that is
	// broken earlier is found without these bytes.
	unbroken = 4
)

// newPatterns returns the patterns of names by value.
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

// replaceKeys replaces the keys in data, up to one that may become longer, unless this is
// the end. rest is what follows the last replaced key.
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

// firstKey finds the first key in data, and the longest of those that begin there; nil if
// there is none. flat is data without line breaks, and the position is one in flat.
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

// inOneLine reports whether the first bytes of a key at position at of data contain no
// line break.
func inOneLine(data []byte, at int) bool {
	return !bytes.ContainsAny(data[at:min(at+unbroken, len(data))], "\r\n")
}

// mayBeLonger reports whether flat, which begins with a key of size bytes, may turn out
// to begin with a longer one.
func (p *patterns) mayBeLonger(flat []byte, size int) bool {
	for _, one := range p.first2[[2]byte(flat)] {
		if len(one.value) > size && len(flat) < len(one.value) && bytes.HasPrefix(one.value, flat) {
			return true
		}
	}
	return false
}

// countBegun returns how many of the last bytes of data may be the beginning of a key.
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

// beginsLonger reports whether a pattern longer than tail begins with tail.
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

// dropLineEnds returns data without line breaks; data itself if it has none.
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

// positionBefore returns the position in data of byte n of the data without line breaks.
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
