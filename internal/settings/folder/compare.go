package folder

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"fika"
)

// Difference is one difference between the mirror and its source.
type Difference struct {
	File string
	Line int // of a JSON file; 0 if it has no meaning
	ID   fika.EntryID
	What string
	// Behind: the file only lacks the latest entries, and is otherwise right.
	Behind bool
}

// String describes the difference in words.
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

// Compare reads the whole mirror and the whole source and returns their differences; it
// changes nothing. While a holder works, entries that it has not written yet may be
// listed.
func Compare(ctx context.Context, f Folder, source EntrySource) ([]Difference, error) {
	whole, err := wholeRendering(ctx, source)
	if err != nil {
		return nil, err
	}
	c := comparison{folder: f, rendering: whole}
	for _, step := range []func(context.Context) error{c.compareWindow, c.compareArchive, c.compareTranscript} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return c.found, nil
}

type comparison struct {
	rendering
	folder Folder
	found  []Difference
}

func (c *comparison) addDifference(d Difference) {
	const enough = 1000
	if len(c.found) < enough {
		c.found = append(c.found, d)
	}
}

// fileLines returns the lines of a file as hashes of their present form.
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

// compareWindow compares context.jsonl, whose order matters.
func (c *comparison) compareWindow(ctx context.Context) error {
	have, err := c.fileLines(contextName)
	if err != nil {
		return err
	}
	n := 0
	err = c.eachPiece(ctx, contextName, func(e fika.Entry, own []byte) error {
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

// compareArchive compares transcript_archive.jsonl, which is in the order of archiving;
// its order does not matter.
func (c *comparison) compareArchive(ctx context.Context) error {
	have, err := c.fileLines(archiveName)
	if err != nil {
		return err
	}
	count := map[idKey]int{}
	for _, key := range have {
		count[key]++
	}
	err = c.eachPiece(ctx, archiveName, func(e fika.Entry, own []byte) error {
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

// compareTranscript compares transcript.md: all entries, those of each conversation in
// order, with the conversations interleaved as they were written.
func (c *comparison) compareTranscript(ctx context.Context) error {
	file, err := openRegular(c.folder.path(transcriptName))()
	if err != nil {
		return err
	}
	var r io.Reader = bytes.NewReader(nil)
	if file != nil {
		defer file.Close()
		r = file
	}
	m, err := matchTranscript(ctx, c.source, c.heads, nil, r)
	switch {
	case err != nil:
		return err
	case m.due && !m.more:
		c.addDifference(Difference{File: transcriptName, What: fmt.Sprintf("ends at byte %d, before what came last", m.end), Behind: true})
	case m.due:
		c.addDifference(Difference{File: transcriptName, What: fmt.Sprintf("from byte %d on it is not what the database has", m.end)})
	case m.more:
		c.addDifference(Difference{File: transcriptName, What: fmt.Sprintf("from byte %d on it has more than the database", m.end)})
	}
	return nil
}
