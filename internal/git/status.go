package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Snapshot is the state of a folder's files as far as they differ from what was
// committed last, so that two of them tell what has changed between.
type Snapshot struct {
	Head  string            `json:"head"`  // the commit
	Files map[string]string `json:"files"` // by path below the folder: what the file system says of them
}

// Status takes the snapshot of a folder. Error kinds as of [Run].
func Status(ctx context.Context, dir string) (Snapshot, error) {
	prefix, err := run(ctx, Call{Dir: dir, Args: []string{"rev-parse", "--show-prefix"}}, quiet())
	if err != nil {
		return Snapshot{}, err
	}
	out, err := Run(ctx, dir, "status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all", "--", ".")
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{Files: map[string]string{}}
	below := strings.TrimSuffix(string(prefix), "\n")
	for _, line := range strings.Split(string(out), "\x00") {
		kind, rest, _ := strings.Cut(line, " ")
		// How many fields stand before the path.
		fields, known := map[string]int{"1": 7, "u": 9, "?": 0}[kind]
		if oid, ok := strings.CutPrefix(line, "# branch.oid "); ok {
			s.Head = oid
		}
		parts := strings.SplitN(rest, " ", fields+1)
		if !known || len(parts) != fields+1 {
			continue
		}
		if path, ok := strings.CutPrefix(parts[fields], below); ok {
			s.Files[path] = fileState(filepath.Join(dir, path))
		}
	}
	return s, nil
}

// fileState tells one state of a file from another without reading it.
func fileState(path string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return "absent"
	}
	var inode uint64
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = st.Ino
	}
	return fmt.Sprintf("%s %d %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano(), inode)
}

// Changed lists the paths that are not what they were before, in order. dir is
// the folder of both. What was only committed meanwhile has not changed; what
// another commit brought shows as a different Head alone.
func (s Snapshot) Changed(dir string, after Snapshot) []string {
	var out []string
	for path, now := range after.Files {
		if was, ok := s.Files[path]; !ok || was != now {
			out = append(out, path)
		}
	}
	for path, was := range s.Files {
		if _, still := after.Files[path]; !still && fileState(filepath.Join(dir, path)) != was {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}
