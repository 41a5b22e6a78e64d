package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fika/internal/llm/llmtest"
)

// purse is a home with a budget of so many calls of one price, in which prompts are
// run by processes.
type purse struct {
	*testing.T
	bin, root, chaos string
	models           *llmtest.Server
	answer           chan struct{} // closed: the model answers
}

func newPurse(t *testing.T, url string, calls int) *purse {
	p := &purse{T: t, bin: broken, root: t.TempDir(), chaos: t.TempDir(), answer: make(chan struct{})}
	p.models = llmtest.NewOpenAI(t, func(llmtest.Request) llmtest.Script {
		return llmtest.Script{llmtest.Wait(p.answer), llmtest.Text("fine"), llmtest.Usage(1000, 100)}
	})
	config := fmt.Sprintf(`model = "own"
reflection_enabled = false
[[models]]
id = "own"
provider = "openai"
base_url = %q
prices = {input = 1, output = 10}
reserve = {input = 1000, output = 100}
[[budgets]]
scope = "home"
per = "month"
money = %f
`, p.models.URL(), float64(calls)*0.002)
	if url != "" {
		config += fmt.Sprintf("[store]\nurl = %q\n", url)
	}
	if err := errors.Join(os.Chmod(p.root, 0o700), os.WriteFile(filepath.Join(p.root, "config.toml"), []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	p.fika("context", "new", "first")
	return p
}

func (p *purse) command(args ...string) *exec.Cmd {
	c := exec.Command(p.bin, args...)
	c.Env = append(os.Environ(), "FIKA_HOME="+p.root, "FIKA_CHAOS="+p.chaos, "NO_COLOR=1")
	return c
}

// fika runs a command that must succeed.
func (p *purse) fika(args ...string) string {
	p.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		p.Fatalf("fika %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// runner is a prompt on its way.
type runner struct {
	*exec.Cmd
	err  bytes.Buffer
	done chan struct{}
}

// release runs n prompts at once, each in a context of its own, and returns when each has either
// ended or reached the model.
func (p *purse) release(n int) []*runner {
	p.Helper()
	var all []*runner
	before := len(p.models.Requests())
	var ended sync.WaitGroup
	for i := range n {
		r := &runner{Cmd: p.command("run", "-c", fmt.Sprintf("a%d", i), "hello"), done: make(chan struct{})}
		r.Stderr = &r.err
		if err := r.Start(); err != nil {
			p.Fatal(err)
		}
		ended.Go(func() { defer close(r.done); _ = r.Wait() })
		all = append(all, r)
	}
	p.Cleanup(ended.Wait)
	if !wait(patience, func() bool { return len(p.models.Requests())-before+len(over(all)) >= n }) {
		p.Fatalf("of %d prompts %d have ended and %d reached the model", n, len(over(all)), len(p.models.Requests())-before)
	}
	return all
}

// over are those that have ended.
func over(all []*runner) (out []*runner) {
	for _, r := range all {
		select {
		case <-r.done:
			out = append(out, r)
		default:
		}
	}
	return out
}

// stands checks what the budget says of itself.
func (p *purse) stands(want string) {
	p.Helper()
	if got := p.fika("budget", "show", "home"); !strings.Contains(got, want) {
		p.Errorf("the budget says %q, not %q", got, want)
	}
}

// onBoth runs a test on both engines.
func onBoth(t *testing.T, test func(*testing.T, string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "") })
	t.Run("postgres", func(t *testing.T) {
		test(t, strings.Replace(onServer(t).server.URL(), "postgres@", "fika@", 1))
	})
}

// TestA10TenCalls releases sixteen agents at once, with a budget of ten calls that
// cost exactly what is set aside: ten reach the model, also when some of those
// are killed in it.
func TestA10TenCalls(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		p := newPurse(t, url, 10)
		all := p.release(16)
		if n := len(p.models.Requests()); n != 10 {
			t.Errorf("%d calls have reached the model", n)
		}
		for _, r := range over(all) {
			if r.ProcessState.ExitCode() != 8 || !strings.Contains(r.err.String(), "the budget of home a month ($0.02): the rest is reserved by running calls") {
				t.Errorf("status %d: %s", r.ProcessState.ExitCode(), r.err.String())
			}
		}
		killed := 0
		for _, r := range all {
			select {
			case <-r.done:
			default:
				if killed < 3 {
					killed++
					if err := r.Process.Kill(); err != nil {
						t.Fatal(err)
					}
					<-r.done
				}
			}
		}
		p.stands("$0.00 of $0.02 spent")
		close(p.answer)
		for _, r := range all {
			<-r.done
		}
		p.stands("$0.014 of $0.02 spent")
		again := p.release(16) // who was killed gives back what it had
		for _, r := range again {
			<-r.done
		}
		p.stands("$0.02 of $0.02 spent, $0.00 left")
		if n := len(p.models.Requests()); n != 13 {
			t.Errorf("%d calls have reached the model, of which three were killed", n)
		}
	})
}

// TestA10WithoutReservations is its control: nothing is set aside, and all reach
// the model.
func TestA10WithoutReservations(t *testing.T) {
	p := newPurse(t, "", 10)
	if err := os.WriteFile(filepath.Join(p.chaos, "without"), []byte("reserve"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.release(16)
	if n := len(p.models.Requests()); n <= 10 {
		t.Errorf("only %d calls have reached the model", n)
	}
	close(p.answer)
}

// TestA10LastCent lets two prompts race for the last call.
func TestA10LastCent(t *testing.T) {
	onBoth(t, func(t *testing.T, url string) {
		p := newPurse(t, url, 1)
		all := p.release(2)
		close(p.answer)
		status := 0
		for _, r := range all {
			<-r.done
			status += r.ProcessState.ExitCode()
		}
		if n := len(p.models.Requests()); n != 1 || status != 8 {
			t.Errorf("%d calls, sum of statuses %d", n, status)
		}
		p.stands("$0.002 of $0.002 spent")
	})
}
