package worktree

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"fika/internal/repository/git"
	"fika/internal/rights/guard"
)

// Risk is a changed path that needs a person's yes before it is merged.
type Risk struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// change is one line of "git diff-tree --raw".
type change struct {
	path, mode, was, now string // mode and object after it; was: object before it
}

// Modes of git's tree entries.
const (
	modeLink    = "120000"
	modeGitlink = "160000"
)

// changed returns what a merge changes of a working tree's commit.
func changed(ctx context.Context, dir, from, to string) ([]change, error) {
	out, err := git.Run(ctx, dir, "diff-tree", "-r", "--raw", "-z", "--no-renames", "--full-index", from, to)
	if err != nil {
		return nil, err
	}
	var list []change
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		words := strings.Fields(strings.TrimPrefix(fields[i], ":")) // old mode, mode, old object, object, status
		if len(words) < 5 {
			continue
		}
		list = append(list, change{path: fields[i+1], mode: words[1], was: words[2], now: words[3]})
	}
	return list, nil
}

// risks returns which of the changes a person has to agree to.
func risks(ctx context.Context, dir string, changes []change) ([]Risk, error) {
	obeyed := git.FindObeyed(ctx, dir).Paths
	var out []Risk
	for _, c := range changes {
		why, err := riskOf(ctx, dir, c, obeyed)
		if err != nil {
			return nil, err
		}
		if why != "" {
			out = append(out, Risk{c.path, why})
		}
	}
	return out, nil
}

func riskOf(ctx context.Context, dir string, c change, obeyed []string) (string, error) {
	gone := strings.Trim(c.now, "0") == ""
	switch base := strings.ToLower(path.Base(c.path)); {
	case c.mode == modeGitlink:
		return "is a submodule: git fetches and checks out what it names", nil
	case base == ".gitmodules":
		return "says where submodules come from", nil
	case base == ".gitattributes" && !gone:
		text, err := git.Run(ctx, dir, "cat-file", "blob", c.now)
		if err != nil {
			return "", err
		}
		var old []byte
		if strings.Trim(c.was, "0") != "" {
			old, _ = git.Run(ctx, dir, "cat-file", "blob", c.was)
		}
		if namesProgram(string(text), string(old)) {
			return "names a filter or driver, which git runs", nil
		}
	case c.mode == modeLink:
		target, err := git.Run(ctx, dir, "cat-file", "blob", c.now)
		if err != nil {
			return "", err
		}
		if to := path.Join(path.Dir(c.path), string(target)); path.IsAbs(string(target)) || to == ".." || strings.HasPrefix(to, "../") || to == ".git" || strings.HasPrefix(to, ".git/") {
			return "is a link out of the tree, to " + string(target), nil
		}
	}
	if why := guard.Protected(c.path); why != "" {
		return why, nil
	}
	for _, o := range obeyed {
		if rel, err := filepath.Rel(o, filepath.Join(dir, c.path)); err == nil && filepath.IsLocal(rel) {
			return "is read or run by git, because its settings name it", nil
		}
	}
	return "", nil
}

// namesProgram reports whether the lines of a gitattributes(5) file that are new name
// anything that git runs.
func namesProgram(now, before string) bool {
	old := map[string]bool{}
	for line := range strings.Lines(before) {
		old[strings.TrimSpace(line)] = true
	}
	for line := range strings.Lines(now) {
		if line = strings.TrimSpace(line); old[line] || strings.HasPrefix(line, "#") {
			continue
		}
		for _, word := range strings.Fields(line) {
			if name, _, ok := strings.Cut(word, "="); ok && (name == "filter" || name == "diff" || name == "merge") || strings.HasPrefix(line, "[attr]") {
				return true
			}
		}
	}
	return false
}

// ownPrograms says why the person's own git has to make a merge: fika's runs no program
// of theirs, and what it checked out would not be what they see. It is empty if none
// takes part.
func ownPrograms(ctx context.Context, dir string, changes []change) (string, error) {
	for _, hook := range []string{"post-merge", "post-checkout"} {
		at, err := git.HookPath(ctx, dir, hook)
		if err != nil {
			return "", err
		}
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return "the hook " + hook + " runs after it", nil
		}
	}
	var paths strings.Builder
	for _, c := range changes {
		paths.WriteString(c.path + "\x00")
		if path.Base(c.path) == ".gitattributes" {
			return c.path + " changes, on which filters depend", nil
		}
	}
	out, err := git.RunCall(ctx, git.Call{Dir: dir, Args: []string{"check-attr", "-z", "--stdin", "filter"}, Stdin: paths.String()})
	if err != nil {
		return "", err
	}
	fields := strings.Split(string(out), "\x00") // path, attribute, value
	for i := 0; i+2 < len(fields); i += 3 {
		switch name := fields[i+2]; name {
		case "unspecified", "unset", "set", "":
		default:
			if out, _ := git.Run(ctx, dir, "config", "--get-regexp", `^filter\..*\.(clean|smudge|process)$`); strings.Contains(string(out), "filter."+name+".") {
				return "the filter " + name + " is for " + fields[i], nil
			}
		}
	}
	return "", nil
}
