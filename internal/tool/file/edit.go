package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"fika"
	"fika/internal/tool"
)

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
	All  bool   `json:"replace_all"`
}

// Call implements [tool.Tool].
func (t *Edit) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	var a editArgs
	if err := tool.Decode(t.Spec(), c, &a); err != nil {
		return tool.Refusal(err), nil
	}
	text, err := t.edit(ctx, c, a)
	if err != nil {
		return refuse(ctx, a.Path, err)
	}
	return tool.Result{Text: text, File: a.Path}, nil
}

// Hash implements [tool.Verifier].
func (t *Edit) Hash(ctx context.Context, c tool.Call) (string, error) {
	var a editArgs
	if err := tool.Decode(t.Spec(), c, &a); err != nil {
		return "", err
	}
	return hash(ctx, c, t.opts.changing(c), a.Path)
}

func (t *Edit) edit(ctx context.Context, c tool.Call, a editArgs) (string, error) {
	switch {
	case a.Old == "":
		return "", fika.Errorf(fika.Invalid, "edit", "old is empty: give the text to replace, or use create for a whole file")
	case a.Old == a.New:
		return "", fika.Errorf(fika.Invalid, "edit", "old and new are the same: nothing to do")
	}
	p, err := enter(c, t.opts.changing(c), a.Path)
	if err != nil {
		return "", err
	}
	defer p.close()
	if p.rel, err = p.target(a.Path); err != nil {
		return "", err
	}
	content, info, err := p.load(a.Path, t.opts.EditSize)
	if err != nil {
		return "", err
	}
	if err := p.writable(a.Path, info); err != nil {
		return "", err
	}
	if err := p.mayChange(a.Path); err != nil {
		return "", err
	}
	changed, lines, err := replace(content, a)
	if err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := p.save(c.Step, changed, info, true, t.opts.keeper(c, nil)); err != nil {
		return "", explain(a.Path, err)
	}
	return fmt.Sprintf("edited %s (%s)", short(a.Path), atLines(lines)), nil
}

// load reads the whole of a file that is to be changed.
func (p place) load(path string, most int64) ([]byte, fs.FileInfo, error) {
	f, info, err := p.openRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, nil, explain(path, err)
	}
	if int64(len(content)) > most {
		return nil, nil, fika.Errorf(fika.Limit, "edit", "%s has more than %d bytes: change it with bash", short(path), most)
	}
	return content, info, nil
}

// writable refuses a file that this process could not write into: a file that is replaced
// belongs to who replaces it, and whoever it belonged to might lose it.
func (p place) writable(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o200 == 0 {
		return fika.Errorf(fika.Failed, "file", "%s is read-only", short(path))
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Geteuid() {
		return nil
	}
	f, err := p.root.OpenFile(p.rel, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		return f.Close()
	}
	if errors.Is(err, fs.ErrPermission) {
		return explain(path, err)
	}
	return nil // a program that runs cannot be written into, and can be replaced
}

// replace returns the new content and the lines where something was replaced. In a file
// with CRLF line endings, plain newlines from the model match and become CRLF.
func replace(content []byte, a editArgs) ([]byte, []int, error) {
	old, text := []byte(a.Old), []byte(a.New)
	n := bytes.Count(content, old)
	crlf := bytes.Contains(content, []byte("\r\n"))
	if n == 0 && crlf {
		old = toCRLF(old)
		n = bytes.Count(content, old)
		text = toCRLF(text)
	} else if crlf && bytes.Count(content, []byte("\n")) == bytes.Count(content, []byte("\r\n")) {
		text = toCRLF(text)
	}
	switch {
	case n == 0:
		return nil, nil, notFound(content, a)
	case n > 1 && !a.All:
		return nil, nil, fika.Errorf(fika.Conflict, "edit", "old occurs %d times in %s (%s): add lines around it until it is the only one, or set replace_all",
			n, short(a.Path), atLines(occurrences(content, old)))
	case bytes.Equal(old, text):
		return nil, nil, fika.Errorf(fika.Invalid, "edit", "old and new differ in line ends alone, and those are kept: nothing to do")
	}
	return bytes.ReplaceAll(content, old, text), occurrences(content, old), nil
}

func toCRLF(p []byte) []byte {
	p = bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))
}

// occurrences returns the lines, from 1, where old begins.
func occurrences(content, old []byte) []int {
	var lines []int
	line := 1
	for {
		i := bytes.Index(content, old)
		if i < 0 {
			return lines
		}
		line += bytes.Count(content[:i], []byte("\n"))
		lines = append(lines, line)
		line += bytes.Count(old, []byte("\n"))
		content = content[i+len(old):]
	}
}

func atLines(lines []int) string {
	const most = 10
	word := "line"
	if len(lines) > 1 {
		word = "lines"
	}
	var b strings.Builder
	b.WriteString(word)
	for i, n := range lines {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(lines)-most)
			break
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %d", n)
	}
	return b.String()
}

// notFound returns an error that shows the line most like the first non-blank line of
// old.
func notFound(content []byte, a editArgs) error {
	want := ""
	for line := range strings.Lines(a.Old) {
		if want = strings.TrimSpace(line); want != "" {
			break
		}
	}
	n, line := nearestLine(content, want)
	if n == 0 {
		return fika.Errorf(fika.NotFound, "edit", "old does not occur in %s: read the file and copy the text exactly", short(a.Path))
	}
	return fika.Errorf(fika.NotFound, "edit", "old does not occur in %s; most like it is line %d:\n%s\nCopy the text exactly, with its spaces and tabs", short(a.Path), n, line)
}

// nearestLine compares lines by the pairs of bytes they share, which is fast enough for
// a large file. n is 0 when no line is like want.
func nearestLine(content []byte, want string) (n int, nearest string) {
	want = shorten(want, 300)
	pairs := bigrams(want)
	if len(pairs) == 0 {
		return 0, ""
	}
	best, number := 0.5, 0
	for raw := range bytes.Lines(content) {
		number++
		if number > 200_000 {
			break
		}
		line := string(bytes.TrimSpace(raw[:min(len(raw), 600)]))
		if len(line) > 3*len(want)+20 || 3*len(line)+20 < len(want) {
			continue
		}
		if score := likeness(pairs, line); score > best {
			best, n = score, number
			nearest = strings.ToValidUTF8(strings.TrimRight(string(raw[:min(len(raw), 300)]), "\r\n"), "\uFFFD")
			if score == 1 {
				break
			}
		}
	}
	return n, nearest
}

func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func bigrams(s string) map[[2]byte]int {
	m := make(map[[2]byte]int, len(s))
	for i := range max(0, len(s)-1) {
		m[[2]byte{s[i], s[i+1]}]++
	}
	return m
}

// likeness returns Dice's coefficient: 1 for the same pairs, 0 for none in common.
func likeness(pairs map[[2]byte]int, line string) float64 {
	total, both := 0, 0
	for _, n := range pairs {
		total += n
	}
	for p, n := range bigrams(line) {
		total += n
		both += min(n, pairs[p])
	}
	return 2 * float64(both) / float64(max(1, total))
}

// isMissing reports whether err says that nothing exists at a path.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
