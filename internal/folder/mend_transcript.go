package folder

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"fika"
)

// restoreTranscript cuts off what a crash left behind the recorded end, or
// sets an edited transcript aside and writes it anew.
func (m *Mirror) restoreTranscript(ctx context.Context, f Folder, heads []AskHead) error {
	mark, marked := m.meta.Files[transcriptName]
	ours, err := m.tornTail(ctx, f, heads, mark)
	if err != nil {
		return err
	}
	if ours && marked {
		if err := os.Truncate(f.path(transcriptName), mark.Size); err != nil {
			return fileError("mend "+transcriptName, f.path(transcriptName), err)
		}
		now, err := f.markOf(transcriptName)
		mark.Size, mark.MTime = now.Size, now.MTime
		m.meta.Files[transcriptName] = mark
		return err
	}
	if !ours {
		if ours, err = m.ownPrefix(ctx, f, heads); err != nil {
			return err
		}
	}
	if !ours {
		if err := m.setFileAside(f, transcriptName); err != nil {
			return err
		}
	}
	return m.rewriteTranscript(ctx, f, heads)
}

// tornTail reports whether the file still ends, at the recorded size, as the
// mirror left it, and what follows is the beginning of what was due next.
func (m *Mirror) tornTail(ctx context.Context, f Folder, heads []AskHead, mark fileMark) (bool, error) {
	file, err := openRegular(f.path(transcriptName))()
	if file == nil || err != nil {
		return false, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return false, fileError("read "+transcriptName, f.path(transcriptName), err)
	}
	if mark.Size == 0 || st.Size() < mark.Size || mark.LastSize <= 0 || mark.LastSize > min(mark.Size, 2*maxLine) {
		return false, nil
	}
	last := make([]byte, mark.LastSize)
	if _, err := file.ReadAt(last, mark.Size-mark.LastSize); err != nil || hashOf(last) != mark.LastLine {
		return false, nil
	}
	return m.matchesDue(ctx, io.NewSectionReader(file, mark.Size, st.Size()-mark.Size), heads, m.meta.Seen)
}

// ownPrefix reports whether the whole file is the beginning of what would be
// written into an empty one; a missing file is.
func (m *Mirror) ownPrefix(ctx context.Context, f Folder, heads []AskHead) (bool, error) {
	file, err := openRegular(f.path(transcriptName))()
	if file == nil || err != nil {
		return err == nil, err
	}
	defer file.Close()
	return m.matchesDue(ctx, file, heads, nil)
}

// errEnough ends an iteration early.
var errEnough = errors.New("enough")

// matchesDue compares r with the rendering of the entries after since.
func (m *Mirror) matchesDue(ctx context.Context, r io.Reader, heads []AskHead, since map[fika.ConversationID]int64) (bool, error) {
	same := true
	buf := bufio.NewReaderSize(r, 64<<10)
	for _, h := range heads {
		err := eachEntry(ctx, m.source, h.ID, since[h.ID], h.LastSeq, func(e fika.Entry) error {
			want := renderEntry(e)
			got := make([]byte, len(want))
			n, err := io.ReadFull(buf, got)
			if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
				return fileError("read "+transcriptName, transcriptName, err)
			}
			got = got[:n]
			if n == len(want) && bytes.Equal(got, want) {
				return nil
			}
			got = bytes.TrimRight(got, "\x00")
			same = bytes.HasPrefix(want, got)
			return errEnough
		})
		if errors.Is(err, errEnough) {
			break
		}
		if err != nil {
			return false, err
		}
	}
	if !same {
		return false, nil
	}
	rest, err := onlyNULs(buf)
	return rest, err
}

// onlyNULs reports whether nothing but NULs follows.
func onlyNULs(r *bufio.Reader) (bool, error) {
	for {
		c, err := r.ReadByte()
		switch {
		case err == io.EOF:
			return true, nil
		case err != nil:
			return false, fika.Wrap(fika.Storage, "read "+transcriptName, err)
		case c != 0:
			return false, nil
		}
	}
}

// rewriteTranscript makes transcript.md anew, up to what was seen.
func (m *Mirror) rewriteTranscript(ctx context.Context, f Folder, heads []AskHead) error {
	delete(m.meta.Files, transcriptName)
	if len(m.meta.Seen) == 0 {
		if err := os.Remove(f.path(transcriptName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileError("write "+transcriptName, f.path(transcriptName), err)
		}
		return nil
	}
	var last []byte
	err := swapFile(f.path(transcriptName), func(w io.Writer) error {
		buf := newBuffer(w)
		for _, h := range heads {
			err := m.eachUpTo(ctx, h.ID, m.meta.Seen[h.ID], func(e fika.Entry) error {
				last = renderEntry(e)
				_, err := buf.Write(last)
				return err
			})
			if err != nil {
				return err
			}
		}
		return buf.Flush()
	})
	if err != nil {
		return err
	}
	mark, err := f.markOf(transcriptName)
	mark.LastLine, mark.LastSize = hashOf(last), int64(len(last))
	m.meta.Files[transcriptName] = mark
	return err
}
