package setup

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"fika/internal/repository/git"
	"fika/internal/settings/config"
)

// Landing is how the work of a team lands in a project.
type Landing struct {
	Into  string // the branch
	Check string // the project's own test command; empty: none was found
	Found string // the file that says so
	// Missing is what the project lacks so that anybody can have a worktree; empty: nothing.
	Missing string
}

// maxManifest bounds what is read of a file that names a test command, in bytes.
const maxManifest = 1 << 20

// FindLanding looks at the files of a project for how its work should land: on the branch
// that is checked out, tested with the command that the project itself names. It runs
// nothing of the project.
func FindLanding(ctx context.Context, root string) Landing {
	l := Landing{Into: "main"}
	l.Check, l.Found = findCheck(root)
	if _, err := git.Find(ctx, root); err != nil {
		l.Missing = "a git repository (git init)"
		return l
	}
	if branch, err := git.RunLine(ctx, root, "symbolic-ref", "-q", "--short", "HEAD"); err == nil && branch != "" {
		l.Into = branch
	}
	if _, err := git.RunLine(ctx, root, "rev-parse", "--verify", "-q", "HEAD^{commit}"); err != nil {
		l.Missing = "a commit (git commit)"
	}
	return l
}

// findCheck returns the test command of a project, and the file that names it.
func findCheck(root string) (check, found string) {
	testTarget := regexp.MustCompile(`(?m)^test[ \t]*:([^=]|$)`)
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		if testTarget.MatchString(manifest(root, name)) {
			return "make test", name
		}
	}
	if manifest(root, "go.mod") != "" {
		return "go test ./...", "go.mod"
	}
	var npm struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(manifest(root, "package.json")), &npm) == nil {
		if test := npm.Scripts["test"]; test != "" && !strings.Contains(test, "no test specified") {
			return "npm test", "package.json"
		}
	}
	if manifest(root, "Cargo.toml") != "" {
		return "cargo test", "Cargo.toml"
	}
	return "", ""
}

// manifest returns the beginning of a regular file of a project; "" if there is none.
func manifest(root, name string) string {
	path := filepath.Join(root, name)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxManifest))
	if err != nil {
		return ""
	}
	return string(text)
}

// settings returns the table of a config file.
func (l Landing) settings() string {
	text := "\n[landing]\n# What lands on this branch is reviewed and checked first, in a clone of its own.\ninto = " + config.QuoteTOML(l.Into) + "\nreviewers = [\"reviewer\"]\n"
	if l.Check == "" {
		return text + "# The command that says whether work is good. Without it nothing lands.\n# check = \"make test\"\n"
	}
	return text + "check = " + config.QuoteTOML(l.Check) + "\n"
}
