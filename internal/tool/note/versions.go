package note

import (
	"sync"

	"fika"
)

// Name says which note.
type Name string

// The notes.
const (
	Todos      Name = "todos"
	Goals      Name = "goals"
	Reflection Name = "reflection"
)

// Version stands for what a note said at one moment; "" means that it was
// missing.
type Version string

// Store is where the notes of one context are kept.
type Store interface {
	// Write replaces a note if it still is what seen says. When it is not, the
	// error is of kind Conflict and the text and version are those of now.
	Write(n Name, seen Version, text string) (now string, v Version, err error)
}

// Versions remembers which version of each note a request was shown last. The zero
// value is ready; a note that was never shown counts as missing.
type Versions struct {
	mu   sync.Mutex
	seen map[fika.RequestID]map[Name]Version
}

// MarkSeen notes that the request was shown a version of a note.
func (b *Versions) MarkSeen(r fika.RequestID, n Name, v Version) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen == nil {
		b.seen = map[fika.RequestID]map[Name]Version{}
	}
	if b.seen[r] == nil {
		b.seen[r] = map[Name]Version{}
	}
	b.seen[r][n] = v
}

// Forget drops what is known of a request that is over.
func (b *Versions) Forget(r fika.RequestID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.seen, r)
}

func (b *Versions) last(r fika.RequestID, n Name) Version {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen[r][n]
}
