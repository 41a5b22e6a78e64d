//go:build chaos

package service_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fika/internal/api"
	"fika/internal/service"
	"fika/internal/store"
)

// A write with a key has one effect and gives the same ids although its process is
// killed before and after each commit, and the caller asks again. It is tried for every
// verb, on both engines; the rows afterwards are those of a write that was not
// interrupted. test/chaos builds this test with the crash points, and runs it.
func TestAWriteWithAKeyOutlivesKills(t *testing.T) {
	if verb := os.Getenv("FIKA_TRY_VERB"); verb != "" {
		tryOnce(t, verb)
		return
	}
	urls := []func(*testing.T) string{func(*testing.T) string { return "" }, func(t *testing.T) string { return servers.URL(t) }}
	for verb, w := range keyedWrites() {
		if testing.Short() && !slices.Contains([]string{"conversation.send", "conversation.rename", "agent.ask", "schedule.set"}, verb) {
			continue
		}
		for i, engine := range []string{"sqlite", "postgres"} {
			t.Run(engine+"/"+verb, func(t *testing.T) {
				calm, h := keyHome{t.TempDir(), urls[i](t)}, keyHome{t.TempDir(), urls[i](t)}
				check(t, calm.make(t.Context(), w))
				check(t, h.make(t.Context(), w))
				outliveKills(t, verb, w, calm, h)
			})
		}
	}
}

func outliveKills(t *testing.T, verb string, w keyedWrite, calm, h keyHome) {
	chaos := t.TempDir()
	_, err := calm.try(chaos, verb, false)
	check(t, err)
	passed, err := filepath.Glob(filepath.Join(chaos, "passed-*"))
	check(t, err)
	// What is committed is not committed again, so they are tried in the order in which
	// they were passed.
	slices.SortFunc(passed, func(a, b string) int { return modified(t, a).Compare(modified(t, b)) })
	var ids []string
	kills := 0
	for _, file := range passed {
		point := strings.TrimPrefix(filepath.Base(file), "passed-")
		chaos := t.TempDir()
		check(t, os.WriteFile(filepath.Join(chaos, "plan"), []byte(point+" 1 kill"), 0o600))
		out, err := h.try(chaos, verb, false)
		if errors.Is(err, errKilled) {
			kills++
			continue
		}
		check(t, err)
		ids = append(ids, out)
	}
	for len(ids) < 3 || kills+len(ids) < 5 {
		out, err := h.try(t.TempDir(), verb, false)
		check(t, err)
		ids = append(ids, out)
	}
	if len(slices.Compact(slices.Clone(ids))) != 1 {
		t.Errorf("the ids differ: %q", ids)
	}
	if kills == 0 {
		t.Errorf("nothing was killed at %v", passed)
	}
	if now, want := h.rows(t), calm.rows(t); now != want {
		t.Errorf("after %d kills there is\n%s\nand without any\n%s", kills, now, want)
	}
	if out, err := h.try(t.TempDir(), verb, true); !w.bodiless && !errors.Is(err, store.ErrKeyReused) {
		t.Errorf("another body under the same key: %q, %v", out, err)
	}
	t.Logf("%d kills at %d points, ids %q", kills, len(passed), ids[0])
}

func modified(t *testing.T, file string) time.Time {
	t.Helper()
	st, err := os.Stat(file)
	check(t, err)
	return st.ModTime()
}

var errKilled = errors.New("killed")

// try calls a verb once, in a process of its own that obeys the plan in chaos.
func (h keyHome) try(chaos, verb string, other bool) (ids string, err error) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestAWriteWithAKeyOutlivesKills$")
	cmd.Env = append(os.Environ(), "FIKA_TRY_VERB="+verb, "FIKA_TRY_ROOT="+h.root, "FIKA_CHAOS="+chaos, fmt.Sprint("FIKA_TRY_OTHER=", other))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && !exit.Exited() {
		return "", errKilled
	}
	_, answer, found := strings.Cut(string(out), "answer: ")
	answer, _, _ = strings.Cut(answer, "\n")
	switch {
	case answer == "reused":
		return "", store.ErrKeyReused
	case err != nil || !found:
		return "", fmt.Errorf("%w: %s%s", errors.Join(err, errors.New("no answer")), out, stderr.String())
	}
	return answer, nil
}

// tryOnce is the process that is killed.
func tryOnce(t *testing.T, verb string) {
	s, end, err := keyHome{root: os.Getenv("FIKA_TRY_ROOT")}.open(t.Context(), person)
	check(t, err)
	defer func() { check(t, end()) }()
	ids, err := keyedWrites()[verb].do(t.Context(), s.With(api.Write{Key: "k"}), os.Getenv("FIKA_TRY_OTHER") == "true")
	if errors.Is(err, store.ErrKeyReused) {
		ids, err = "reused", nil
	}
	check(t, err)
	fmt.Printf("answer: %s\n", ids)
}

// An agent's tool is stopped after it was found out for whom it speaks, and before it
// writes. Meanwhile its request is cancelled, or ends: the write is refused, by name.
func TestAnAgentSpeaksOnlyWhileItsRequestRuns(t *testing.T) {
	if os.Getenv("FIKA_TRY_ROOT") != "" {
		speakOnce(t)
		return
	}
	for name, change := range map[string]string{
		"cancelled": `UPDATE requests SET cancel_at = 1 WHERE id = 'req-room'`,
		"ended":     `UPDATE requests SET state = 'done', finished_at = 1 WHERE id = 'req-room'`,
		"running":   `UPDATE requests SET touched = 2 WHERE id = 'req-room'`,
	} {
		t.Run(name, func(t *testing.T) {
			h, chaos := keyHome{root: t.TempDir()}, t.TempDir()
			check(t, h.make(t.Context(), keyedWrite{prepare: func(h keyHome, _ *service.Service) error { return h.claimed("running") }}))
			check(t, os.WriteFile(filepath.Join(chaos, "plan"), []byte("speak 1 stop"), 0o600))
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAnAgentSpeaksOnlyWhileItsRequestRuns$")
			cmd.Env = append(os.Environ(), "FIKA_TRY_ROOT="+h.root, "FIKA_CHAOS="+chaos)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			check(t, cmd.Start())
			var status syscall.WaitStatus
			if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
				t.Fatalf("the tool was not stopped: %v, %v\n%s", err, status, &out)
			}
			check(t, h.sql(change))
			check(t, cmd.Process.Signal(syscall.SIGCONT))
			check(t, cmd.Wait())
			want := "answer: refused"
			if name == "running" {
				want = "answer: sent"
			}
			if !strings.Contains(out.String(), want) {
				t.Errorf("not %q:\n%s", want, &out)
			}
		})
	}
}

// speakOnce is the tool.
func speakOnce(t *testing.T) {
	tool := api.Principal{Kind: api.Agent, Name: "coder", Door: api.DoorCLI, Request: "req-room", Step: "req-room/1"}
	s, end, err := keyHome{root: os.Getenv("FIKA_TRY_ROOT")}.open(t.Context(), tool)
	check(t, err)
	defer func() { check(t, end()) }()
	conv, err := s.Chats.Find(t.Context(), "room")
	check(t, err)
	_, err = s.Chats.Send(t.Context(), conv, "I go on", service.Alias{})
	switch {
	case errors.Is(err, store.ErrNotRunning):
		fmt.Println("answer: refused")
	case err == nil:
		fmt.Println("answer: sent")
	default:
		t.Error(err)
	}
}
