package landing_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/repository/landing"
	"fika/internal/repository/worktree"
	"fika/internal/store"
)

// world is a repository with a check and branches, and a store.
type world struct {
	*testing.T
	dir, repo string
	store     *store.Store
	target    worktree.Target
	checked   map[string]bool // commits on which the check was run, and whether it passed
	cleaned   int
	killAt    int // the step at which the process dies; 0: never
	steps     int
	how       string
	lease     store.Lease
	turn      store.Claimed // of the agent
	reviewers []fika.AgentName
}

var errKilled = errors.New("killed")

func newWorld(t *testing.T) *world {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	w := &world{T: t, dir: dir, repo: filepath.Join(dir, "shop"), checked: map[string]bool{}, how: worktree.LandRebase}
	w.must(err)
	t.Setenv("HOME", dir)
	w.write(".gitconfig", "[user]\n\tname = maria\n\temail = maria@example.org\n")
	w.write("shop/base", "base\n")
	w.write("shop/check.sh", "test ! -e broken\n")
	w.git("init", "-q", "-b", "main")
	w.commit("first")
	w.git("switch", "-qc", "mine")
	if w.store, err = store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "fika.db")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.store.Close() })
	w.target = worktree.Target{Project: w.repo, Into: "main"}
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) write(path, text string) {
	w.Helper()
	path = filepath.Join(w.dir, path)
	w.must(os.MkdirAll(filepath.Dir(path), 0o755))
	w.must(os.WriteFile(path, []byte(text), 0o644))
}

func (w *world) git(args ...string) string {
	w.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = w.repo
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) commit(message string) {
	w.Helper()
	w.git("add", "-A")
	w.git("commit", "-qm", message)
}

// offer makes a branch from main that writes a file, and offers it.
func (w *world) offer(name, file, text string) fika.OfferNumber {
	w.Helper()
	w.git("switch", "-qc", name, "main")
	w.write("shop/"+file, text)
	w.commit(name)
	tip := w.git("rev-parse", "HEAD")
	w.git("switch", "-q", "mine")
	o, err := w.store.AddOffer(w.Context(), fika.Offer{Source: name, Tip: tip, Into: "main", By: "maria"})
	w.must(err)
	w.must(w.target.Keep(w.Context(), o.Number, "tip", tip))
	return o.Number
}

// offers is the queue of the store.
func (w *world) offers() store.OfferQueue { return store.OfferQueue{Offers: w.store.Offers} }

// dies ends the process at the step at which it is to die.
func (w *world) dies() error {
	if w.steps++; w.steps == w.killAt {
		return errKilled
	}
	return nil
}

// mortal is a store or a repository whose process may die before and after each write.
type mortal struct {
	worktree.Target
	w *world
}

func (m mortal) around(write func() error) error {
	if err := m.w.dies(); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return m.w.dies()
}

func (m mortal) NextOffer(ctx context.Context) (fika.Offer, bool, error) {
	return m.w.offers().NextOffer(ctx)
}

func (m mortal) ChangeOffer(ctx context.Context, n fika.OfferNumber, fn func(*fika.Offer) error) (o fika.Offer, err error) {
	err = m.around(func() (err error) { o, err = m.w.store.ChangeOffer(ctx, n, fn); return err })
	return o, err
}

func (m mortal) ChangeOffers(ctx context.Context, was []fika.Offer, fn func(*fika.Offer)) (out []fika.Offer, err error) {
	err = m.around(func() (err error) { out, err = m.w.store.ChangeOffers(ctx, was, fn); return err })
	return out, err
}

func (m mortal) Behind(ctx context.Context, o fika.Offer, limit int) ([]fika.Offer, error) {
	return m.w.offers().Behind(ctx, o, limit)
}

func (m mortal) NextAbandoned(ctx context.Context) (store.Abandoned, bool, error) {
	return m.w.offers().NextAbandoned(ctx)
}

func (m mortal) Offer(ctx context.Context, n fika.OfferNumber) (fika.Offer, error) {
	return m.w.store.Offer(ctx, n)
}

func (m mortal) LandedTips(ctx context.Context, o fika.Offer) ([]string, error) {
	return m.w.store.LandedTips(ctx, o)
}

func (m mortal) ReturnOffer(ctx context.Context, was fika.Offer, r store.Returned) (o fika.Offer, err error) {
	err = m.around(func() (err error) { o, err = m.w.store.ReturnOffer(ctx, was, r); return err })
	return o, err
}

func (m mortal) NextReviewed(ctx context.Context) (store.Reviewed, bool, error) {
	return m.w.offers().NextReviewed(ctx)
}

func (m mortal) AskReviews(ctx context.Context, was fika.Offer, by []fika.AgentName, text string) (o fika.Offer, err error) {
	err = m.around(func() (err error) { o, err = m.w.store.AskReviews(ctx, was, by, text); return err })
	return o, err
}

func (m mortal) Keep(ctx context.Context, n fika.OfferNumber, what, commit string) error {
	return m.around(func() error { return m.Target.Keep(ctx, n, what, commit) })
}

func (m mortal) Forget(ctx context.Context, n fika.OfferNumber) error {
	return m.around(func() error { return m.Target.Forget(ctx, n) })
}

func (m mortal) Move(ctx context.Context, old, new string) error {
	return m.around(func() error { return m.Target.Move(ctx, old, new) })
}

func (m mortal) Follow(ctx context.Context) (moved bool, err error) {
	err = m.around(func() (err error) { moved, err = m.Target.Follow(ctx); return err })
	return moved, err
}

// queue returns a queue as a new process has it.
func (w *world) queue() *landing.Queue {
	m := mortal{w.target, w}
	return landing.New(landing.Options{
		Store: m, Repository: func(string) landing.Repository { return m }, Now: time.Now, Clean: func(string) { w.cleaned++ },
		Settings: func() (landing.Settings, error) {
			return landing.Settings{Check: "sh check.sh", How: w.how, Rounds: 2, Reviewers: w.reviewers}, nil
		},
		Check: func(ctx context.Context, commit, command, _ string) (v landing.Verdict, err error) {
			if err := w.dies(); err != nil {
				return v, err
			}
			dir := filepath.Join(w.dir, "scratch")
			if err := w.target.Scratch(ctx, dir, commit); err != nil {
				return v, err
			}
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			w.checked[commit] = err == nil
			return landing.Verdict{Green: err == nil, Output: string(out)}, w.dies()
		},
	})
}

// run works the queue until nothing is left to do, with a new process after each death.
func (w *world) run() {
	w.Helper()
	for q := w.queue(); ; {
		did, err := q.Step(w.Context())
		w.holds()
		if errors.Is(err, errKilled) {
			q = w.queue()
			continue
		}
		w.must(err)
		if !did {
			return
		}
	}
}

// holds checks that what has landed was checked, and that no lock is left.
func (w *world) holds() {
	w.Helper()
	landed, err := w.target.Landed(w.Context())
	w.must(err)
	if landed != "" && !w.checked[landed] {
		w.Errorf("%s was not checked, and has landed", landed)
	}
	locks, err := filepath.Glob(filepath.Join(w.repo, ".git/refs/*/*/*/*.lock"))
	w.must(err)
	if len(locks) > 0 {
		w.Errorf("left: %v", locks)
	}
}

// states returns the number and state of each offer.
func (w *world) states() string {
	w.Helper()
	list, err := w.store.ListOffers(w.Context(), store.OfferFilter{})
	w.must(err)
	var out []string
	for i := range list {
		o := list[len(list)-1-i]
		out = append(out, fmt.Sprint(o.Number, " ", o.State))
	}
	return strings.Join(out, ", ")
}

// six offers six branches: two conflict with each other, and the check of one fails.
func (w *world) six() {
	w.offer("one", "a", "1\n")
	w.offer("two", "b", "2\n")
	w.offer("three", "shared", "3\n")
	w.offer("four", "shared", "4\n")
	w.offer("five", "broken", "5\n")
	w.offer("six", "c", "6\n")
}

const sixEnd = "1 landed, 2 landed, 3 landed, 4 back, 5 back, 6 landed"

func TestWhatFitsLandsAndTheRestComesBack(t *testing.T) {
	w := newWorld(t)
	w.six()
	w.run()
	if got := w.states(); got != sixEnd {
		t.Fatalf("%s", got)
	}
	list, err := w.store.ListOffers(t.Context(), store.OfferFilter{})
	w.must(err)
	was := ""
	for i := range list {
		o := list[len(list)-1-i]
		if o.State != fika.OfferLanded {
			continue
		}
		if o.New != was && o.Old != was || o.New == "" || !w.checked[o.New] {
			t.Errorf("offer %d moved it from %q to %q, after %q", o.Number, o.Old, o.New, was)
		}
		was = o.New
	}
	if landed, _ := w.target.Landed(t.Context()); landed != was || w.git("rev-parse", "main") != was {
		t.Errorf("landed is %s, main %s, the last offer %s", landed, w.git("rev-parse", "main"), was)
	}
	if o := list[2]; !strings.Contains(o.Reason, "shared") || !strings.Contains(o.Output, "<<<<<<<") {
		t.Errorf("%+v", o)
	}
	if one, two := list[5], list[4]; one.New != two.New || one.Reason != "checked together with offer 2" || two.Reason != "checked together with offer 1" {
		t.Errorf("checked apart: %+v, %+v", one, two)
	}
	if o := list[1]; o.Reason != "sh check.sh fails" {
		t.Errorf("%+v", o)
	}
	if kept := w.git("for-each-ref", "--format=%(refname)", "refs/fika/land/"); strings.Contains(kept, "land/1/") || !strings.Contains(kept, "land/4/tip") {
		t.Errorf("kept: %s", kept)
	}
}

// The process is killed at every step of landing, one step in each run: everything comes to
// the same end, and the branch always has a value that was checked.
func TestLandingOutlivesKills(t *testing.T) {
	offers, want, first, last := 3, "1 landed, 2 back, 3 landed", 1, 40
	if testing.Short() { // from its check to its end
		offers, want, first, last = 1, "1 landed", 7, 12
	}
	for at := first; at <= last; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			w := newWorld(t)
			w.offer("one", "a", "1\n")
			if offers > 1 {
				w.offer("two", "broken", "2\n")
				w.offer("three", "c", "3\n")
			}
			w.killAt = at
			w.run()
			if got := w.states(); got != want || w.steps < at {
				t.Errorf("%s after %d steps", got, w.steps)
			}
			if now := w.git("rev-parse", "main"); !w.checked[now] {
				t.Errorf("main is at %s, which was not checked", now)
			}
			if n := w.git("rev-list", "--count", "--grep=^one$", "main"); n != "1" {
				t.Errorf("it landed %s times", n)
			}
		})
	}
}

// The process is killed at every step while offers land together, one step in each run: each
// lands once, and the branch has only values that were checked.
func TestABatchOutlivesKills(t *testing.T) {
	for at := 0; ; at++ {
		w := newWorld(t)
		for _, name := range []string{"one", "two", "three"} {
			w.offer(name, name, "1\n")
		}
		w.killAt = at
		w.run()
		if w.steps < at {
			break
		}
		if got := w.states(); got != "1 landed, 2 landed, 3 landed" {
			t.Errorf("%d: %s", at, got)
		}
		if now := w.git("rev-parse", "main"); !w.checked[now] || at == 0 && len(w.checked) != 1 {
			t.Errorf("%d: main is at %s, of %d that were checked", at, now, len(w.checked))
		}
		if n := w.git("rev-list", "--count", "main"); n != "4" {
			t.Errorf("%d: main has %s commits", at, n)
		}
		w.holds()
		if testing.Short() {
			at += 5
		}
	}
}

// A check that fails on the branch itself is told once, and the queue stands still until the
// branch has moved or a person lets it go on.
func TestAQueueStopsWhenTheBranchItselfIsRed(t *testing.T) {
	w := newWorld(t)
	w.git("switch", "-q", "main")
	w.write("shop/broken", "")
	w.commit("breaks it")
	w.git("switch", "-q", "mine")
	w.offer("one", "a", "1\n")
	w.offer("two", "b", "2\n")
	w.run()
	o, err := w.store.Offer(t.Context(), 1)
	w.must(err)
	if o.State != fika.OfferWaiting || !strings.Contains(o.Reason, "the queue has stopped: sh check.sh fails on main itself") || w.states() != "1 waiting, 2 waiting" {
		t.Fatalf("%+v, %s", o, w.states())
	}
	steps := w.steps
	w.run()
	if w.steps != steps {
		t.Error("it tries again and again")
	}
	w.git("switch", "-q", "main")
	w.git("rm", "-q", "broken")
	w.commit("mends it")
	w.git("switch", "-q", "mine")
	w.run()
	if got := w.states(); got != "1 landed, 2 landed" {
		t.Error(got)
	}
}

// What a person moves meanwhile is found out: the offer is tried again on what is there now.
func TestAnOfferIsTriedAgainWhenTheTargetHasMoved(t *testing.T) {
	w := newWorld(t)
	n := w.offer("one", "a", "1\n")
	other := w.offer("other", "b", "2\n")
	w.killAt = 8 // when it is said that the branch is to move, and before it does
	_, err := w.queue().Step(t.Context())
	if !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	tip := w.git("rev-parse", "other")
	w.checked[tip] = true
	w.must(w.target.Move(t.Context(), "", tip))
	w.run()
	if got := w.states(); got != fmt.Sprint(n, " landed, ", other, " landed") {
		t.Error(got)
	}
	if files := w.git("ls-tree", "--name-only", "main"); files != "a\nb\nbase\ncheck.sh" {
		t.Errorf("main has %q", files)
	}
}
