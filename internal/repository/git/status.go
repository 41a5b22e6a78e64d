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

// Snapshot is the state of those files of a folder that differ from the last commit;
// two snapshots show what has changed in between.
type Snapshot struct {
	Head  string            `json:"head"`  // the commit
	Files map[string]string `json:"files"` // by path below the folder: a summary of its lstat data
}

// Status takes a snapshot of a folder. It has the error kinds of [Run].
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
		// The number of fields before the path.
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

// fileState distinguishes states of a file without reading it.
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

// Changed returns the paths whose state differs from the earlier snapshot s, sorted.
// dir is the folder of both. A file that was only committed meanwhile has not changed;
// what another commit brought shows only as a different Head.
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
