package project

import (
	"bytes"
	"slices"
	"strings"

	"fika/internal/text/diff"
)

// Change is how one file differs between two trees.
type Change struct {
	Path   string
	What   string   // "new", "removed", "changed", "now executable", "no longer executable"
	Lines  []string // "+…", "-…", and " …" for context; nil if it is not text
	Bytes  int      // of the file afterwards
	Binary bool
}

// DiffTrees lists the differences of after from before, by path.
func DiffTrees(before, after Tree) []Change {
	var out []Change
	for _, f := range after.Files {
		b := before.Get(f.Path)
		switch {
		case b == nil:
			out = append(out, describeChange(f.Path, "new", nil, f.Data))
		case !bytes.Equal(b.Data, f.Data):
			out = append(out, describeChange(f.Path, "changed", b.Data, f.Data))
		}
		if was := b != nil && b.Exec; was != f.Exec {
			what := "now executable"
			if was {
				what = "no longer executable"
			}
			out = append(out, Change{Path: f.Path, What: what, Bytes: len(f.Data)})
		}
	}
	for _, b := range before.Files {
		if after.Get(b.Path) == nil {
			out = append(out, describeChange(b.Path, "removed", b.Data, nil))
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func describeChange(path, what string, before, after []byte) Change {
	c := Change{Path: path, What: what, Bytes: len(after)}
	if c.Binary = !diff.IsText(before) || !diff.IsText(after); !c.Binary {
		c.Lines = diff.Lines(before, after)
	}
	return c
}
