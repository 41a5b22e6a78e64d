package folder

import (
	"bytes"
	"context"
	"io"
	"os"

	"fika"
)

// cutTornEnd cuts off what a crash left after the recorded end of the transcript, and
// reports whether nothing else was wrong: up to the recorded size the file still ends
// as the mirror left it, and what follows is the beginning of the next entry due.
func (m *Mirror) cutTornEnd(ctx context.Context, f Folder, heads []AskHead) (bool, error) {
	mark, path := m.meta.Files[transcriptName], f.path(transcriptName)
	file, err := openRegular(path)()
	if file == nil || err != nil {
		return false, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return false, fileError("read "+transcriptName, path, err)
	}
	if mark.Size == 0 || st.Size() < mark.Size || mark.LastSize <= 0 || mark.LastSize > min(mark.Size, 2*maxLine) {
		return false, nil
	}
	last := make([]byte, mark.LastSize)
	if _, err := file.ReadAt(last, mark.Size-mark.LastSize); err != nil || hashOf(last) != mark.LastLine {
		return false, nil
	}
	found, err := matchTranscript(ctx, m.source, heads, m.meta.Seen, io.NewSectionReader(file, mark.Size, st.Size()-mark.Size))
	if err != nil || !found.torn {
		return false, err
	}
	if err := os.Truncate(path, mark.Size); err != nil {
		return false, fileError("repair "+transcriptName, path, err)
	}
	now, err := f.markOf(transcriptName)
	mark.Size, mark.MTime = now.Size, now.MTime
	m.meta.Files[transcriptName] = mark
	return err == nil, err
}

// isOwnTranscript reports whether the whole file is a prefix of what the source has; a
// missing file is.
func (m *Mirror) isOwnTranscript(ctx context.Context, f Folder, heads []AskHead) (bool, error) {
	file, err := openRegular(f.path(transcriptName))()
	if file == nil || err != nil {
		return err == nil, err
	}
	defer file.Close()
	found, err := matchTranscript(ctx, m.source, heads, nil, file)
	return found.torn, err
}

// match says how far a transcript agrees with its source.
type match struct {
	end  int64 // where the agreement ends
	due  bool  // the source has more
	more bool  // the file has more
	torn bool  // the rest of the file is only the beginning of what is due next, and NULs
}

// strand is a conversation that a transcript is compared with.
type strand struct {
	id       fika.ConversationID
	at, upto int64
	pending  []fika.Entry
}

// matchTranscript compares a transcript, or its end, with the entries that the source
// has after since: those of each conversation in order, with the conversations
// interleaved as they were written.
func matchTranscript(ctx context.Context, source EntrySource, heads []AskHead, since map[fika.ConversationID]int64, file io.Reader) (match, error) {
	var strands []*strand
	for _, h := range heads {
		strands = append(strands, &strand{id: h.ID, at: since[h.ID], upto: h.LastSeq})
	}
	r := &peeker{r: file}
	for {
		due, taken, err := r.takeNext(ctx, source, strands)
		switch {
		case err != nil:
			return match{}, err
		case taken:
			continue
		}
		found := match{end: r.offset, due: len(due) > 0}
		if found.more, err = r.hasMore(); err == nil {
			found.torn, err = r.isBeginning(due)
		}
		return found, fileError("read "+transcriptName, transcriptName, err)
	}
}

// takeNext consumes the next entry of one of the strands. If none comes next, it
// returns the entries that were due.
func (p *peeker) takeNext(ctx context.Context, source EntrySource, strands []*strand) (due [][]byte, taken bool, err error) {
	for _, s := range strands {
		if len(s.pending) == 0 && s.at < s.upto {
			if s.pending, err = source.EntriesAfter(ctx, s.id, s.at, page); err != nil {
				return nil, false, err
			}
		}
		if len(s.pending) == 0 {
			continue
		}
		piece := renderEntry(s.pending[0])
		ok, err := p.takeExpected(piece)
		if err != nil {
			return nil, false, fileError("read "+transcriptName, transcriptName, err)
		}
		if ok {
			s.at, s.pending = s.pending[0].Seq, s.pending[1:]
			return nil, true, nil
		}
		due = append(due, piece)
	}
	return due, false, nil
}

// peeker consumes expected pieces of a stream.
type peeker struct {
	r      io.Reader
	buf    []byte
	offset int64
}

// fillBuffer makes at least n bytes available, unless the stream ends before.
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

// isBeginning consumes the rest, and reports whether it is a prefix of one of the
// pieces, or empty, followed only by NULs.
func (p *peeker) isBeginning(pieces [][]byte) (bool, error) {
	same := 0
	for _, piece := range pieces {
		if err := p.fillBuffer(len(piece)); err != nil {
			return false, err
		}
		n := 0
		for n < min(len(piece), len(p.buf)) && piece[n] == p.buf[n] {
			n++
		}
		same = max(same, n)
	}
	for rest := same; ; rest = 0 {
		p.buf = bytes.TrimLeft(p.buf[rest:], "\x00")
		if more, err := p.hasMore(); err != nil || !more {
			return err == nil, err
		}
		if p.buf[0] != 0 {
			return false, nil
		}
	}
}
