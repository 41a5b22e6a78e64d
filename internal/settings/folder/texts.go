package folder

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"
)

const (
	// settled is how long ago a file must have been written for its time to show that
	// nothing was written since, because file systems count time in steps.
	settled = 50 * time.Millisecond
	// remembered bounds the cached texts of a home, in bytes.
	remembered = 1 << 20
)

// texts caches the texts of a home, with what the file system said about each file. It
// is safe for concurrent use.
type texts struct {
	mu    sync.Mutex
	known map[string]knownText
	bytes int
}

type knownText struct {
	info fs.FileInfo
	text Text
}

// WithCache returns the same home with a cache: a prompt or a text of a context is read
// again only if its file has another size, time or inode than before. It is for a
// process that reads them before every turn. Nothing that is written depends on the
// cache.
func (h Home) WithCache() Home {
	h.texts = &texts{known: map[string]knownText{}}
	return h
}

// readText returns a text, possibly from the cache. A missing file is an empty Text.
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

// keepText caches a text; the caller must hold mu.
func (t *texts) keepText(path string, k knownText) {
	if t.bytes += len(k.text.Body); t.bytes > remembered {
		clear(t.known) // read again when needed
		t.bytes = len(k.text.Body)
	}
	if t.bytes <= remembered {
		t.known[path] = k
	}
}
