package console

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"fika"
)

const (
	maxHistory      = 1000     // entries that are kept
	maxHistoryEntry = 64 << 10 // bytes of an entry that is kept
	maxHistoryFile  = 16 << 20 // bytes that are read from the end of the file
)

// history holds the lines entered before, oldest first and without duplicates. The file
// holds one entry per line, with newlines and backslashes escaped; consoles that share it
// append to it, and it is rewritten when it has grown to twice its size.
type history struct {
	path    string
	entries []string
	at      int    // index in entries; len(entries) is the line being typed
	draft   string // the line being typed, while at is on an entry
	torn    bool   // the file does not end in a newline
}

// loadHistory reads the file at path; a missing file is empty. With an error it still
// returns a usable history.
func loadHistory(path string) (*history, error) {
	h := &history{path: path}
	if path == "" {
		return h, nil
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		h.path = ""
		return h, fika.Wrap(fika.Failed, "read the history", err)
	}
	if len(raw) > maxHistoryFile {
		raw = raw[len(raw)-maxHistoryFile:]
		raw = raw[bytes.IndexByte(raw, '\n')+1:]
	}
	lines := parseHistory(raw)
	h.torn = len(raw) > 0 && raw[len(raw)-1] != '\n'
	for _, line := range lines {
		h.remember(line)
	}
	if len(lines) > 2*maxHistory {
		err = h.rewrite()
	}
	h.reset()
	return h, err
}

func parseHistory(raw []byte) []string {
	var lines []string
	for line := range strings.SplitSeq(string(raw), "\n") {
		if line = withChips(unescape(line)); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// historyEscapes keep an entry on one line; chips are between \[ and \].
var historyEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, string(chipStart), `\[`, string(chipEnd), `\]`)

func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case '\\':
			b.WriteByte('\\')
		case '[':
			b.WriteByte(chipStart)
		case ']':
			b.WriteByte(chipEnd)
		default:
			b.WriteString(s[i-1 : i+1])
		}
	}
	return b.String()
}

// remember appends line and removes an earlier copy.
func (h *history) remember(line string) {
	if i := slices.Index(h.entries, line); i >= 0 {
		h.entries = slices.Delete(h.entries, i, i+1)
	}
	h.entries = append(h.entries, line)
	if n := len(h.entries) - maxHistory; n > 0 {
		h.entries = slices.Delete(h.entries, 0, n)
	}
}

// add adds line, here and in the file. Blank lines, lines that begin with a space, and
// lines over maxHistoryEntry are not added. A file that fails is not tried again.
func (h *history) add(line string) error {
	keep := strings.TrimSpace(line) != "" && line[0] != ' ' && len(line) <= maxHistoryEntry && utf8.ValidString(line)
	if keep && (len(h.entries) == 0 || h.entries[len(h.entries)-1] != line) {
		h.remember(line)
		defer h.reset()
		return h.save(line)
	}
	h.reset()
	return nil
}

func (h *history) save(line string) error {
	if h.path == "" {
		return nil
	}
	record := historyEscapes.Replace(line) + "\n"
	if h.torn {
		record = "\n" + record
	}
	err := appendFile(h.path, record)
	if err != nil {
		h.path = ""
		return fika.Wrap(fika.Failed, "write the history", err)
	}
	h.torn = false
	return nil
}

func appendFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// rewrite replaces the file with the entries in memory.
func (h *history) rewrite() error {
	var b strings.Builder
	for _, line := range h.entries {
		b.WriteString(historyEscapes.Replace(line) + "\n")
	}
	f, err := os.CreateTemp(filepath.Dir(h.path), ".history-*")
	if err == nil {
		_, err = f.WriteString(b.String())
		err = errors.Join(err, f.Close())
		if err == nil {
			err = os.Rename(f.Name(), h.path)
		}
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}
	if err == nil {
		h.torn = false
	}
	return fika.Wrap(fika.Failed, "shorten the history", err)
}

// reset returns to the line being typed.
func (h *history) reset() { h.at, h.draft = len(h.entries), "" }

// older returns the entry before the one shown; now is the line as it stands.
func (h *history) older(now string) (string, bool) {
	if h.at == 0 {
		return "", false
	}
	if h.at == len(h.entries) {
		h.draft = now
	}
	h.at--
	return h.entries[h.at], true
}

// newer returns the entry after the one shown, and finally the line that was being typed.
func (h *history) newer() (string, bool) {
	if h.at >= len(h.entries) {
		return "", false
	}
	h.at++
	if h.at == len(h.entries) {
		return h.draft, true
	}
	return h.entries[h.at], true
}
