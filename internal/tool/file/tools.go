package file

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unicode"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/tool"
)

// Options bounds what the tools read and write; zero fields take the defaults.
type Options struct {
	ReadBytes int   // text of one read: 28 KiB, below the default limit of results
	ReadLines int   // lines of a read without a limit: 2000
	Entries   int   // of one list: 1000
	Visits    int   // directory entries looked at by one list: 200,000
	EditSize  int64 // of a file that edit and create accept: 16 MiB
	// Paths says what is out of reach, whatever the workspace.
	Paths guard.Paths
	// Obeyed returns what git reads or runs because the settings of a workspace name it:
	// that is not changed either. nil: Paths has it.
	Obeyed func(workspace string) []string
	// Homes identifies those of Paths.Homes that exist, for a process that may not be able
	// to look into what is hidden: to it, whatever cannot be looked up counts as hidden.
	// nil: this process looks them up.
	Homes []FileID
	// Pictures keeps pictures and documents that are read, for the model to see; nil: they
	// are refused like other binary files.
	Pictures tool.Keeper
	// Keep is called before every change and may refuse it with an error; may be nil.
	Keep func(tool.Call, Change) error
}

// Change is a change that is about to be made to one file.
type Change struct {
	Path string    // below the workspace, without links
	Old  io.Reader // the current content; nil: there is no file
	Size int64     // of Old
	Mode fs.FileMode
	New  []byte
	Made []string // folders that were made for it, deepest first
}

func (o Options) orDefault() Options {
	set := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	set(&o.ReadBytes, 28<<10)
	set(&o.ReadLines, 2000)
	set(&o.Entries, 1000)
	set(&o.Visits, 200_000)
	if o.EditSize <= 0 {
		o.EditSize = 16 << 20
	}
	return o
}

// Tools returns the tools read, list, edit and create.
func Tools(o Options) []tool.Tool {
	o = o.orDefault()
	return []tool.Tool{&Read{o}, &List{o}, &Edit{o}, &Create{o}}
}

// Read shows the lines of a text file.
type Read struct{ opts Options }

// List shows a directory, or the paths that a pattern matches.
type List struct{ opts Options }

// Edit replaces text in a file.
type Edit struct{ opts Options }

// Create writes a whole file.
type Create struct{ opts Options }

var (
	_ tool.Tool     = (*Read)(nil)
	_ tool.Tool     = (*List)(nil)
	_ tool.Tool     = (*Edit)(nil)
	_ tool.Tool     = (*Create)(nil)
	_ tool.Verifier = (*Edit)(nil)
	_ tool.Verifier = (*Create)(nil)
)

// Spec implements [tool.Tool].
func (*Read) Spec() tool.Spec {
	return tool.Spec{
		Name:        "read",
		Description: "Show text, image or PDF.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer"},` +
			`"limit":{"type":"integer"},"numbers":{"type":"boolean"}},"required":["path"]}`),
		Checked: true, Effect: fika.Pure,
	}
}

// Spec implements [tool.Tool].
func (*List) Spec() tool.Spec {
	return tool.Spec{
		Name:        "list",
		Description: "List a directory or glob (**/*.go).",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`),
		Checked:     true, Effect: fika.Pure,
	}
}

// Spec implements [tool.Tool].
func (*Edit) Spec() tool.Spec {
	return tool.Spec{
		Name:        "edit",
		Description: "Replace exact text that occurs once in a file.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"old":{"type":"string"},` +
			`"new":{"type":"string"},"replace_all":{"type":"boolean"}},"required":["path","old","new"]}`),
		Checked: true, ByName: true, Effect: fika.Verifiable,
	}
}

// Spec implements [tool.Tool].
func (*Create) Spec() tool.Spec {
	return tool.Spec{
		Name:        "create",
		Description: "Write a whole file.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},` +
			`"overwrite":{"type":"boolean"}},"required":["path","content"]}`),
		Checked: true, ByName: true, Effect: fika.Verifiable,
	}
}

// refuse returns the result of a call that failed; the end of the context is an error
// instead.
func refuse(ctx context.Context, path string, err error) (tool.Result, error) {
	if ctx.Err() != nil {
		return tool.Result{}, fika.Wrap(fika.Interrupted, "file", context.Cause(ctx))
	}
	r := tool.Refusal(err)
	r.File = path
	return r, nil
}

// shown returns a name as one line of text, quoted if it contains anything unprintable.
func shown(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 || strings.ContainsRune(name, '\uFFFD') {
		return strconv.Quote(name)
	}
	return name
}
