package redact

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// shortest is the fewest bytes of a value that is taken for a key: shorter ones
// occur in texts by chance.
const shortest = 16

// Keys are the values to take out, by name.
type Keys struct{ list []key }

type key struct {
	value []byte
	shown []byte // what stands there instead
	name  string
}

// New makes Keys of values by name; nil when none is long enough to be one.
func New(values map[string]string) *Keys {
	var k Keys
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := strings.TrimSpace(values[name])
		if len(value) < shortest || seen[value] {
			continue
		}
		seen[value] = true
		k.list = append(k.list, key{value: []byte(value), shown: []byte("[key " + name + "]"), name: name})
	}
	if len(k.list) == 0 {
		return nil
	}
	// Of two that begin alike the longer one is meant.
	slices.SortStableFunc(k.list, func(a, b key) int { return cmp.Compare(len(b.value), len(a.value)) })
	return &k
}

// Text is a text without keys.
func (k *Keys) Text(s string) string {
	if _, found := k.Holds(s); !found {
		return s
	}
	return string(k.Bytes([]byte(s)))
}

// Bytes is a text without keys; data itself when it has none.
func (k *Keys) Bytes(data []byte) []byte {
	if k == nil {
		return data
	}
	s := k.Stream()
	return append(s.Next(data), s.End()...)
}

// Holds names a key that a text has in it.
func (k *Keys) Holds(s string) (name string, found bool) {
	if k == nil {
		return "", false
	}
	for _, one := range k.list {
		if strings.Contains(s, string(one.value)) {
			return one.name, true
		}
	}
	return "", false
}

// Stream redacts a text that comes in pieces. It holds back the few bytes that
// may be the beginning of a key.
func (k *Keys) Stream() *Stream { return &Stream{keys: k} }

// Stream is one text under way; see [Keys.Stream]. The zero value passes
// everything on.
type Stream struct {
	keys *Keys
	held []byte
}

// Next takes a piece and gives what can be passed on so far.
func (s *Stream) Next(piece []byte) []byte {
	if s.keys == nil {
		return piece
	}
	data := append(s.held, piece...)
	out, data := s.keys.replace(data, false)
	open := s.keys.begun(data)
	out = append(out, data[:len(data)-open]...)
	s.held = bytes.Clone(data[len(data)-open:])
	return out
}

// End gives what was held back, now that nothing follows it.
func (s *Stream) End() []byte {
	if s.keys == nil {
		return nil
	}
	out, rest := s.keys.replace(s.held, true)
	s.held = nil
	return append(out, rest...)
}

// replace takes the keys out of data, up to one that may become a longer one
// unless this is the end. rest is what follows the last key.
func (k *Keys) replace(data []byte, end bool) (out, rest []byte) {
	for {
		at, found := k.first(data)
		if found == nil || !end && k.unsure(data[at:], len(found.value)) {
			return out, data
		}
		out = append(append(out, data[:at]...), found.shown...)
		data = data[at+len(found.value):]
	}
}

// first finds the first key in data, the longest of those that begin there; nil
// when there is none.
func (k *Keys) first(data []byte) (int, *key) {
	at, found := -1, (*key)(nil)
	for i := range k.list {
		if n := bytes.Index(data, k.list[i].value); n >= 0 && (found == nil || n < at) {
			at, found = n, &k.list[i]
		}
	}
	return at, found
}

// unsure reports whether data, which begins with a key of size bytes, may turn
// out to begin with a longer one.
func (k *Keys) unsure(data []byte, size int) bool {
	for _, one := range k.list {
		if len(one.value) > size && len(data) < len(one.value) && bytes.HasPrefix(one.value, data) {
			return true
		}
	}
	return false
}

// begun is how many of the last bytes may be the beginning of a key, or a whole
// one that may become longer.
func (k *Keys) begun(data []byte) int {
	longest := 0
	for _, one := range k.list {
		for n := min(len(one.value)-1, len(data)); n > longest; n-- {
			if bytes.HasPrefix(one.value, data[len(data)-n:]) {
				longest = n
				break
			}
		}
	}
	return longest
}

// Writer redacts what is written to w. What is held back comes with Close, which
// does not close w. It may be used from many goroutines.
type Writer struct {
	mu     sync.Mutex
	w      io.Writer
	stream *Stream
}

// Writer makes a writer over w.
func (k *Keys) Writer(w io.Writer) *Writer { return &Writer{w: w, stream: k.Stream()} }

// Write implements [io.Writer].
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if out := w.stream.Next(p); len(out) > 0 {
		if _, err := w.w.Write(out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Close writes what was held back.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.w.Write(w.stream.End())
	return err
}
