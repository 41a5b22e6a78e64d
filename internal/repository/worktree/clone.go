package worktree

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"fika"
	"fika/internal/repository/git"
	"fika/internal/text/hint"
)

// Open makes the tree if there is none: from what had been committed there, else from the
// commit checked out in the project's folder. A tree that was made as a linked working
// tree of git becomes a clone; if it has changes that are not committed, it is kept
// beside it as well, and kept is its folder. made reports whether the tree is new.
func (t Tree) Open(ctx context.Context) (made bool, kept string, err error) {
	if err := os.MkdirAll(filepath.Dir(t.Root), 0o700); err != nil {
		return false, "", fika.Wrap(fika.Storage, "make worktree", err)
	}
	if moving := t.beside(".moving-"); !t.IsMade() && exists(moving) { // interrupted: begin again
		if _, err := git.Run(ctx, t.Project, "worktree", "move", "-f", "-f", "--", moving, t.Root); err != nil {
			return false, "", err
		}
	}
	switch {
	case t.IsLinked():
		kept, err = t.adopt(ctx)
		return false, kept, err
	case t.IsMade():
		if err := t.check(ctx); err != nil {
			return false, "", err
		}
		return false, "", t.refresh(ctx)
	}
	r, err := t.start(ctx)
	if err != nil {
		return false, "", err
	}
	at, err := head(ctx, t.Project)
	for _, ref := range []string{t.Remote() + "HEAD", "refs/heads/" + t.Branch()} {
		if own, failed := git.RunLine(ctx, t.Project, "rev-parse", "--verify", "-q", ref+"^{commit}"); failed == nil {
			at = own
		}
	}
	if err != nil {
		return false, "", err
	}
	temp, err := t.clone(ctx, r, at)
	if err != nil {
		return false, "", err
	}
	defer os.RemoveAll(temp)
	if err := checkOut(ctx, temp); err != nil {
		return false, "", err
	}
	if err := os.Rename(temp, t.Root); err != nil {
		return false, "", fika.Wrap(fika.Storage, "make worktree", err)
	}
	return true, "", t.forgetBranch(ctx)
}

// checkOut writes the files of a new clone.
func checkOut(ctx context.Context, dir string) error {
	for _, args := range [][]string{{"read-tree", "HEAD"}, {"checkout-index", "-a", "-q"}, {"update-index", "-q", "--refresh"}} {
		if _, err := git.Run(ctx, dir, args...); err != nil {
			return err
		}
	}
	return nil
}

// refresh moves the person's branch in the tree to where the person has it now, unless
// the agent has moved it or works on it.
func (t Tree) refresh(ctx context.Context) error {
	branch, err := git.RunLine(ctx, t.Project, "symbolic-ref", "-q", "--short", "HEAD")
	if err != nil || t.Confine == nil {
		return nil
	}
	now, err := head(ctx, t.Project)
	if err != nil {
		return err
	}
	refs, err := t.refs(ctx, t.base())
	if err != nil || refs["person"] == now {
		return err
	}
	was := refs["person"]
	refs["person"] = now
	if err := t.keepBorrowed(ctx, refs); err != nil {
		return err
	}
	// The agent may have made of its branch what it likes.
	_, _ = t.inside(ctx, `[ "$(git symbolic-ref -q HEAD)" = "refs/heads/$1" ] || git update-ref "refs/heads/$1" "$2" "$3"`, branch, now, was)
	return nil
}

// beside returns the path of a folder beside the tree that is no tree itself.
func (t Tree) beside(prefix string) string {
	return filepath.Join(filepath.Dir(t.Root), prefix+t.Name())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// IsLinked reports whether the tree is a linked working tree of the person's repository.
func (t Tree) IsLinked() bool {
	info, err := os.Lstat(filepath.Join(t.Root, ".git"))
	return err == nil && info.Mode().IsRegular()
}

// clone makes a repository that borrows the objects of the person's, in a folder beside
// the tree, without files. It holds no hooks, and of the settings only those that say
// who commits and how files are stored.
func (t Tree) clone(ctx context.Context, r git.Repository, at string) (dir string, err error) {
	old, _ := filepath.Glob(t.beside(".new-") + "-*")
	for _, left := range old {
		_ = os.RemoveAll(left)
	}
	config, err := t.settings(ctx)
	if err != nil {
		return "", err
	}
	refs, err := t.borrowed(ctx, at)
	if err != nil {
		return "", err
	}
	// First, so that nothing that is borrowed can be collected meanwhile.
	kept := maps.Clone(refs)
	if kept["person"], err = head(ctx, t.Project); err != nil {
		return "", err
	}
	if err := t.keepBorrowed(ctx, kept); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp(filepath.Dir(t.Root), filepath.Base(t.beside(".new-"))+"-"); err != nil {
		return "", fika.Wrap(fika.Storage, "make worktree", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	if err = fill(ctx, r, t.Project, dir, t.Branch(), config); err != nil {
		return dir, err
	}
	var b strings.Builder
	for name, object := range refs {
		if name == "HEAD" {
			name = "heads/" + t.Branch()
		}
		b.WriteString("update refs/" + name + " " + object + "\n")
	}
	return dir, t.updateRefs(ctx, dir, b.String())
}

// fill makes an empty folder a repository without refs or files that borrows the objects of
// a project's.
func fill(ctx context.Context, r git.Repository, project, dir, branch, config string) error {
	format, err := git.RunLine(ctx, project, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	if _, err = git.Run(ctx, dir, "init", "-q", "--template=", "--object-format="+format, "-b", branch); err != nil {
		return err
	}
	own := filepath.Join(dir, ".git")
	err = errors.Join(
		os.MkdirAll(filepath.Join(own, "objects/info"), 0o755),
		os.WriteFile(filepath.Join(own, "objects/info/alternates"), []byte(filepath.Join(r.Common, "objects")+"\n"), 0o644),
		appendTo(filepath.Join(own, "config"), config), os.Chmod(dir, 0o755),
	)
	if shallow, failed := os.ReadFile(filepath.Join(r.Common, "shallow")); failed == nil {
		err = errors.Join(err, os.WriteFile(filepath.Join(own, "shallow"), shallow, 0o644))
	}
	return fika.Wrap(fika.Storage, "make worktree", err)
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// borrowed returns the refs that a new tree gets: HEAD, the person's branch, and what is
// known of the branches of remotes.
func (t Tree) borrowed(ctx context.Context, at string) (map[string]string, error) {
	refs := map[string]string{"HEAD": at}
	if branch, err := git.RunLine(ctx, t.Project, "symbolic-ref", "-q", "HEAD"); err == nil && branch != "refs/heads/"+t.Branch() {
		if commit, err := head(ctx, t.Project); err == nil {
			refs[strings.TrimPrefix(branch, "refs/")] = commit
		}
	}
	remotes, err := t.refs(ctx, "refs/remotes/")
	for name, object := range remotes {
		if !strings.HasPrefix(name, "fika/") && !strings.HasSuffix(name, "/HEAD") {
			refs["remotes/"+name] = object
		}
	}
	return refs, err
}

// settings returns what a clone gets of the settings of the person's repository. It
// refuses a partial clone, whose missing objects could not be fetched.
func (t Tree) settings(ctx context.Context) (string, error) {
	config, partial, err := settingsOf(ctx, t.Project)
	if partial != "" {
		return "", fika.Errorf(fika.Invalid, "worktree", "@%s cannot have a worktree: %s is a partial clone (%s), whose objects are not all here: git fetch --refetch --no-filter, or set workspace to a folder", t.Agent, t.Project, partial)
	}
	return config, err
}

// settingsOf returns what a clone gets of the settings of a repository, and the setting that
// makes that a partial clone; "" if it is none.
func settingsOf(ctx context.Context, project string) (config, partial string, err error) {
	out, err := git.Run(ctx, project, "config", "--list", "-z")
	if err != nil {
		return "", "", err
	}
	values := map[string]string{}
	var keys []string
	for _, one := range strings.Split(string(out), "\x00") {
		key, value, _ := strings.Cut(one, "\n")
		first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
		if first < 0 {
			continue
		}
		section, name := key[:first], key[last+1:]
		if key == "extensions.partialclone" || section == "remote" && name == "promisor" && value != "false" {
			return "", key, nil
		}
		if section == "remote" && (name == "url" || name == "pushurl") {
			value = withoutPassword(value)
		}
		if !slices.Contains(keys, key) && copied(section, key, name) {
			keys = append(keys, key)
		}
		values[key] = value
	}
	var b strings.Builder
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`)
	for _, key := range keys {
		first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
		section := key[:first]
		if first != last {
			section += ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key[first+1:last]) + `"`
		}
		b.WriteString("[" + section + "]\n\t" + key[last+1:] + " = \"" + quoted.Replace(values[key]) + "\"\n")
	}
	return b.String(), "", nil
}

func copied(section, key, name string) bool {
	switch section {
	case "user":
		return name == "name" || name == "email"
	case "core":
		return slices.Contains([]string{"autocrlf", "eol", "symlinks", "ignorecase", "safecrlf"}, name)
	case "i18n":
		return true
	case "remote":
		return slices.Contains([]string{"url", "pushurl", "fetch"}, name)
	}
	return strings.HasPrefix(key, "filter.lfs.")
}

// withoutPassword takes the password, and a name that may be a token, out of a URL.
func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil || u.Scheme != "http" && u.Scheme != "https" {
		return address
	}
	u.User = nil
	return u.String()
}

// check fails with NotFound if there is no tree, and with Denied if it is not this
// project's. It tells the tree where the objects are that it borrows: the project may
// have been moved.
func (t Tree) check(ctx context.Context) error {
	if err := t.nameable(); err != nil {
		return err
	}
	if !t.IsMade() {
		return fika.Errorf(fika.NotFound, "worktree", "%s has no worktree; with workspace = \"worktree\" in its settings it is made when the agent first works", t.whose())
	}
	home, err := git.Find(ctx, t.Project)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(t.Root) // follows no link that leads out of it
	if err != nil {
		return fika.Wrap(fika.Storage, "worktree", err)
	}
	defer root.Close()
	const alternates = ".git/objects/info/alternates"
	wanted := filepath.Join(home.Common, "objects") + "\n"
	if f, err := root.Open(alternates); err == nil {
		now := make([]byte, len(wanted)+1)
		n, _ := f.Read(now)
		f.Close()
		if string(now[:n]) == wanted {
			return nil
		}
	}
	if info, err := root.Lstat(".git"); err != nil || !info.IsDir() {
		return fika.Errorf(fika.Denied, "worktree", "%s is not a clone of %s (any more): %s removes it", t.Root, home.Top, hint.AgentDiscardForce.With(t.Name()))
	}
	_ = root.Remove(alternates)
	f, err := root.OpenFile(alternates, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fika.Wrap(fika.Storage, "worktree", err)
	}
	_, err = f.WriteString(wanted)
	return errors.Join(err, f.Close())
}

// adopt replaces a linked working tree of git by a clone with the same files. One with
// changes that are not committed is kept; its folder is returned.
func (t Tree) adopt(ctx context.Context) (kept string, err error) {
	r, err := t.linked(ctx)
	if err != nil {
		return "", err
	}
	at, err := head(ctx, t.Root)
	if err != nil {
		return "", err
	}
	status, err := git.Run(ctx, t.Root, "status", "--porcelain", "-z")
	if err != nil {
		return "", err
	}
	temp, err := t.clone(ctx, r, at)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	entries, err := os.ReadDir(t.Root)
	if err != nil {
		return "", fika.Wrap(fika.Storage, "make worktree", err)
	}
	for _, e := range entries {
		if e.Name() == ".git" {
			continue
		}
		if out, err := exec.CommandContext(ctx, "cp", "-a", "--", filepath.Join(t.Root, e.Name()), temp+"/").CombinedOutput(); err != nil {
			return "", fika.Errorf(fika.Storage, "make worktree", "copy %s: %v: %.200s", e.Name(), err, out)
		}
	}
	if _, err := git.Run(ctx, temp, "read-tree", "HEAD"); err != nil {
		return "", err
	}
	if _, err := git.Run(ctx, temp, "update-index", "-q", "--refresh"); err != nil && git.ExitStatus(err) != 1 {
		return "", err
	}
	moving := t.beside(".moving-")
	if _, err := git.Run(ctx, t.Project, "worktree", "move", "-f", "-f", "--", t.Root, moving); err != nil {
		return "", err
	}
	if err := os.Rename(temp, t.Root); err != nil {
		return "", fika.Wrap(fika.Storage, "make worktree", err)
	}
	if len(status) == 0 {
		_, err = git.Run(ctx, t.Project, "worktree", "remove", "-f", "-f", "--", moving)
	} else {
		kept = t.beside(".linked-")
		for n := 'a'; exists(kept); n++ {
			kept = t.beside(".linked-") + "." + string(n)
		}
		if _, err = git.Run(ctx, moving, "checkout", "-q", "--detach"); err == nil {
			_, err = git.Run(ctx, t.Project, "worktree", "move", "-f", "-f", "--", moving, kept)
		}
	}
	return kept, errors.Join(err, t.forgetBranch(ctx))
}

// RepairTrees tells git where linked working trees are after they or the repository were
// moved; clones are told when they are opened.
func RepairTrees(ctx context.Context, trees []Tree) error {
	args := []string{"worktree", "repair"}
	for _, t := range trees {
		if t.IsLinked() {
			args = append(args, t.Root)
		}
	}
	if len(args) == 2 {
		return nil
	}
	_, err := git.Run(ctx, trees[0].Project, args...)
	return err
}

// KeptTrees returns the folders of linked working trees that were kept when they were
// replaced by clones.
func KeptTrees(home string) []string {
	kept, _ := filepath.Glob(filepath.Join(TreesFolder(home), ".linked-*"))
	return kept
}

// linked returns the repository of a linked working tree. It fails with Denied if that is
// not the project's.
func (t Tree) linked(ctx context.Context) (git.Repository, error) {
	home, err := git.Find(ctx, t.Project)
	if err != nil {
		return home, err
	}
	own, err := git.Find(ctx, t.Root)
	if err != nil {
		return home, err
	}
	if root, err := filepath.EvalSymlinks(t.Root); err != nil || own.Top != root || own.Common != home.Common {
		return home, fika.Errorf(fika.Denied, "worktree", "%s is not a worktree of %s (any more): git worktree repair %s, in %s, may fix it", t.Root, home.Top, t.Root, home.Top)
	}
	return home, nil
}

// forgetBranch removes the branch that linked trees had in the person's repository, and
// keeps what it names where the agent's commits are found now.
func (t Tree) forgetBranch(ctx context.Context) error {
	at, err := t.branchTip(ctx)
	if err != nil || at == "" {
		return err
	}
	return t.updateRefs(ctx, t.Project, "update "+t.Remote()+"HEAD "+at+"\ndelete refs/heads/"+t.Branch()+" "+at+"\n")
}

// branchTip returns the commit of the branch that a linked tree had, or "".
func (t Tree) branchTip(ctx context.Context) (string, error) {
	at, err := git.RunLine(ctx, t.Project, "rev-parse", "--verify", "-q", "refs/heads/"+t.Branch())
	if git.ExitStatus(err) == 1 {
		return "", nil
	}
	return at, err
}
