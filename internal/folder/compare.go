package folder

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"fika"
)

// Difference is one way in which the mirror is not what the source says.
type Difference struct {
	File string
	Line int // of a JSON file; 0 where it has no meaning
	ID   fika.EntryID
	What string
	// Behind: the file only lacks what came last, and is right as far as it
	// goes.
	Behind bool
}

// String says it in words.
func (d Difference) String() string {
	s := d.File
	if d.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, d.Line)
	}
	if d.ID != "" {
		s += ": entry " + string(d.ID)
	}
	return s + ": " + d.What
}

// Compare reads the whole mirror and the whole source and lists how they
// differ; nothing is changed. While a holder works, entries that it has not
// written yet may show up.
func Compare(ctx context.Context, f Folder, source EntrySource) ([]Difference, error) {
	heads, err := source.Asks(ctx)
	if err != nil {
		return nil, err
	}
	c := comparison{folder: f, source: source, heads: heads}
	for _, step := range []func(context.Context) error{c.compareWindow, c.compareArchive, c.compareTranscript} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return c.found, nil
}

type comparison struct {
	folder Folder
	source EntrySource
	heads  []AskHead
	found  []Difference
}

func (c *comparison) addDifference(d Difference) {
	const enough = 1000
	if len(c.found) < enough {
		c.found = append(c.found, d)
	}
}

// expectedLines gives the lines that belong into the window, or into the archive.
func (c *comparison) expectedLines(ctx context.Context, window bool, do func(e fika.Entry, own []byte) error) error {
	for _, h := range c.heads {
		if window && !h.Active {
			continue
		}
		in, err := windowRule(ctx, c.source, h.ID, h.LastSeq)
		if err != nil {
			return err
		}
		err = eachEntry(ctx, c.source, h.ID, 0, h.LastSeq, func(e fika.Entry) error {
			if (h.Active && in(e.Seq)) != window {
				return nil
			}
			own, err := entryLine(e)
			if err != nil {
				return err
			}
			return do(e, own)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fileLines reads a file's lines as the hashes of their present form.
func (c *comparison) fileLines(name string) ([]idKey, error) {
	file, err := openRegular(c.folder.path(name))()
	if file == nil || err != nil {
		return nil, err
	}
	defer file.Close()
	var keys []idKey
	for r := newLineReader(file); ; {
		l, err := r.nextLine()
		if err == io.EOF {
			return keys, nil
		}
		if err != nil {
			return nil, fileError("read "+name, c.folder.path(name), err)
		}
		keys = append(keys, lineKey(l))
	}
}

// compareWindow compares context.jsonl, whose order counts.
func (c *comparison) compareWindow(ctx context.Context) error {
	have, err := c.fileLines(contextName)
	if err != nil {
		return err
	}
	n := 0
	err = c.expectedLines(ctx, true, func(e fika.Entry, own []byte) error {
		key := keyOfLine(bytes.TrimSpace(own))
		switch {
		case n >= len(have):
			c.addDifference(Difference{File: contextName, ID: e.ID, What: "is missing", Behind: true})
		case have[n] != key:
			c.addDifference(Difference{File: contextName, Line: n + 1, ID: e.ID, What: "is not what the database has here"})
		}
		n++
		return nil
	})
	if n < len(have) {
		c.addDifference(Difference{File: contextName, Line: n + 1, What: fmt.Sprintf("%d lines that do not belong here", len(have)-n)})
	}
	return err
}

// compareArchive compares transcript_archive.jsonl, whose order is that of archiving
// and does not count.
func (c *comparison) compareArchive(ctx context.Context) error {
	have, err := c.fileLines(archiveName)
	if err != nil {
		return err
	}
	count := map[idKey]int{}
	for _, key := range have {
		count[key]++
	}
	err = c.expectedLines(ctx, false, func(e fika.Entry, own []byte) error {
		key := keyOfLine(bytes.TrimSpace(own))
		if count[key] == 0 {
			c.addDifference(Difference{File: archiveName, ID: e.ID, What: "is missing"})
		}
		count[key]--
		return nil
	})
	for i, key := range have {
		if count[key] > 0 {
			count[key]--
			c.addDifference(Difference{File: archiveName, Line: i + 1, What: "does not belong here"})
		}
	}
	return err
}

// compareTranscript compares transcript.md: every entry of each conversation in its
// order, the conversations interleaved as they were written.
func (c *comparison) compareTranscript(ctx context.Context) error {
	type strand struct {
		id      fika.ConversationID
		upto    int64
		at      int64
		pending []fika.Entry
	}
	var strands []*strand
	for _, h := range c.heads {
		strands = append(strands, &strand{id: h.ID, upto: h.LastSeq})
	}
	file, err := openRegular(c.folder.path(transcriptName))()
	if err != nil {
		return err
	}
	r := newPeeker(nil)
	if file != nil {
		defer file.Close()
		r = newPeeker(file)
	}
	for {
		left, taken := 0, false
		for _, s := range strands {
			if len(s.pending) == 0 && s.at < s.upto {
				if s.pending, err = c.source.EntriesAfter(ctx, s.id, s.at, page); err != nil {
					return err
				}
			}
			if len(s.pending) == 0 {
				continue
			}
			left++
			e := s.pending[0]
			ok, err := r.takeExpected(renderEntry(e))
			if err != nil {
				return fileError("read "+transcriptName, c.folder.path(transcriptName), err)
			}
			if ok {
				s.pending, s.at, taken = s.pending[1:], e.Seq, true
				break
			}
		}
		if taken {
			continue
		}
		more, err := r.hasMore()
		if err != nil {
			return fileError("read "+transcriptName, c.folder.path(transcriptName), err)
		}
		switch {
		case left > 0 && !more:
			c.addDifference(Difference{File: transcriptName, What: fmt.Sprintf("ends at byte %d, before what came last", r.offset), Behind: true})
		case left > 0:
			c.addDifference(Difference{File: transcriptName, What: fmt.Sprintf("from byte %d on it is not what the database has", r.offset)})
		case more:
			c.addDifference(Difference{File: transcriptName, What: fmt.Sprintf("from byte %d on it has more than the database", r.offset)})
		}
		return nil
	}
}

// peeker takes expected pieces off a stream.
type peeker struct {
	r      io.Reader
	buf    []byte
	offset int64
}

func newPeeker(r io.Reader) *peeker {
	if r == nil {
		r = bytes.NewReader(nil)
	}
	return &peeker{r: r}
}

// fillBuffer makes at least n bytes available unless the stream ends before.
func (p *peeker) fillBuffer(n int) error {
	for len(p.buf) < n {
		part := make([]byte, max(n-len(p.buf), 64<<10))
		k, err := p.r.Read(part)
		p.buf = append(p.buf, part[:k]...)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeExpected consumes want if it comes next.
func (p *peeker) takeExpected(want []byte) (bool, error) {
	if err := p.fillBuffer(len(want)); err != nil || !bytes.HasPrefix(p.buf, want) {
		return false, err
	}
	p.buf = p.buf[len(want):]
	p.offset += int64(len(want))
	return true, nil
}

func (p *peeker) hasMore() (bool, error) {
	err := p.fillBuffer(1)
	return len(p.buf) > 0, err
}
