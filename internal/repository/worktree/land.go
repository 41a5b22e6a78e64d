package worktree

import (
	"context"
	"strconv"
	"strings"

	"fika"
	"fika/internal/repository/git"
)

// The ways in which work is put on a branch.
const (
	LandRebase = "rebase" // each commit again, on top
	LandMerge  = "merge"  // one commit with two parents
	LandSquash = "squash" // one commit in place of all
)

// maxLanded is the most commits that one offer puts on a branch one by one.
const maxLanded = 500

// Work is what lands.
type Work struct {
	Offer  fika.OfferNumber
	Agent  fika.AgentName // whose work it is; "": a person's
	Source string         // how people call it
	Tip    string
	How    string // one of the Land constants
	// Landed are earlier commits of the same source that have landed, the newest first: what
	// is behind them is not put on the branch again.
	Landed []string
}

// Put is work that was put on a branch, which does not know yet.
type Put struct {
	Commit    string   // what the branch is to be
	Nothing   bool     // the branch has all of it
	Conflicts []string // paths in conflict; there is no commit then
	Text      string   // the conflicting lines
	Asks      []Risk   // what needs a person's yes
}

// Put puts work on a commit, without touching any file or ref: it only makes objects. The
// commits are the person's, signed by nobody, with an agent as co-author where it is the
// agent's work; a branch of the person's that begins at the commit stays as it is. It fails
// with Invalid if git does not know the person, and with Limit for too many commits.
func (t Target) Put(ctx context.Context, on string, w Work) (p Put, err error) {
	if has, err := t.contains(ctx, on, w.Tip); err != nil || has {
		return Put{Commit: on, Nothing: true}, err
	}
	if _, err := git.Run(ctx, t.Project, "merge-base", on, w.Tip); git.ExitStatus(err) == 1 {
		return p, fika.Errorf(fika.Invalid, "land", "%s and %s have no commit in common", w.Source, t.Into)
	}
	if w.Agent == "" && w.How == LandRebase {
		if ahead, err := t.contains(ctx, w.Tip, on); err != nil || ahead {
			return t.judged(ctx, on, Put{Commit: w.Tip}, err)
		}
	}
	d := dressing{trailers: []string{"Fika-Offer: " + strconv.FormatInt(int64(w.Offer), 10)}}
	name, mail, err := t.Identity(ctx)
	if err != nil {
		return p, err
	}
	if w.Agent != "" {
		d.name, d.mail = name, mail
		d.trailers = append(d.trailers, "Fika-Agent: "+string(w.Agent), "Co-authored-by: "+string(w.Agent)+" <"+string(w.Agent)+"@fika.invalid>")
	}
	since, err := t.since(ctx, w)
	if err != nil {
		return p, err
	}
	merges := ""
	if w.How == LandRebase {
		merges, err = git.RunLine(ctx, t.Project, append([]string{"rev-list", "--merges", "--max-count=1"}, between(on, w.Tip, since)...)...)
	}
	switch {
	case err != nil:
		return p, err
	case w.How == LandSquash:
		p, err = t.squash(ctx, on, since, w, d)
	case w.How == LandMerge, merges != "": // commits that were merged cannot be put one by one
		p, err = t.merge(ctx, on, since, w, d)
	default:
		p, err = t.rebase(ctx, on, w.Tip, since, d)
	}
	return t.judged(ctx, on, p, err)
}

// judged adds what needs a person's yes.
func (t Target) judged(ctx context.Context, on string, p Put, err error) (Put, error) {
	if err != nil || p.Commit == "" || p.Commit == on {
		p.Nothing = err == nil && p.Commit == on
		return p, err
	}
	changes, err := changed(ctx, t.Project, on, p.Commit)
	if err != nil {
		return p, err
	}
	p.Asks, err = risks(ctx, t.Project, changes)
	return p, err
}

// since returns the newest commit behind the work that has landed; "": none has.
func (t Target) since(ctx context.Context, w Work) (string, error) {
	for _, tip := range w.Landed {
		commit, err := t.commitOf(ctx, tip)
		if err != nil {
			return "", err
		}
		if commit == "" || commit == w.Tip {
			continue
		}
		if behind, err := t.contains(ctx, w.Tip, commit); err != nil || behind {
			return commit, err
		}
	}
	return "", nil
}

// between returns the arguments of git that select the commits of tip that are behind
// neither on nor since.
func between(on, tip, since string) []string {
	if since == "" {
		return []string{on + ".." + tip}
	}
	return []string{on + ".." + tip, "^" + since}
}

// tryOnto is tryMerge of work with the commit on which it is put. If the newest commit that
// both have is behind since, only what came after that is merged.
func (t Target) tryOnto(ctx context.Context, on, since, tip string) (tree string, conflicts []string, text string, err error) {
	if since == "" {
		return tryMerge(ctx, t.Project, on, tip)
	}
	common, err := git.RunLine(ctx, t.Project, "merge-base", on, tip)
	if err != nil {
		return "", nil, "", err
	}
	if older, err := t.contains(ctx, since, common); err != nil {
		return "", nil, "", err
	} else if older {
		tree, err := t.treeOf(ctx, on)
		if err != nil {
			return "", nil, "", err
		}
		if on, err = t.ours(ctx, tree, []string{since}); err != nil {
			return "", nil, "", err
		}
	}
	return tryMerge(ctx, t.Project, on, tip)
}

// ours makes a commit that stands for our side of a merge.
func (t Target) ours(ctx context.Context, tree string, parents []string) (string, error) {
	return t.commit(ctx, tree, parents, "ours", []string{
		"GIT_AUTHOR_NAME=fika", "GIT_AUTHOR_EMAIL=fika@fika.invalid", "GIT_COMMITTER_NAME=fika", "GIT_COMMITTER_EMAIL=fika@fika.invalid"})
}

func (t Target) merge(ctx context.Context, on, since string, w Work, d dressing) (Put, error) {
	tree, conflicts, text, err := t.tryOnto(ctx, on, since, w.Tip)
	if err != nil || len(conflicts) > 0 {
		return Put{Conflicts: conflicts, Text: text}, err
	}
	commit, err := t.commit(ctx, tree, []string{on, w.Tip}, d.message("Land "+w.Source), d.env())
	return Put{Commit: commit}, err
}

func (t Target) squash(ctx context.Context, on, since string, w Work, d dressing) (Put, error) {
	tree, conflicts, text, err := t.tryOnto(ctx, on, since, w.Tip)
	if err != nil || len(conflicts) > 0 {
		return Put{Conflicts: conflicts, Text: text}, err
	}
	if same, err := t.treeOf(ctx, on); err != nil || same == tree {
		return Put{Commit: on}, err
	}
	titles, err := git.RunLine(ctx, t.Project, append([]string{"log", "--reverse", "--no-merges", "--max-count=" + strconv.Itoa(maxLanded), "--format=%s"}, between(on, w.Tip, since)...)...)
	if err != nil {
		return Put{}, err
	}
	list := strings.Split(titles, "\n")
	text = list[0]
	if len(list) > 1 {
		text += "\n\n- " + strings.Join(list, "\n- ")
	}
	commit, err := t.commit(ctx, tree, []string{on}, d.message(text), d.env())
	return Put{Commit: commit}, err
}

// rebase puts the commits of tip that are behind neither on nor since, one after the other, on
// it. Those that change nothing there are left out.
func (t Target) rebase(ctx context.Context, on, tip, since string, d dressing) (Put, error) {
	list, err := t.commitsOf(ctx, on, tip, since)
	if err != nil {
		return Put{}, err
	}
	return t.pickAll(ctx, on, list, d)
}

// commitsOf returns the commits that [Target.rebase] puts on another one, the oldest first.
func (t Target) commitsOf(ctx context.Context, on, tip, since string) ([]string, error) {
	out, err := git.Run(ctx, t.Project, append([]string{"rev-list", "--reverse", "--topo-order", "--no-merges", "--max-count=" + strconv.Itoa(maxLanded+1)}, between(on, tip, since)...)...)
	list := lines(out)
	if err == nil && len(list) > maxLanded {
		err = fika.Errorf(fika.Limit, "land", "it has more than %d commits: strategy = \"merge\" or \"squash\" in [landing] lands it as one", maxLanded)
	}
	return list, err
}

func (t Target) pickAll(ctx context.Context, on string, list []string, d dressing) (Put, error) {
	at := on
	for _, commit := range list {
		next, conflicts, text, err := t.pick(ctx, at, commit, d)
		if err != nil || len(conflicts) > 0 {
			return Put{Conflicts: conflicts, Text: text}, err
		}
		at = next
	}
	return Put{Commit: at}, nil
}

// pick puts one commit on another. git merges with the first parent of the commit as the
// base if our side is a commit with that parent and the files of ours.
func (t Target) pick(ctx context.Context, on, commit string, d dressing) (next string, conflicts []string, text string, err error) {
	was, err := t.treeOf(ctx, on)
	if err != nil {
		return "", nil, "", err
	}
	parent, err := t.commitOf(ctx, commit+"^1")
	if err != nil {
		return "", nil, "", err
	}
	var parents []string
	if parent != "" {
		parents = append(parents, parent)
	}
	ours, err := t.ours(ctx, was, parents)
	if err != nil {
		return "", nil, "", err
	}
	tree, conflicts, text, err := tryMerge(ctx, t.Project, ours, commit)
	if err != nil || len(conflicts) > 0 || tree == was {
		return on, conflicts, text, err
	}
	raw, err := git.Run(ctx, t.Project, "show", "-s", "--encoding=UTF-8", "--format=%an%x00%ae%x00%ad%x00%B", "--date=raw", commit)
	if err != nil {
		return "", nil, "", err
	}
	fields := strings.SplitN(string(raw), "\x00", 4)
	if len(fields) < 4 {
		return "", nil, "", fika.Errorf(fika.Failed, "land", "git does not say who made %.12s", commit)
	}
	env := []string{"GIT_AUTHOR_NAME=" + fields[0], "GIT_AUTHOR_EMAIL=" + fields[1], "GIT_AUTHOR_DATE=@" + fields[2]}
	if len(d.trailers) == 0 { // the same each time, so that it is known again
		env = append(env, "GIT_COMMITTER_DATE=@"+fields[2])
	}
	next, err = t.commit(ctx, tree, []string{on}, d.message(fields[3]), append(env, d.env()...))
	return next, nil, "", err
}

func (t Target) treeOf(ctx context.Context, commit string) (string, error) {
	return git.RunLine(ctx, t.Project, "rev-parse", "--verify", "-q", commit+"^{tree}")
}

func (t Target) commit(ctx context.Context, tree string, parents []string, message string, env []string) (string, error) {
	args := []string{"commit-tree", "--no-gpg-sign", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	out, err := git.RunCall(ctx, git.Call{Dir: t.Project, Args: append(args, "-F", "-"), Env: env, Stdin: message + "\n"})
	return strings.TrimSpace(string(out)), err
}

// dressing is what a commit gets when it lands.
type dressing struct {
	trailers   []string
	name, mail string // of the author; "": stays as it is
}

func (d dressing) env() []string {
	if d.name == "" {
		return nil
	}
	return []string{"GIT_AUTHOR_NAME=" + d.name, "GIT_AUTHOR_EMAIL=" + d.mail}
}

// isTrailer reports whether a line is one of git's trailers, such as "Signed-off-by: x".
func isTrailer(line string) bool {
	key, value, found := strings.Cut(line, ": ")
	return found && key != "" && value != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == ""
}

// message adds the trailers to a message, and takes out those that only fika writes.
func (d dressing) message(text string) string {
	if len(d.trailers) == 0 {
		return strings.TrimRight(text, "\n")
	}
	var kept []string
	for _, line := range strings.Split(strings.ReplaceAll(strings.TrimSpace(text), "\r\n", "\n"), "\n") {
		if !strings.HasPrefix(strings.ToLower(line), "fika-") {
			kept = append(kept, line)
		}
	}
	text = strings.TrimSpace(strings.Join(kept, "\n"))
	if text == "" {
		text = "Work without a message"
	}
	last := text[strings.LastIndex(text, "\n\n")+1:]
	between := "\n\n"
	if strings.Contains(text, "\n\n") {
		all := true
		for _, line := range strings.Split(strings.TrimSpace(last), "\n") {
			all = all && isTrailer(line)
		}
		if all {
			between = "\n"
		}
	}
	return text + between + strings.Join(d.trailers, "\n")
}
