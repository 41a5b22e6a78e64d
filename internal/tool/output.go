package tool

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"fika/internal/text/redact"
	"fika/internal/text/safetext"
)

// Limits bounds the part of an output that a model is shown, in bytes. Zero fields take
// the defaults.
type Limits struct {
	Head     int          // kept from the beginning: 16 KiB
	Tail     int          // kept from the end: 16 KiB
	SpoolDir string       // where the whole of a longer output is kept; "": nowhere
	SpoolMax int64        // of one spool file: 64 MiB
	Keys     *redact.Keys // removed before anything is kept; nil: none
}

const (
	defaultKeep  = 16 << 10
	defaultSpool = 64 << 20
	slack        = 1 << 10 // room for the words about what was left out
)

func (l Limits) orDefault() Limits {
	if l.Head <= 0 {
		l.Head = defaultKeep
	}
	if l.Tail <= 0 {
		l.Tail = defaultKeep
	}
	if l.SpoolMax <= 0 {
		l.SpoolMax = defaultSpool
	}
	return l
}

// Output takes an output of any size in constant memory: its head, its tail and, on
// overflow, a file with the whole. It is not safe for concurrent use.
type Output struct {
	name   string
	limits Limits
	keys   *redact.Stream
	head   []byte
	tail   []byte // a ring once it has grown to limits.Tail
	next   int    // where the ring is written next
	total  int64

	spool     *os.File
	spoolSize int64
	spoolErr  error
}

// Captured is what an [Output] has kept.
type Captured struct {
	Text  string // valid UTF-8 without terminal escapes, shortened in the middle
	Total int64  // bytes written
	Spool string // file with the whole (up to SpoolMax); "" when Text has it all
	Cut   bool   // Text is not the whole output
}

// NewOutput returns an empty Output. The name of its spool file begins with name.
func NewOutput(name string, l Limits) *Output {
	return &Output{name: name, limits: l.orDefault(), keys: l.Keys.Stream()}
}

// Write never fails and blocks no longer than the disk does. A spool file that cannot be
// written is given up, and Text says so.
func (o *Output) Write(p []byte) (int, error) {
	o.keepClean(o.keys.Next(p))
	return len(p), nil
}

// keepClean keeps bytes from which keys have been removed.
func (o *Output) keepClean(p []byte) {
	n := len(p)
	if o.total+int64(n) > int64(o.limits.Head+o.limits.Tail) {
		o.spillToFile(p)
	}
	o.total += int64(n)
	if room := o.limits.Head - len(o.head); room > 0 {
		k := min(room, len(p))
		o.head = append(o.head, p[:k]...)
		p = p[k:]
	}
	o.keepTail(p)
}

func (o *Output) keepTail(p []byte) {
	size := o.limits.Tail
	if len(p) >= size {
		o.tail = append(o.tail[:0], p[len(p)-size:]...)
		o.next = 0
		return
	}
	if room := size - len(o.tail); room > 0 {
		k := min(room, len(p))
		o.tail = append(o.tail, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(o.tail[o.next:], p)
		o.next = (o.next + k) % size
		p = p[k:]
	}
}

// spillToFile writes p to the spool file, the first time preceded by everything before
// it.
func (o *Output) spillToFile(p []byte) {
	if o.limits.SpoolDir == "" || o.spoolErr != nil {
		return
	}
	if o.spool == nil {
		if o.spoolErr = os.MkdirAll(o.limits.SpoolDir, 0o700); o.spoolErr != nil {
			return
		}
		// 0600 and an unpredictable name, because outputs can contain secrets.
		if o.spool, o.spoolErr = os.CreateTemp(o.limits.SpoolDir, safeName(o.name)+"-*.out"); o.spoolErr != nil {
			return
		}
		o.appendBytes(o.head)
		o.appendBytes(o.tail) // not a ring yet: this is the first overflow
	}
	o.appendBytes(p)
}

func (o *Output) appendBytes(p []byte) {
	p = p[:min(int64(len(p)), o.limits.SpoolMax-o.spoolSize)]
	if len(p) == 0 || o.spoolErr != nil {
		return
	}
	n, err := o.spool.Write(p)
	o.spoolSize += int64(n)
	o.spoolErr = err
}

// Finish closes the spool file and returns what was kept. Call it once.
func (o *Output) Finish() Captured {
	o.keepClean(o.keys.End())
	c := Captured{Total: o.total}
	if o.spool != nil {
		c.Spool = o.spool.Name()
		if err := o.spool.Close(); err != nil && o.spoolErr == nil {
			o.spoolErr = err
		}
	}
	tail := append(o.tail[o.next:len(o.tail):len(o.tail)], o.tail[:o.next]...)
	skipped := o.total - int64(len(o.head)+len(tail))
	c.Cut = skipped > 0
	if isBinary(o.head) {
		c.Cut = o.total > 0
		if c.Spool == "" {
			c.Spool = o.keepBinary(tail)
		}
		c.Text = fmt.Sprintf("(binary output, %d bytes, beginning with % x%s)", o.total, o.head[:min(16, len(o.head))], o.spoolHint(c.Spool))
		return c
	}
	if !c.Cut {
		c.Text = safetext.Plain(string(append(o.head, tail...)))
		return c
	}
	head, tail := trimEnd(o.head), trimStart(tail)
	c.Text = safetext.Plain(string(head)) +
		fmt.Sprintf("\n\n[… %d bytes left out%s …]\n\n", o.total-int64(len(head)+len(tail)), o.spoolHint(c.Spool)) +
		safetext.Plain(string(tail))
	return c
}

// keepBinary writes a short binary output, which cannot be shown as text, to the spool
// file and returns its path.
func (o *Output) keepBinary(tail []byte) string {
	o.head, o.tail = append(o.head, tail...), nil
	o.spillToFile(nil)
	if o.spool == nil {
		return ""
	}
	if err := o.spool.Close(); err != nil && o.spoolErr == nil {
		o.spoolErr = err
	}
	return o.spool.Name()
}

func (o *Output) spoolHint(spool string) string {
	switch {
	case spool != "" && o.spoolErr != nil:
		return fmt.Sprintf("; the first %d bytes are in %s, then: %v", o.spoolSize, spool, o.spoolErr)
	case o.spoolErr != nil:
		return fmt.Sprintf("; not kept: %v", o.spoolErr)
	case spool == "":
		return ""
	case o.spoolSize < o.total:
		return fmt.Sprintf("; the first %d bytes are in %s", o.spoolSize, spool)
	}
	return "; the whole is in " + spool
}

func safeName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, clipBytes(s, 80))
	if s == "" {
		return "output"
	}
	return s
}

// trimEnd drops a rune that is cut off at the end of p.
func trimEnd(p []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-i:]) {
				return p[:len(p)-i]
			}
			break
		}
	}
	return p
}

// trimStart drops the rest of a rune that is cut off at the start of p.
func trimStart(p []byte) []byte {
	for i := 0; i < utf8.UTFMax-1 && i < len(p); i++ {
		if utf8.RuneStart(p[i]) {
			return p[i:]
		}
	}
	return p
}
