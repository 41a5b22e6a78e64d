package nats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"fika"
)

// A receipt says that a request was accepted. It is durable before the sender is told,
// and stays until the request has become a row. A request with a receipt that is missing
// from the stream is lost.
type receipt struct {
	Key     string    `json:"key"` // in the header of the stored message
	Seq     uint64    `json:"seq"` // in the stream
	Subject string    `json:"subject"`
	ID      string    `json:"id"` // requestId; empty if it could not be read
	At      time.Time `json:"at"`
}

// receiptLine is a line of the file: a receipt, or the key of one that is no longer
// needed.
type receiptLine struct {
	Accepted *receipt `json:"accepted,omitempty"`
	Read     string   `json:"read,omitempty"`
}

// receipts is the file of receipts. It lies beside the JetStream folder, so that damage
// to the folder does not reach it. The intake adds receipts, the reader of the stream
// removes them; it is safe for concurrent use.
type receipts struct {
	mu   sync.Mutex
	file *os.File
	size int64
	open map[string]receipt
	// early holds the keys of requests that were read before their receipt was written;
	// the receipt is then not written at all.
	early map[string]bool
	done  []string // read, but not yet written to the file
	// unreadable counts damaged lines: nobody can say which requests they were about.
	unreadable int
}

func receiptsPath(runDir string) string { return filepath.Join(runDir, "accepted") }

// openReceipts reads the receipts of runDir. A line that was being written when a process
// was killed is ignored, because no sender was told. Error kind: Storage.
func openReceipts(runDir string) (*receipts, error) {
	f, err := os.OpenFile(receiptsPath(runDir), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fika.Wrap(fika.Storage, "open receipts", err)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, errors.Join(fika.Wrap(fika.Storage, "read receipts", err), f.Close())
	}
	r := &receipts{file: f, open: map[string]receipt{}, early: map[string]bool{}}
	whole := bytes.LastIndexByte(data, '\n') + 1
	for line := range bytes.Lines(data[:whole]) {
		var l receiptLine
		switch {
		case !parseChecked(line, &l):
			r.unreadable++
		case l.Accepted != nil:
			r.open[l.Accepted.Key] = *l.Accepted
		default:
			delete(r.open, l.Read)
		}
	}
	r.size = int64(whole)
	if err := errors.Join(f.Truncate(r.size), syncFolder(runDir)); err != nil {
		return nil, errors.Join(fika.Wrap(fika.Storage, "open receipts", err), f.Close())
	}
	return r, nil
}

// addDurably makes receipts durable, except for requests that have already been read.
// Error kind: Storage; then none of the senders may be told.
func (r *receipts) addDurably(list []receipt) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	list = slices.DeleteFunc(slices.Clone(list), func(one receipt) bool {
		early := r.early[one.Key]
		delete(r.early, one.Key)
		return early
	})
	if err := r.appendDurably(acceptedLines(list)); err != nil {
		return err
	}
	for _, one := range list {
		r.open[one.Key] = one
		// Keys grow in the order of the stream's answers, so smaller keys never come.
		maps.DeleteFunc(r.early, func(key string, _ bool) bool { return key < one.Key })
	}
	return nil
}

// noteRead notes that a request needs no receipt any more. The note is durable after the
// next flush; until then the message itself must stay in the stream.
func (r *receipts) noteRead(key string) {
	if key == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, open := r.open[key]; !open {
		r.early[key] = true
		return
	}
	delete(r.open, key)
	r.done = append(r.done, key)
}

// flushRead makes the notes of noteRead durable.
func (r *receipts) flushRead() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(r.done) == 0:
		return nil
	case len(r.open) == 0 || r.size > longReceipts+averageReceipt*int64(len(r.open)):
		return r.rewriteOpen()
	}
	var lines []byte
	for _, key := range r.done {
		lines = append(lines, checkedLine(receiptLine{Read: key})...)
	}
	err := r.appendDurably(lines)
	if err == nil {
		r.done = nil
	}
	return err
}

const (
	longReceipts   = 4 << 20 // bytes of the file, besides open receipts, beyond which it is rewritten
	averageReceipt = 512
)

// rewriteOpen replaces the file with one that holds only the open receipts. The caller
// holds mu.
func (r *receipts) rewriteOpen() error {
	const op = "rewrite receipts"
	lines := acceptedLines(slices.Collect(maps.Values(r.open)))
	if len(lines) == 0 {
		if err := errors.Join(r.file.Truncate(0), r.file.Sync()); err != nil {
			return fika.Wrap(fika.Storage, op, err)
		}
		r.size, r.done = 0, nil
		return nil
	}
	path := r.file.Name()
	if err := renameio.WriteFile(path, lines, 0o600); err != nil {
		return fika.Wrap(fika.Storage, op, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fika.Wrap(fika.Storage, op, err)
	}
	_ = r.file.Close() // the file that was replaced
	r.file, r.size, r.done = f, int64(len(lines)), nil
	return syncFolder(filepath.Dir(path))
}

func acceptedLines(list []receipt) []byte {
	var lines []byte
	for _, one := range list {
		lines = append(lines, checkedLine(receiptLine{Accepted: &one})...)
	}
	return lines
}

// syncFolder makes the creation or replacement of a file in dir durable.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fika.Wrap(fika.Storage, "open "+dir, err)
	}
	return fika.Wrap(fika.Storage, "sync "+dir, errors.Join(f.Sync(), f.Close()))
}

// appendDurably appends lines and syncs the file. A write that fails is truncated, so
// that nothing is left for the next write to be joined to. The caller holds mu.
func (r *receipts) appendDurably(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	_, err := r.file.WriteAt(lines, r.size)
	if err == nil {
		err = r.file.Sync()
	}
	if err != nil {
		return fika.Wrap(fika.Storage, "write receipts", errors.Join(err, r.file.Truncate(r.size)))
	}
	r.size += int64(len(lines))
	return nil
}

// pendingReceipts returns the receipts of requests that have not been read, oldest first.
func (r *receipts) pendingReceipts() []receipt {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.SortedFunc(maps.Values(r.open), func(a, b receipt) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Seq, b.Seq))
	})
}

func (r *receipts) isPending(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, open := r.open[key]
	return open
}

// takeUnreadable returns the number of damaged lines and resets it.
func (r *receipts) takeUnreadable() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.unreadable
	r.unreadable = 0
	return n
}

func (r *receipts) closeFile() error {
	return fika.Wrap(fika.Storage, "close receipts", errors.Join(r.flushRead(), r.file.Close()))
}

// checkedLine encodes v as a line that begins with a checksum.
func checkedLine(v any) []byte {
	data, _ := json.Marshal(v) // plain structs of strings, numbers and times
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(data), data)
}

// parseChecked decodes such a line; it returns false if the line is damaged.
func parseChecked(line []byte, v any) bool {
	sum, data, found := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	return found && string(sum) == fmt.Sprintf("%08x", crc32.ChecksumIEEE(data)) && json.Unmarshal(data, v) == nil
}
