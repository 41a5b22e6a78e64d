package landing_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/app"
	"fika/internal/repository/landing"
	"fika/internal/repository/worktree"
	"fika/internal/worker"
)

// shore is a world with a remote, to which what has landed is pushed.
type shore struct {
	*world
	bare  string
	after string
	now   time.Time
	by    worker.Pushes
	said  []string // what ended the calls of git push
}

func newShore(t *testing.T) *shore {
	t.Helper()
	w := newWorld(t)
	s := &shore{world: w, bare: filepath.Join(w.dir, "far.git"), now: time.Now()}
	w.git("init", "-q", "--bare", "-b", "main", s.bare)
	w.git("remote", "add", "origin", s.bare)
	w.git("push", "-q", "origin", "main")
	a := app.New(app.Options{Root: t.TempDir(), Getenv: os.Getenv, Dir: w.repo})
	t.Cleanup(func() { _ = a.Close() })
	s.by = worker.Pushes{App: a, Project: w.repo, Mark: "test-push/1"}
	return s
}

// coast is a store whose process may die before and after each write.
type coast struct {
	mortal
}

func (c coast) ChangePush(ctx context.Context, was []fika.Offer, fn func(*fika.Offer)) (out []fika.Offer, err error) {
	err = c.around(func() (err error) { out, err = c.w.store.ChangePush(ctx, was, fn); return err })
	return out, err
}

func (c coast) SaidYes(ctx context.Context, command string) (string, error) {
	return c.w.store.SaidYes(ctx, command)
}

func (c coast) Landed(ctx context.Context, into string) ([]fika.Offer, error) {
	return c.w.offers().Landed(ctx, into)
}

// pusher returns a pusher as a new process has it.
func (s *shore) pusher() *landing.Pusher {
	return landing.NewPusher(landing.PusherOptions{
		Store: coast{mortal{s.target, s.world}}, Now: func() time.Time { return s.now },
		Repository: func(string) landing.PushRepository { return s.target },
		Settings: func() (landing.PushSettings, error) {
			return landing.PushSettings{On: true, Into: "main", Remote: "origin", After: s.after}, nil
		},
		Push: func(ctx context.Context, p worktree.Push) (said worktree.Pushed, err error) {
			err = mortal{s.target, s.world}.around(func() (err error) { said, err = s.by.Push(ctx, p); return err })
			s.said = append(s.said, said.Reason)
			return said, err
		},
		After: func(ctx context.Context, p worktree.Push, command string) (said worktree.Pushed, err error) {
			err = mortal{s.target, s.world}.around(func() (err error) { said, err = s.by.After(ctx, p, command); return err })
			return said, err
		},
	})
}

// push works until nothing is left to do now, with a new process after each death.
func (s *shore) push() {
	s.Helper()
	for q := s.pusher(); ; {
		did, err := q.Step(s.Context())
		if errors.Is(err, errKilled) {
			q = s.pusher()
			continue
		}
		s.must(err)
		if !did {
			return
		}
	}
}

// far returns the commit of a branch of the remote; "": there is none.
func (s *shore) far(branch string) string {
	s.Helper()
	cmd := exec.Command("git", "rev-parse", "--verify", "-q", "refs/heads/"+branch)
	cmd.Dir = s.bare
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

func (s *shore) shown(n fika.OfferNumber) fika.Offer {
	s.Helper()
	o, err := s.store.Offer(s.Context(), n)
	s.must(err)
	if o.State != fika.OfferLanded {
		s.Errorf("offer %d is %s", n, o.State)
	}
	return o
}

func TestWhatHasLandedIsPushed(t *testing.T) {
	s := newShore(t)
	main := s.far("main")
	s.offer("one", "a", "1\n")
	s.offer("two", "b", "2\n")
	s.run()
	s.push()
	landed := s.git("rev-parse", "fika/landing/main")
	for _, n := range []fika.OfferNumber{1, 2} {
		if p := s.shown(n).Push; p.State != fika.PushDone || p.Commit != landed || p.Branch != "fika/landing/main" || p.At.IsZero() {
			t.Errorf("%+v", p)
		}
	}
	if s.far("fika/landing/main") != landed || s.far("main") != main {
		t.Errorf("the remote has %s and main %s", s.far("fika/landing/main"), s.far("main"))
	}
	calls := len(s.said)
	s.push()
	if len(s.said) != calls {
		t.Error("it pushes again what is there")
	}
	s.offer("three", "c", "3\n")
	s.run()
	s.push()
	if now := s.git("rev-parse", "fika/landing/main"); s.far("fika/landing/main") != now || now == landed || s.shown(2).Push.Commit != landed {
		t.Errorf("the remote has %s", s.far("fika/landing/main"))
	}
}

// What keeps a push from being made is told by its name, nothing that has landed is lost, and
// it is made once nothing is in its way.
func TestAPushThatFailsIsToldAndTriedAgain(t *testing.T) {
	listen := func(t *testing.T) string { // takes connections, and never says a word
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l.Addr().String()
	}
	for _, one := range []struct {
		name, says string
		block      func(s *shore) (clear func())
	}{
		{"refused", "origin refuses it: pre-receive hook declined", func(s *shore) func() {
			hook := filepath.Join(s.bare, "hooks", "pre-receive")
			s.must(os.MkdirAll(filepath.Dir(hook), 0o755))
			s.must(os.WriteFile(hook, []byte("#!/bin/sh\necho this branch is closed\nexit 1\n"), 0o755))
			return func() { s.must(os.Remove(hook)) }
		}},
		{"went on", "has commits that fika/landing/main does not have here, and nothing is forced", func(s *shore) func() {
			s.git("commit", "-q", "--allow-empty", "-m", "theirs")
			s.git("push", "-q", "origin", "HEAD:refs/heads/fika/landing/main")
			theirs := s.far("fika/landing/main")
			s.git("update-ref", "-d", "refs/remotes/origin/fika/landing/main")
			return func() {
				if s.far("fika/landing/main") != theirs {
					s.Error("the remote's commits are gone")
				}
				s.git("push", "-q", "origin", "--delete", "fika/landing/main")
			}
		}},
		{"offline", "git push fails: ", func(s *shore) func() {
			l := listen(s.T)
			s.git("remote", "set-url", "origin", "http://"+strings.Replace(l, "127.0.0.1", "fika.invalid", 1)+"/far.git")
			return func() { s.git("remote", "set-url", "origin", s.bare) }
		}},
		{"hangs", "origin has not answered within", func(s *shore) func() {
			s.git("remote", "set-url", "origin", "git://"+listen(s.T)+"/far.git")
			s.by.Longest = 300 * time.Millisecond
			return func() { s.git("remote", "set-url", "origin", s.bare); s.by.Longest = 0 }
		}},
		{"password", "terminal prompts disabled", func(s *shore) func() {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", `Basic realm="far"`)
				w.WriteHeader(http.StatusUnauthorized)
			}))
			s.Cleanup(server.Close)
			s.git("remote", "set-url", "origin", strings.Replace(server.URL, "://", "://maria:hush-hush@", 1)+"/far.git")
			s.git("config", "remote.origin.url", server.URL+"/far.git")
			return func() { s.git("remote", "set-url", "origin", s.bare) }
		}},
		{"wrong password", "Authentication failed", func(s *shore) func() {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", `Basic realm="far"`)
				w.WriteHeader(http.StatusUnauthorized)
			}))
			s.Cleanup(server.Close)
			s.git("remote", "set-url", "origin", strings.Replace(server.URL, "://", "://maria:hush-hush@", 1)+"/far.git")
			return func() { s.git("remote", "set-url", "origin", s.bare) }
		}},
		{"no remote", `no remote "origin"`, func(s *shore) func() {
			s.git("remote", "remove", "origin")
			return func() { s.git("remote", "add", "origin", s.bare) }
		}},
		{"hook", "your hook pre-push takes part", func(s *shore) func() {
			hook := filepath.Join(s.repo, ".git/hooks/pre-push")
			s.must(os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+s.dir+"/ran\n"), 0o755))
			return func() {
				if _, err := os.Stat(filepath.Join(s.dir, "ran")); err == nil {
					s.Error("it has run the hook")
				}
				s.git("push", "-q", "origin", "fika/landing/main:refs/heads/fika/landing/main") // as the person is told to
			}
		}},
	} {
		t.Run(one.name, func(t *testing.T) {
			s := newShore(t)
			s.offer("one", "a", "1\n")
			s.run()
			clear := one.block(s)
			s.push()
			o := s.shown(1)
			if o.Push.State != fika.PushWaiting || !strings.Contains(o.Push.Reason, one.says) || !strings.Contains(o.Unpushed(), "not pushed: ") || o.Push.Tries != 1 {
				t.Fatalf("%+v", o.Push)
			}
			if one.name == "refused" && !strings.Contains(o.Push.Output, "this branch is closed") {
				t.Errorf("%q", o.Push.Output)
			}
			if text := o.Push.Reason + o.Push.Output; strings.Contains(text, "hush-hush") {
				t.Errorf("a password is kept: %q", text)
			}
			calls := len(s.said)
			s.push()
			if len(s.said) != calls || s.shown(1).Push.Tries != 1 {
				t.Error("it does not wait before it tries again")
			}
			clear()
			s.now = o.Push.Next
			s.push()
			if o := s.shown(1); o.Push.State != fika.PushDone || o.Unpushed() != "" || s.far("fika/landing/main") != s.git("rev-parse", "fika/landing/main") {
				t.Errorf("%+v", o.Push)
			}
		})
	}
}

// The process is killed at every step from what has landed to the end of the command after
// the push: the remote gets it once, and the command is not run twice.
func TestPushingOutlivesKills(t *testing.T) {
	for at := 1; ; at++ {
		if testing.Short() && at%2 == 1 { // after each write, and not before it
			continue
		}
		s := newShore(t)
		ran := filepath.Join(s.dir, "ran")
		s.after = "echo $FIKA_LANDED_COMMIT $FIKA_LANDED_OFFERS >> " + ran
		s.offer("one", "a", "1\n")
		s.run()
		s.push()
		s.saysYes(1)
		s.offer("two", "b", "2\n")
		s.run()
		s.push()
		before, err := os.ReadFile(ran)
		s.must(err)
		s.offer("three", "c", "3\n")
		s.run()
		s.steps, s.killAt = 0, at
		s.push()
		if s.steps < at {
			return
		}
		landed := s.git("rev-parse", "fika/landing/main")
		o := s.shown(3)
		now, err := os.ReadFile(ran)
		s.must(err)
		added := strings.TrimPrefix(string(now), string(before))
		if s.far("fika/landing/main") != landed || o.Push.State != fika.PushDone {
			t.Errorf("%d: the remote has %s: %+v", at, s.far("fika/landing/main"), o.Push)
		}
		if want := landed + " 3\n"; added != want && (added != "" || o.Push.After != fika.AfterUnknown) {
			t.Errorf("%d: the command has printed %q: %+v", at, added, o.Push)
		}
	}
}

// saysYes is a person who says yes to the command that an offer asks about.
func (s *shore) saysYes(n fika.OfferNumber) {
	s.Helper()
	o := s.shown(n)
	if asks := o.Asking(); len(asks) != 1 || asks[0].Path != s.after {
		s.Fatalf("offer %d asks %v", n, asks)
	}
	_, err := s.store.ChangePush(s.Context(), []fika.Offer{o}, func(o *fika.Offer) { o.Push.After, o.Push.By = fika.AfterNone, "maria" })
	s.must(err)
}

// A command after the push runs once a person has said yes to it; another one asks again.
func TestACommandAfterAPushAsksOnce(t *testing.T) {
	s := newShore(t)
	ran := filepath.Join(s.dir, "ran")
	runs := func() string { out, _ := os.ReadFile(ran); return string(out) }
	s.after = "echo $FIKA_LANDED_BRANCH $FIKA_LANDED_OFFERS in $(pwd) | tee -a " + ran
	s.offer("one", "a", "1\n")
	s.run()
	s.push()
	if runs() != "" || s.far("fika/landing/main") == "" {
		t.Fatalf("before the yes: %q, and the remote has %q", runs(), s.far("fika/landing/main"))
	}
	s.offer("two", "b", "2\n") // both tell of the push, and one question is asked
	s.run()
	s.push()
	if o := s.shown(1); o.Unpushed() != "" || len(o.Asking()) > 0 {
		t.Errorf("both ask: %+v", o.Push)
	}
	s.saysYes(2)
	s.push()
	want := fmt.Sprintf("fika/landing/main 2 1 in %s\n", s.repo)
	if o := s.shown(2); runs() != want || o.Push.After != fika.AfterDone || o.Push.By != "maria" || o.Push.Output != want {
		t.Fatalf("%q, %+v", runs(), o.Push)
	}
	if o := s.shown(1); o.Push.State != fika.PushDone {
		t.Errorf("what was pushed along: %+v", o.Push)
	}
	s.offer("three", "c", "3\n")
	s.run()
	s.push()
	if want += fmt.Sprintf("fika/landing/main 3 in %s\n", s.repo); runs() != want {
		t.Errorf("after the second push: %q", runs())
	}
	s.after = "echo no such thing; exit 3"
	s.offer("four", "d", "4\n")
	s.run()
	s.push()
	if o := s.shown(4); o.Push.After != fika.AfterAsks || runs() != want {
		t.Fatalf("another command: %+v", o.Push)
	}
	s.saysYes(4)
	s.push()
	if o := s.shown(4); o.Push.After != fika.AfterFailed || !strings.Contains(o.Unpushed(), "exit status 3") || o.Push.Output != "no such thing\n" {
		t.Errorf("%+v", o.Push)
	}
}
