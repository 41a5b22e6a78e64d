package folder

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"
)

const (
	// settled is how long ago a file must have been written for its time to say
	// that nothing was written since: file systems count in steps.
	settled = 50 * time.Millisecond
	// remembered bounds what a home keeps of its texts, in bytes.
	remembered = 1 << 20
)

// texts are the texts of a home that were read, with what the file system said
// of each file then. It may be used from many goroutines.
type texts struct {
	mu    sync.Mutex
	known map[string]knownText
	bytes int
}

type knownText struct {
	info fs.FileInfo
	text Text
}

// WithCache gives the same home, which reads a prompt or a text of a context
// again only when its file has another size, time or inode than before. It is
// for a process that reads them before every turn. Nothing that is written
// depends on what is remembered.
func (h Home) WithCache() Home {
	h.texts = &texts{known: map[string]knownText{}}
	return h
}

// readText reads a text, or remembers it. A missing file is an empty Text.
func (h Home) readText(path string) (Text, error) {
	if h.texts == nil {
		return readText(path)
	}
	return h.texts.readText(path)
}

func (t *texts) readText(path string) (Text, error) {
	info, err := os.Stat(path) // before reading: a change meanwhile is seen next time
	if errors.Is(err, fs.ErrNotExist) {
		return Text{}, nil
	}
	if err != nil || time.Since(info.ModTime()) < settled {
		return readText(path)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if k, ok := t.known[path]; ok && fileUnchanged(k.info, info) {
		return k.text, nil
	}
	text, err := readText(path)
	if err == nil {
		t.keepText(path, knownText{info, text})
	}
	return text, err
}

func fileUnchanged(before, now fs.FileInfo) bool {
	return os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime()) && before.Mode() == now.Mode()
}

// keepText remembers a text; mu is held.
func (t *texts) keepText(path string, k knownText) {
	if t.bytes += len(k.text.Body); t.bytes > remembered {
		clear(t.known) // read again by whoever needs them
		t.bytes = len(k.text.Body)
	}
	if t.bytes <= remembered {
		t.known[path] = k
	}
}
