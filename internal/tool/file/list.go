package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/tool"
)

const maxWalkDepth = 64

type listArgs struct {
	Path string `json:"path"`
}

// Call implements [tool.Tool].
func (t *List) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	var a listArgs
	if err := tool.Decode(t.Spec(), c, &a); err != nil {
		return tool.Refusal(err), nil
	}
	if a.Path == "" {
		a.Path = "."
	}
	text, err := t.list(ctx, c, a.Path)
	if err != nil {
		return refuse(ctx, a.Path, err)
	}
	return tool.Result{Text: text, File: a.Path}, nil
}

func (t *List) list(ctx context.Context, c tool.Call, at string) (string, error) {
	p, err := enterToLook(c, t.opts.reach(), at)
	if err != nil {
		return "", err
	}
	defer p.close()
	w := &walk{ctx: ctx, root: p.root, reach: p.reach, entries: t.opts.Entries, visits: t.opts.Visits}
	info, err := p.root.Stat(p.rel)
	switch {
	case err == nil && info.IsDir():
		err = w.directory(p.rel)
	case err == nil:
		err = w.file(at, p)
	case strings.ContainsAny(p.rel, "*?["):
		err = w.glob(filepath.ToSlash(p.rel))
	}
	if err != nil {
		return "", explain(at, err)
	}
	return w.text(), nil
}

// walk collects entries within its budget. It does not follow symbolic links.
type walk struct {
	ctx     context.Context
	root    *os.Root
	reach   reach
	entries int
	visits  int

	found   []string
	hidden  int  // entries that are out of reach
	full    bool // more matched than was shown
	stopped bool // the budget of visits ran out
}

func (w *walk) add(name string, info fs.FileInfo) {
	if len(w.found) >= w.entries {
		w.full = true
		return
	}
	name = filepath.ToSlash(name)
	switch mode := info.Mode(); {
	case mode.IsDir():
		w.found = append(w.found, shown(name)+"/")
	case mode&fs.ModeSymlink != 0:
		to, err := w.root.Readlink(filepath.FromSlash(name))
		if err != nil {
			to = "?"
		}
		w.found = append(w.found, shown(name)+" -> "+shown(to))
	case !mode.IsRegular():
		w.found = append(w.found, shown(name)+"  ("+mode.Type().String()+")")
	default:
		w.found = append(w.found, fmt.Sprintf("%s  %s", shown(name), bytesWords(info.Size())))
	}
}

// file adds the path that the model named, if it is not a folder.
func (w *walk) file(at string, p place) error {
	f, info, err := p.openRegular(at)
	if err != nil {
		return err
	}
	_ = f.Close()
	w.add(p.rel, info)
	return nil
}

func (w *walk) directory(dir string) error {
	return w.each(dir, func(e fs.DirEntry) error {
		w.show(e.Name(), e)
		return nil
	})
}

// show adds an entry unless it has vanished since it was read.
func (w *walk) show(name string, e fs.DirEntry) {
	if info, err := e.Info(); err == nil {
		w.add(name, info)
	}
}

// each visits the entries of one directory, sorted, except .git.
func (w *walk) each(dir string, visit func(fs.DirEntry) error) error {
	f, err := w.root.Open(dir)
	if err != nil {
		return err
	}
	real, err := w.reach.folder(dir, f)
	if err != nil {
		_ = f.Close()
		return err
	}
	entries, err := w.entriesOf(f, real)
	_ = f.Close()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

// entriesOf reads a directory in pieces, so that one with millions of entries costs no
// more than the budget.
func (w *walk) entriesOf(f *os.File, real string) ([]fs.DirEntry, error) {
	var all []fs.DirEntry
	for {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		if w.visits <= 0 {
			w.stopped = true
			break
		}
		some, err := f.ReadDir(min(1000, w.visits))
		w.visits -= len(some)
		for _, e := range some {
			switch {
			case e.Name() == ".git" || isTemp(e.Name()):
			case w.reach.hides(filepath.Join(real, e.Name())):
				w.hidden++
			default:
				all = append(all, e)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

// glob starts at the part of the pattern before any special characters.
func (w *walk) glob(pattern string) error {
	parts := strings.Split(pattern, "/")
	if len(parts) > maxWalkDepth {
		return fika.Errorf(fika.Invalid, "list", "the pattern has more than %d parts", maxWalkDepth)
	}
	fixed := 0
	for i, part := range parts {
		if _, err := path.Match(part, ""); err != nil {
			return fika.Errorf(fika.Invalid, "list", "%s is not a pattern: %v", short(part), err)
		}
		if fixed == i && !strings.ContainsAny(part, "*?[\\") {
			fixed++
		}
	}
	base := path.Join(append([]string{"."}, parts[:fixed]...)...)
	return w.descend(base, [][]string{parts[fixed:]}, 0)
}

// descend matches everything below dir against patterns, each a list of parts: one
// pattern as the model gave it, several where "**" may stand for more or fewer folders.
func (w *walk) descend(dir string, patterns [][]string, depth int) error {
	if depth > maxWalkDepth || w.stopped || w.full {
		return nil
	}
	return w.each(filepath.FromSlash(dir), func(e fs.DirEntry) error {
		name := path.Join(dir, e.Name())
		here, below := stepAll(patterns, e.Name())
		if here {
			w.show(name, e)
		}
		if len(below) == 0 || !e.IsDir() {
			return nil
		}
		err := w.descend(name, below, depth+1)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || fika.IsKind(err, fika.Denied) {
			return nil // a folder that cannot be entered does not hide the rest
		}
		return err
	})
}

// stepAll is step for several patterns. They are all tails of one pattern, so they
// differ in length.
func stepAll(patterns [][]string, name string) (here bool, below [][]string) {
	for _, p := range patterns {
		h, more := step(p, name)
		here = here || h
		for _, one := range more {
			if !slices.ContainsFunc(below, func(x []string) bool { return len(x) == len(one) }) {
				below = append(below, one)
			}
		}
	}
	return here, below
}

// step reports whether an entry matches the pattern, and returns the patterns that apply
// below it. They are all tails of one pattern, so they differ in length.
func step(parts []string, name string) (here bool, below [][]string) {
	if len(parts) == 0 {
		return false, nil
	}
	if parts[0] == "**" {
		if strings.HasPrefix(name, ".") && len(parts) > 1 && !strings.HasPrefix(parts[1], ".") {
			return false, nil // hidden folders are entered only by name
		}
		here, below = step(parts[1:], name)
		return here || len(parts) == 1, append(below, parts)
	}
	if ok, err := path.Match(parts[0], name); err != nil || !ok {
		return false, nil
	}
	if len(parts) == 1 {
		return true, nil
	}
	return false, [][]string{parts[1:]}
}

func (w *walk) text() string {
	text := strings.Join(w.found, "\n")
	if w.hidden > 0 {
		text += fmt.Sprintf("\n[%d not shown: fika's own files, or secrets]", w.hidden)
	}
	switch {
	case w.full:
		text += fmt.Sprintf("\n[only the first %d; name a directory or a narrower glob]", len(w.found))
	case w.stopped:
		text += "\n[not everything was looked at; name a directory or a narrower glob]"
	case text == "":
		return "(nothing)"
	}
	return strings.TrimPrefix(text, "\n")
}

func bytesWords(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	case n < 10_000_000_000:
		return fmt.Sprintf("%d MB", n/1_000_000)
	}
	return fmt.Sprintf("%d GB", n/1_000_000_000)
}
