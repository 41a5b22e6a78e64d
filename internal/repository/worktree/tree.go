package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fika"
	"fika/internal/repository/git"
	"fika/internal/tool"
)

// Tree is the working tree of one agent, or of one task of the board, which agents work in
// one after the other; it may not have been made yet.
type Tree struct {
	Agent   fika.AgentName  // who works in it
	Task    fika.TaskNumber // whose it is; 0: the agent's own
	Root    string          // its folder
	Project string          // the project's folder in the main working tree
	// Confine confines what is run in the tree, as the agent's commands are. Nil: nothing
	// can be run there, so the tree can be made, but not looked at.
	Confine tool.Confinement
}

// TreeOf returns the tree of an agent in the home of a project.
func TreeOf(home string, agent fika.AgentName, project string) Tree {
	return Tree{Agent: agent, Root: filepath.Join(TreesFolder(home), string(agent)), Project: project}
}

// ForTask returns the tree of a task in which the same agent works.
func (t Tree) ForTask(n fika.TaskNumber) Tree {
	if n > 0 {
		t.Task = n
		t.Root = filepath.Join(filepath.Dir(t.Root), t.Name())
	}
	return t
}

// Name names the tree in paths, refs and commands: the agent's name, or that of its task.
func (t Tree) Name() string {
	if t.Task > 0 {
		return taskPrefix + strconv.FormatInt(int64(t.Task), 10)
	}
	return string(t.Agent)
}

// taskPrefix begins the names of the trees of tasks. No agent whose name is one has a tree.
const taskPrefix = "task-"

// ParseTask returns the task whose tree a name names; 0 if it names an agent's.
func ParseTask(name string) fika.TaskNumber {
	digits, ok := strings.CutPrefix(name, taskPrefix)
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n <= 0 || taskPrefix+strconv.FormatInt(n, 10) != name {
		return 0
	}
	return fika.TaskNumber(n)
}

// TaskAt returns the task in whose tree a folder of a home is; 0 if it is in none.
func TaskAt(home, dir string) fika.TaskNumber {
	rel, err := filepath.Rel(TreesFolder(home), dir)
	if err != nil {
		return 0
	}
	name, _, _ := strings.Cut(rel, string(filepath.Separator))
	return ParseTask(name)
}

// whose names the owner of the tree in sentences.
func (t Tree) whose() string {
	if t.Task > 0 {
		return fmt.Sprintf("task %d", t.Task)
	}
	return "@" + string(t.Agent)
}

// TreesFolder returns the folder that holds the trees of a home.
func TreesFolder(home string) string { return filepath.Join(home, "worktrees") }

// List returns the trees of a home that have been made, sorted by name. Those of tasks have
// no agent.
func List(home, project string) ([]Tree, error) {
	dirs, err := os.ReadDir(TreesFolder(home))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fika.Wrap(fika.Storage, "list worktrees", err)
	}
	var out []Tree
	for _, d := range dirs {
		if name, err := fika.ParseAgentName(d.Name()); err == nil && d.IsDir() {
			if n := ParseTask(d.Name()); n > 0 {
				out = append(out, Tree{Task: n, Root: filepath.Join(TreesFolder(home), d.Name()), Project: project})
				continue
			}
			out = append(out, TreeOf(home, name, project))
		}
	}
	return out, nil
}

// Branch returns the name of the tree's branch, by which git in the person's repository
// finds what the agent has checked out, too.
func (t Tree) Branch() string { return "fika/" + t.Name() }

// Dir returns the folder that the agent works in, which is the project's place in the
// tree.
func (t Tree) Dir() string {
	for top := filepath.Clean(t.Project); ; top = filepath.Dir(top) {
		if _, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
			rel, _ := filepath.Rel(top, t.Project)
			return filepath.Join(t.Root, rel)
		}
		if top == filepath.Dir(top) {
			return t.Root
		}
	}
}

// IsMade reports whether the tree has been made.
func (t Tree) IsMade() bool {
	_, err := os.Lstat(filepath.Join(t.Root, ".git"))
	return err == nil
}

// MergeTarget returns the working tree into which the agent's work is merged for a
// person in folder dir: the one that contains dir if it belongs to the same repository
// and is not an agent's, else the project's own.
func (t Tree) MergeTarget(ctx context.Context, dir string) string {
	home, err := git.Find(ctx, t.Project)
	if err != nil {
		return t.Project
	}
	here, err := git.Find(ctx, dir)
	agents, real := filepath.EvalSymlinks(filepath.Dir(t.Root))
	if err != nil || here.Common != home.Common || real == nil && strings.HasPrefix(here.Top, agents+string(filepath.Separator)) {
		return home.Top
	}
	return here.Top
}

// Check returns an error if the tree does not exist and could not be made.
func (t Tree) Check(ctx context.Context) error {
	if t.IsMade() {
		return nil
	}
	_, err := t.start(ctx)
	return err
}

// start finds the repository of the tree, and refuses one without a commit.
func (t Tree) start(ctx context.Context) (git.Repository, error) {
	if err := t.nameable(); err != nil {
		return git.Repository{}, err
	}
	r, err := git.Find(ctx, t.Project)
	if fika.IsKind(err, fika.NotFound) {
		return r, fika.Errorf(fika.Invalid, "worktree", "@%s cannot have a worktree: %v; git init there, or set workspace to a folder", t.Agent, err)
	}
	if err != nil {
		return r, err
	}
	if _, err := git.RunLine(ctx, t.Project, "rev-parse", "--verify", "-q", "HEAD^{commit}"); err != nil {
		return r, fika.Errorf(fika.Invalid, "worktree", "@%s cannot have a worktree: %s has no commit yet; git commit first", t.Agent, r.Top)
	}
	return r, nil
}

// nameable refuses the names whose refs are those of [Target.Ref] or of the trees of tasks.
func (t Tree) nameable() error {
	switch {
	case t.Task > 0:
	case t.Agent == "landing":
		return fika.Errorf(fika.Invalid, "worktree", "an agent called landing cannot have a worktree: its branches would be where work lands")
	case ParseTask(string(t.Agent)) > 0:
		return fika.Errorf(fika.Invalid, "worktree", "an agent called %s cannot have a worktree: it would be that of a task", t.Agent)
	}
	return nil
}

// head returns the commit checked out in a folder.
func head(ctx context.Context, dir string) (string, error) {
	return git.RunLine(ctx, dir, "rev-parse", "--verify", "-q", "HEAD^{commit}")
}

// lines returns the lines, or the NUL-terminated fields, of git's output.
func lines(out []byte) []string {
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' || r == 0 })
}
