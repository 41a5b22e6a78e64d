package git

import (
	"os"
	"path/filepath"
	"strings"
)

// Head is what git's files say about a working tree, read without running git: a few
// small files are read, and nothing of them is obeyed.
type Head struct {
	Branch string // empty: no branch is checked out, or there is no repository
	Commit string // of a tree without a branch, in hexadecimal
	Doing  string // "a rebase", "a merge" …, if one was begun and not ended
}

// maxHead bounds each file that [ReadHead] reads.
const maxHead = 4 << 10

// ReadHead returns the head of the working tree that contains a folder; false outside of
// one, or if its files are not git's.
func ReadHead(dir string) (Head, bool) {
	for {
		if gitDir, ok := dirOf(dir); ok {
			return headIn(gitDir)
		}
		up := filepath.Dir(dir)
		if up == dir {
			return Head{}, false
		}
		dir = up
	}
}

// dirOf returns where git keeps the data of the working tree whose root is dir.
func dirOf(dir string) (string, bool) {
	at := filepath.Join(dir, ".git")
	info, err := os.Stat(at)
	if err != nil || info.IsDir() {
		return at, err == nil
	}
	path, ok := strings.CutPrefix(readSmall(at), "gitdir: ")
	if !ok {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path, true
}

func headIn(gitDir string) (Head, bool) {
	text := readSmall(filepath.Join(gitDir, "HEAD"))
	var h Head
	if branch, ok := strings.CutPrefix(text, "ref: refs/heads/"); ok {
		h.Branch = branch
	} else if len(text) >= 40 && strings.Trim(text, "0123456789abcdef") == "" {
		h.Commit = text
	} else {
		return Head{}, false
	}
	for _, begun := range []struct{ file, what string }{
		{"rebase-merge", "a rebase"}, {"rebase-apply", "a rebase"}, {"MERGE_HEAD", "a merge"},
		{"CHERRY_PICK_HEAD", "a cherry-pick"}, {"REVERT_HEAD", "a revert"}, {"BISECT_LOG", "a bisection"},
	} {
		if _, err := os.Lstat(filepath.Join(gitDir, begun.file)); err == nil {
			h.Doing = begun.what
			break
		}
	}
	return h, true
}

// readSmall returns the only line of a small regular file; "" for anything else.
func readSmall(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxHead {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line := strings.TrimRight(string(data), "\r\n")
	if strings.ContainsAny(line, "\r\n") {
		return ""
	}
	return line
}
