package note

import (
	"sync"

	"fika"
)

// Name is the name of a note.
type Name string

// The notes.
const (
	Todos      Name = "todos"
	Goals      Name = "goals"
	Reflection Name = "reflection"
)

// Version identifies what a note said at one moment; "" means that the note did not
// exist.
type Version string

// Store keeps the notes of one context.
type Store interface {
	// Write replaces a note if its version still is seen. Otherwise the error is of kind
	// Conflict, and text and version are the current ones.
	Write(n Name, seen Version, text string) (now string, v Version, err error)
}

// Versions remembers which version of each note a request was last shown. The zero value
// is ready to use; a note that was never shown counts as missing.
type Versions struct {
	mu   sync.Mutex
	seen map[fika.RequestID]map[Name]Version
}

// MarkSeen records that the request was shown a version of a note.
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

// Forget drops everything about a request that is over.
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
