package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"fika"
	"fika/internal/tool"
)

type createArgs struct {
	Path      string `json:"path"`
	Content   string `json:"content"`
	Overwrite bool   `json:"overwrite"`
}

// Call implements [tool.Tool].
func (t *Create) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	var a createArgs
	if err := tool.Decode(t.Spec(), c, &a); err != nil {
		return tool.Refusal(err), nil
	}
	text, err := t.create(ctx, c, a)
	if err != nil {
		return refuse(ctx, a.Path, err)
	}
	return tool.Result{Text: text, File: a.Path}, nil
}

// Hash implements [tool.Verifier].
func (t *Create) Hash(ctx context.Context, c tool.Call) (string, error) {
	var a createArgs
	if err := tool.Decode(t.Spec(), c, &a); err != nil {
		return "", err
	}
	return hash(ctx, c, t.opts.changing(c), a.Path)
}

func (t *Create) create(ctx context.Context, c tool.Call, a createArgs) (string, error) {
	if int64(len(a.Content)) > t.opts.EditSize {
		return "", fika.Errorf(fika.Limit, "create", "content has %d bytes, %d is the most", len(a.Content), t.opts.EditSize)
	}
	if last := a.Path[max(0, len(a.Path)-1):]; last == "/" {
		return "", fika.Errorf(fika.Invalid, "create", "%s names a directory: add the name of a file", short(a.Path))
	}
	p, err := enter(c, t.opts.changing(c), a.Path)
	if err != nil {
		return "", err
	}
	defer p.close()
	if p.rel, err = p.target(a.Path); err != nil {
		return "", err
	}
	if err := p.mayChange(a.Path); err != nil {
		return "", err
	}
	old, err := p.occupant(a)
	if err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	made := p.missing()
	if err := p.root.MkdirAll(filepath.Dir(p.rel), 0o777); err != nil {
		return "", explain(a.Path, err)
	}
	if err := p.save(c.Step, []byte(a.Content), old, a.Overwrite, t.opts.keeper(c, made)); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = taken(a.Path)
		}
		return "", explain(a.Path, err)
	}
	verb := "created"
	if old != nil {
		verb = "replaced"
	}
	return fmt.Sprintf("%s %s (%d bytes)", verb, short(a.Path), len(a.Content)), nil
}

// missing lists the folders of the path that do not exist, deepest first.
func (p place) missing() []string {
	var out []string
	for dir := filepath.Dir(p.rel); dir != "."; dir = filepath.Dir(dir) {
		if _, err := p.root.Lstat(dir); !isMissing(err) {
			break
		}
		out = append(out, dir)
	}
	return out
}

// keeper returns the function that save calls before the change of a call; nil if
// nothing is to be called.
func (o Options) keeper(c tool.Call, made []string) func(Change) error {
	if o.Keep == nil {
		return nil
	}
	return func(x Change) error {
		x.Made = made
		return o.Keep(c, x)
	}
}

// occupant returns the existing file that may be replaced; nil: there is none.
func (p place) occupant(a createArgs) (fs.FileInfo, error) {
	info, err := p.root.Lstat(p.rel)
	switch {
	case isMissing(err):
		return nil, nil
	case err != nil:
		return nil, explain(a.Path, err)
	case info.IsDir():
		return nil, fika.Errorf(fika.Invalid, "create", "%s is a directory: add the name of a file", short(a.Path))
	}
	if err := regular(a.Path, info); err != nil {
		return nil, err
	}
	if !a.Overwrite {
		return nil, taken(a.Path)
	}
	return info, p.writable(a.Path, info)
}

func taken(path string) error {
	return fika.Errorf(fika.Conflict, "create", "%s exists: change it with edit, or set overwrite to replace all of it", short(path))
}
