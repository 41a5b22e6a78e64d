package guest

import (
	"bytes"
	"io"
	"math"
	"strings"
	"sync"
	"unicode"

	"fika"
	"fika/internal/extension/acp"
)

// usageOf returns the tokens of a turn; nothing that counts below zero is taken.
func usageOf(p acp.Prompted) fika.Usage {
	u := p.Usage
	if t := p.Meta.Quota.Tokens; u == nil && t != nil {
		u = &acp.Usage{Input: t.Input, Output: t.Output}
	}
	if u == nil {
		return fika.Usage{}
	}
	cached, written := max(u.Cached, 0), max(u.Written, 0)
	return fika.Usage{
		Input: max(u.Input, 0) + cached + written, Output: max(u.Output, 0) + max(u.Thought, 0), Cached: cached, Written: written, Reasoning: max(u.Thought, 0),
	}
}

// maxDollars is more than any session costs.
const maxDollars = 1e6

// microDollars returns what a session has cost so far; false: that is not known.
func microDollars(c *acp.Cost) (int64, bool) {
	if c == nil || c.Currency != "USD" || math.IsNaN(c.Amount) || c.Amount < 0 || c.Amount > maxDollars {
		return 0, false
	}
	return int64(math.Round(c.Amount * 1e6)), true
}

// lastLine passes on what a program writes to stderr, and remembers the last line. It is
// safe for concurrent use.
type lastLine struct {
	to   io.WriteCloser
	mu   sync.Mutex
	line []byte
}

// Write implements [io.Writer].
func (l *lastLine) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for part := range bytes.SplitSeq(p, []byte("\n")) {
		if part = bytes.TrimSpace(part); bytes.ContainsFunc(part, unicode.IsLetter) { // and no closing bracket
			l.line = append(l.line[:0], part[:min(len(part), maxSaid)]...)
		}
	}
	return l.to.Write(p)
}

// Close implements [io.Closer].
func (l *lastLine) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Close()
}

// last returns the last line with words in it.
func (l *lastLine) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.ToValidUTF8(string(l.line), "")
}
