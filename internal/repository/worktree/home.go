package worktree

import (
	"context"
	"encoding/hex"
	"strings"

	"fika"
	"fika/internal/repository/git"
)

// maxBranches is the most branches of a tree that are brought home; of more, only what is
// checked out.
const maxBranches = 200

// Remote returns the folder of refs in the person's repository under which what the agent
// has committed is found: HEAD is what it has checked out, the rest are its branches.
func (t Tree) Remote() string { return "refs/remotes/fika/" + t.Name() + "/" }

// base returns the folder of refs that keep the commits that the tree borrows.
func (t Tree) base() string { return "refs/fika/base/" + t.Name() + "/" }

// offer is the ref of a commit with all files of the tree as they were last looked at.
func (t Tree) offer() string { return "refs/fika/offer/" + t.Name() }

// Import brings what the agent has committed into the person's repository, under
// [Tree.Remote]. It changes no other ref there but those that keep what the tree borrows.
func (t Tree) Import(ctx context.Context) error {
	if err := t.check(ctx); err != nil {
		return err
	}
	out, err := t.inside(ctx, `git rev-parse --verify -q 'HEAD^{commit}' && git for-each-ref --count=201 --format='%(objectname) %(refname)' refs/heads`)
	if err != nil {
		return err
	}
	inside := strings.Split(out, "\n")
	wanted := map[string]string{"HEAD": inside[0]}
	if len(inside) <= maxBranches {
		for _, line := range inside[1:] {
			if object, name, ok := strings.Cut(line, " refs/heads/"); ok {
				wanted[name] = object
			}
		}
	}
	now, err := t.refs(ctx, t.Remote())
	if err != nil || same(wanted, now) {
		return err
	}
	specs := []string{"+HEAD:" + t.Remote() + "HEAD"}
	if len(wanted) > 1 {
		specs = append(specs, "+refs/heads/*:"+t.Remote()+"*")
	}
	if err := t.fetch(ctx, specs...); err != nil {
		return err
	}
	if now, err = t.refs(ctx, t.Remote()); err != nil {
		return err
	}
	return t.keepBorrowed(ctx, now)
}

// refs returns the refs of the person's repository below a folder of refs.
func (t Tree) refs(ctx context.Context, below string) (map[string]string, error) {
	out, err := git.Run(ctx, t.Project, "for-each-ref", "--format=%(objectname) %(refname)", below)
	refs := map[string]string{}
	for _, line := range strings.Split(string(out), "\n") {
		if object, name, ok := strings.Cut(line, " "); ok {
			refs[strings.TrimPrefix(name, below)] = object
		}
	}
	return refs, err
}

func same(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for name, object := range a {
		if b[name] != object {
			return false
		}
	}
	return true
}

// keepBorrowed makes the person's repository keep commits that the tree needs, whatever
// becomes of the branches they are on. What it kept before stays in the ref's log.
func (t Tree) keepBorrowed(ctx context.Context, refs map[string]string) error {
	was, err := t.refs(ctx, t.base())
	if err != nil {
		return err
	}
	var b strings.Builder
	for name := range was {
		if _, still := refs[name]; !still && name != "person" && name != "merged" && !strings.HasPrefix(name, "remotes/") {
			b.WriteString("delete " + t.base() + name + "\n")
		}
	}
	for name, object := range refs {
		if was[name] != object {
			b.WriteString("update " + t.base() + name + " " + object + "\n")
		}
	}
	return t.updateRefs(ctx, t.Project, b.String())
}

func (t Tree) updateRefs(ctx context.Context, dir, commands string) error {
	if commands == "" {
		return nil
	}
	_, err := git.RunCall(ctx, git.Call{Dir: dir, Args: []string{"update-ref", "--create-reflog", "-m", "fika: what " + t.whose() + " borrows", "--stdin"}, Stdin: commands})
	return err
}

// snapshot is a script that makes a commit of all files that are not ignored, without
// changing the agent's index, and prints what is checked out, that commit, and what is
// unfinished. git looks again at files that were changed in the second before the index
// was written, so the copy has to be as old.
const snapshot = `set -e
head=$(git rev-parse --verify -q 'HEAD^{commit}')
dir=$(git rev-parse --absolute-git-dir)
index=$dir/fika-index
trap 'rm -f "$index" "$index.lock"' EXIT
if [ -e "$dir/index" ]; then cp -p "$dir/index" "$index"; fi
tree=$(GIT_INDEX_FILE=$index; export GIT_INDEX_FILE; git -c advice.addEmbeddedRepo=false add -A >&2 && git write-tree)
commit=$head
if [ "$tree" != "$(git rev-parse 'HEAD^{tree}')" ]; then commit=$(git commit-tree "$tree" -p "$head" -m "$1"); fi
git update-ref refs/fika/offer "$commit"
open=
if [ -n "$(git ls-files -u | head -c 1)" ]; then open=conflicts; fi
for name in MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD; do
	if git rev-parse --verify -q $name >/dev/null; then open=${open:-operation}; fi
done
echo "$head $commit $open"`

// tracked is a script that prints what identifies HEAD and the files that git keeps track of.
const tracked = `git rev-parse --verify -q 'HEAD^{commit}' && git diff --no-ext-diff --no-textconv --binary HEAD | git hash-object --stdin`

// Tracked returns what identifies HEAD of the tree and the files that git keeps track of, as
// they are.
func (t Tree) Tracked(ctx context.Context) (string, error) { return t.inside(ctx, tracked) }

// offered is what a tree holds.
type offered struct {
	head   string // what is checked out
	commit string // all files, as a commit; head if nothing is uncommitted
	open   string // "conflicts", "operation" or nothing
}

// offers brings all that the tree holds into the person's repository.
func (t Tree) offers(ctx context.Context) (o offered, err error) {
	if err := t.Import(ctx); err != nil {
		return o, err
	}
	out, err := t.inside(ctx, snapshot, "Work of @"+string(t.Agent)+", not committed")
	if err != nil {
		return o, err
	}
	words := strings.Fields(out)
	if len(words) < 2 || !isObject(words[0]) || !isObject(words[1]) {
		return o, fika.Errorf(fika.Failed, "worktree", "git in %s said %.100q", t.Root, out)
	}
	if len(words) > 2 {
		o.open = words[2]
	}
	if err := t.fetch(ctx, "+refs/fika/offer:"+t.offer()); err != nil {
		return o, err
	}
	refs, err := t.refs(ctx, t.Remote())
	if err != nil {
		return o, err
	}
	o.head = refs["HEAD"]
	// What was said inside is material: the commit is the one that came.
	o.commit, err = git.RunLine(ctx, t.Project, "rev-parse", "--verify", "-q", t.offer()+"^{commit}")
	return o, err
}

func isObject(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && (len(text) == 40 || len(text) == 64)
}
