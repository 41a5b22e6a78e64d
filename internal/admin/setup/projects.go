package setup

import (
	"context"
	"path/filepath"
	"strings"

	"fika"
	"fika/internal/app"
	"fika/internal/repository/worktree"
	"fika/internal/settings/folder"
	"fika/internal/settings/project"
	"fika/internal/text/hint"
	"fika/internal/text/spelling"
)

// Known is a project that this person has used, and whether its hub runs.
type Known struct {
	project.Known
	Hub     bool
	Current bool // this invocation is in it
}

// ListProjects lists the projects of a person, sorted by id.
func ListProjects(a *app.App) ([]Known, error) {
	user, err := a.UserRoot()
	if err != nil {
		return nil, err
	}
	list, err := project.List(user)
	var out []Known
	for _, k := range list {
		_, hub := folder.HomeAt(k.Home).HubProcess()
		here := a.Project()
		out = append(out, Known{Known: k, Hub: hub, Current: here != nil && here.Home == k.Home})
	}
	return out, err
}

// FindProject returns the project with an id, a name or a folder; "" means the current
// one. Error kinds: NotFound, Conflict when several projects share the name.
func FindProject(a *app.App, word string) (Known, error) {
	const op = "find project"
	all, err := ListProjects(a)
	if err != nil {
		return Known{}, err
	}
	path := word
	if !filepath.IsAbs(path) {
		path = filepath.Join(a.Dir(), word)
	}
	var found []Known
	var names []string
	for _, k := range all {
		names = append(names, k.ID)
		named := k.Main != "" && (k.Name() == word || filepath.Clean(path) == k.Main)
		if word == "" && k.Current || word != "" && (k.ID == word || named) {
			found = append(found, k)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Known{}, fika.WithHint(fika.Errorf(fika.Conflict, op, "%d projects are named %s: use the id", len(found), word), hint.ProjectList)
	case word == "":
		return Known{}, fika.WithHint(fika.Errorf(fika.NotFound, op, "this is not a project"), hint.ProjectList)
	}
	return Known{}, fika.WithHint(fika.Errorf(fika.NotFound, op, "project %q not found%s", word, spelling.DidYouMean(word, names)), hint.ProjectList)
}

// idle takes the lock of a project's hub. It fails with Locked if the hub runs or a
// context is in use.
func idle(k Known) (*folder.HubLock, error) {
	h := folder.HomeAt(k.Home)
	lock, err := h.LockHub()
	if fika.IsKind(err, fika.Locked) {
		return nil, fika.Errorf(fika.Locked, "", "the hub of %s runs: fika --home %s down", k.ID, k.Home)
	}
	if err != nil {
		return nil, err
	}
	names, _, err := h.List()
	var held []string
	for _, n := range names {
		if s, err := h.Folder(n).Inspect(); err == nil && s.Held {
			held = append(held, string(n))
		}
	}
	if err == nil && len(held) > 0 {
		err = fika.Errorf(fika.Locked, "", "%s is in use by %s: wait for it, or fika --home %s agent stop --all", k.ID, strings.Join(held, ", "), k.Home)
	}
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}

// ForgetProject removes the data of a project. Error kinds: Locked while anything of
// it runs, Conflict while an agent has a worktree in it.
func ForgetProject(k Known) error {
	lock, err := idle(k)
	if err != nil {
		return err
	}
	defer lock.Close()
	trees, err := worktree.List(k.Home, k.Main)
	if err != nil {
		return err
	}
	if len(trees) > 0 {
		name := trees[0].Agent
		return fika.Errorf(fika.Conflict, "forget project", "@%s still has a git worktree in %s: %s removes it, if nothing in it is only there", name, trees[0].Root, hint.AgentDiscard.With(name))
	}
	if kept := worktree.KeptTrees(k.Home); len(kept) > 0 {
		return fika.Errorf(fika.Conflict, "forget project", "%s holds changes that were not committed when the worktree became a clone: remove it if they are not needed", kept[0])
	}
	return k.Forget()
}

// MoveProject gives the data of a project to the folder of this invocation, to which
// the project has been moved. Error kinds: Locked, Conflict, NotFound.
func MoveProject(a *app.App, k Known) (*project.Project, error) {
	to := a.Project()
	if to == nil {
		return nil, fika.Errorf(fika.NotFound, "move project", "this is not a project: go to the folder that the project is in now")
	}
	if !k.Gone && k.Main != "" && k.Main != to.Main {
		return nil, fika.Errorf(fika.Conflict, "move project", "%s is still in %s", k.ID, k.Main)
	}
	lock, err := idle(k)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := k.MoveTo(to, a.Now()); err != nil {
		return nil, err
	}
	trees, err := worktree.List(to.Home, to.Main)
	if err == nil {
		err = worktree.RepairTrees(context.Background(), trees)
	}
	return to, err
}
