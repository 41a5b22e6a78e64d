package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeep: whatever a call did to protected paths is undone, and said, in each
// tier; the person's own git runs nothing of it afterwards.
func TestKeep(t *testing.T) {
	const evil = `printf '#!/bin/sh\ntouch "$PWN"\n'`
	for name, script := range map[string]string{
		"a hook":              `mkdir -p .git/hooks; ` + evil + ` > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`,
		"a setting":           `git config core.fsmonitor 'touch $PWN'`,
		"hooks renamed":       `mv .git/hooks .git/h2; mkdir .git/hooks; ` + evil + ` > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`,
		"repository replaced": `mv .git .g2; git init -q; ` + evil + ` > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`,
		"repository made new": `cp -r .git .g2; mv .git gone; mv .g2 .git; git config core.fsmonitor 'touch $PWN'`,
		"a missing one made":  `echo evil > .envrc`,
	} {
		for way, s := range tiers(t) {
			t.Run(way+"/"+name, func(t *testing.T) {
				p := newPlace(t)
				p.profile.Protected = append(p.profile.Protected, filepath.Join(p.project, ".envrc"))
				pwn := filepath.Join(p.home, "pwned")
				t.Setenv("PWN", pwn)
				k, err := s.KeepProtected(p.profile, filepath.Join(p.home, "aside"), filepath.Join(p.home, "calls"))
				must(t, err)
				defer k.Close()
				out, failed := s.sh(t, p.profile, script)
				changes, err := k.Restore()
				must(t, err)
				if failed == nil && len(changes) == 0 {
					t.Errorf("nothing was reported:\n%s", out)
				}
				git(t, p.project, "status")
				git(t, p.project, "commit", "-q", "--allow-empty", "-m", "mine")
				if _, err := os.Stat(pwn); err == nil {
					t.Error("git ran what the call had planted")
				}
				if _, err := os.Stat(filepath.Join(p.project, ".envrc")); err == nil {
					t.Error(".envrc is still there")
				}
				if again, _ := k.Restore(); len(again) > 0 {
					t.Errorf("a second look still finds %s", strings.Join(again, "; "))
				}
			})
		}
	}
}

// TestUndo: what a call did whose caller was killed is undone from its record,
// in each tier, a repository that was moved away too.
func TestUndo(t *testing.T) {
	for way, s := range tiers(t) {
		t.Run(way, func(t *testing.T) {
			p := newPlace(t)
			envrc := filepath.Join(p.project, ".envrc")
			p.profile.Protected = append(p.profile.Protected, envrc)
			aside, calls := filepath.Join(p.home, "aside"), filepath.Join(p.home, "calls")
			_, err := s.KeepProtected(p.profile, aside, calls) // and never looked at again
			must(t, err)
			must(t, os.WriteFile(filepath.Join(calls, "call-1.json"), []byte(`{"Aside"`), 0o600)) // killed in the middle
			head, err := os.ReadFile(filepath.Join(p.project, ".git", "HEAD"))
			must(t, err)
			_, _ = s.sh(t, p.profile, `echo evil > .envrc`)
			must(t, os.Rename(filepath.Join(p.project, ".git"), filepath.Join(p.project, "gone")))
			changes, err := UndoKilled(calls)
			must(t, err)
			if len(changes) != 2 {
				t.Errorf("%d lines: %q", len(changes), changes)
			}
			if !missing(envrc) {
				t.Error(".envrc is still there")
			}
			if now, err := os.ReadFile(filepath.Join(p.project, ".git", "HEAD")); err != nil || string(now) != string(head) {
				t.Errorf("the repository is not back: %v", err)
			}
			if left, _ := os.ReadDir(calls); len(left) > 0 {
				t.Errorf("%d records are left", len(left))
			}
			if again, err := UndoKilled(calls); len(again) > 0 || err != nil {
				t.Errorf("a second time: %q, %v", again, err)
			}
		})
	}
}

// TestSwaps: a .git and a .fika that are swapped for others again and again, and
// left swapped, are what they were after the call; with FULL=1 10,000 times.
func TestSwaps(t *testing.T) {
	times := "200"
	if os.Getenv("FULL") != "" {
		times = "10000"
	}
	for way, s := range tiers(t) {
		t.Run(way, func(t *testing.T) {
			p := newPlace(t)
			fika := filepath.Join(p.project, ".fika")
			must(t, os.Mkdir(fika, 0o700))
			must(t, os.WriteFile(filepath.Join(fika, "config.toml"), []byte("model = \"mine\"\n"), 0o600))
			p.profile.Protected = append(p.profile.Protected, fika)
			pwn := filepath.Join(p.home, "pwned")
			t.Setenv("PWN", pwn)
			k, err := s.KeepProtected(p.profile, filepath.Join(p.home, "aside"), filepath.Join(p.home, "calls"))
			must(t, err)
			defer k.Close()
			_, _ = s.sh(t, p.profile, `cp -r .git .evil; git --git-dir=.evil config core.fsmonitor 'touch $PWN'; mkdir .own; echo 'model = "theirs"' > .own/config.toml
python3 -c '
import os
def swap(*pairs):
    for a, b in pairs:
        try: os.rename(a, b)
        except OSError: pass
there = ((".git", ".g2"), (".evil", ".git"), (".fika", ".f2"), (".own", ".fika"))
back = ((".git", ".evil"), (".g2", ".git"), (".fika", ".own"), (".f2", ".fika"))
for i in range(`+times+`): swap(*there); swap(*back)
swap(*there)
'`)
			_, err = k.Restore()
			must(t, err)
			git(t, p.project, "status")
			if _, err := os.Stat(pwn); err == nil {
				t.Error("git ran what the call had planted")
			}
			if text, err := os.ReadFile(filepath.Join(fika, "config.toml")); err != nil || string(text) != "model = \"mine\"\n" {
				t.Errorf(".fika/config.toml is %q, %v", text, err)
			}
		})
	}
}
