package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"fika/internal/llm"
	"fika/internal/llm/llmtest"
)

// landed is a person who offers branches for landing: one that fits, one that conflicts with
// it, one whose check fails, and one that they cancel; and an agent whose work fails first.
// What has landed is pushed to a remote, and a command runs after that.
func landed(r *run) {
	after := filepath.Join(r.dir, "after")
	command := "echo $FIKA_LANDED_COMMIT >> " + after
	repo := r.repository("[landing]\ncheck = \"test ! -e broken\"\nreviewers = [\"critic\"]\nmode = \"push\"\nafter = \""+command+"\"\n"+making, map[string]string{"fits": "a", "conflicts": "a", "breaks": "broken", "late": "b"})
	if repo == "" {
		return
	}
	far := filepath.Join(r.dir, "far.git")
	r.git(repo, "init", "-q", "--bare", far)
	r.git(repo, "remote", "add", "origin", far)
	for _, name := range []string{"fits", "conflicts", "breaks", "late"} {
		r.people("land", name, "--key", name)
	}
	r.people("land", "cancel", "4", "--key", "cancel")
	r.people("land", "retry", "4", "--key", "retry")
	r.offersEnd(4)
	j := r.ask("task", "maker")
	if j.accepted {
		r.offersEnd(5)
	}
	r.checkLanded(repo, j.accepted)
	r.checkPushed(repo, far, command, after)
}

// checkPushed says yes to the command after a push, and holds that the remote gets what has
// landed, nothing else and by no force, and that the command runs once for each push, or is
// said to have been interrupted.
func (r *run) checkPushed(repo, far, command, after string) {
	last, said := 0, false
	if !wait(patience, func() bool {
		if r.hubPID() == 0 && !r.start() {
			return true
		}
		n, err := r.number(`SELECT n FROM offers WHERE state = 'landed' AND new <> '' ORDER BY ended_at DESC, n DESC LIMIT 1`)
		asks, failed := r.number(`SELECT count(*) FROM offers WHERE n = ` + strconv.Itoa(n) + ` AND push_state = 'pushed' AND push LIKE '%"after":"asks"%'`)
		if err == nil && failed == nil && asks > 0 && !said {
			said = r.people("land", "retry", strconv.Itoa(n), "--accept", command, "--key", "yes").code == 0
		}
		last = n
		done, err := r.number(`SELECT count(*) FROM offers WHERE n = ` + strconv.Itoa(n) + ` AND push_state = 'done'`)
		return r.over() || err == nil && done > 0
	}) {
		r.bad("what has landed is not pushed")
		return
	}
	landed := r.git(repo, "rev-parse", "fika/landing/main")
	if refs := r.git(far, "for-each-ref", "--format=%(objectname) %(refname)"); refs != landed+" refs/heads/fika/landing/main" {
		r.bad("the remote has %q, and %s has landed", refs, landed)
	}
	unknown, err := r.number(`SELECT count(*) FROM offers WHERE n = ` + strconv.Itoa(last) + ` AND push LIKE '%"after":"unknown"%'`)
	ran, _ := os.ReadFile(after)
	if times := strings.Count(string(ran), landed); err != nil || times > 1 || times == 0 && unknown == 0 {
		r.bad("the command after the push has run %d times, %d unknown: %v", times, unknown, err)
	}
}

// offersEnd waits until there are n offers and all of them have ended, and starts the hub if
// need be.
func (r *run) offersEnd(n int) {
	if !wait(patience, func() bool {
		if r.hubPID() == 0 && !r.start() {
			return true
		}
		ended, err := r.number(`SELECT count(*) FROM offers WHERE ended_at > 0`)
		return r.over() || err == nil && ended >= n
	}) {
		r.bad("offers do not come to an end")
	}
}

// making is the settings of an agent that offers its work.
const making = `
[[agents]]
id = "maker"
model = "own"
workspace = "worktree"
tool_permissions = ["bash", "create", "offer"]
max_idle_seconds = 3
[[agents]]
id = "critic"
model = "own"
max_idle_seconds = 3
`

// isReview reports whether a text asks for a review of what an agent has offered, or of what
// it calls done.
func isReview(text string) bool {
	return strings.Contains(text, "review it before it lands") || strings.Contains(text, "of the board is done: review it.")
}

// reviews reports whether a request asks for a review.
func reviews(list []llm.Message) bool {
	return len(list) > 0 && list[len(list)-1].Role == "user" && isReview(list[len(list)-1].Text)
}

// makes answers for the agent that offers: it breaks the check, and repairs that when the
// offer has come back.
func makes(a asked, list []llm.Message) llmtest.Script {
	how, again := "echo x > broken", false
	calls, all := 0, 0
	for _, m := range list {
		switch {
		case m.Role == "user" && planned.MatchString(m.Text):
			calls, again = 0, false
		case m.Role == "user" && strings.Contains(m.Text, "has come back"):
			calls, again = 0, true
		case m.Role == "assistant" && len(m.Calls) > 0:
			calls++
			all++
		case m.Role == "tool" && strings.Contains(m.Text, "it may or may not have run"): // it does so again
			calls--
		}
	}
	id := fmt.Sprintf("m%d-%v-%d", a.job, again, all)
	if again {
		how = "rm -f broken; echo x > made"
	}
	switch {
	case calls == 0:
		return llmtest.Script{llmtest.Call(id, "bash", fmt.Sprintf(`{"command":%q}`, how)), llmtest.Usage(50, 5)}
	case calls == 1:
		return llmtest.Script{llmtest.Call(id, "offer", fmt.Sprintf(`{"summary":"made %v"}`, again)), llmtest.Usage(50, 5)}
	case again:
		return llmtest.Script{llmtest.Text("offered again"), llmtest.Usage(50, 5)}
	}
	return llmtest.Script{llmtest.Text(fmt.Sprintf("answer %d hop 0", a.job)), llmtest.Usage(50, 5)}
}

func (r *run) git(dir string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.bad("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// checkLanded holds that the branch has what passed, once, and that nothing is left of how
// it came there.
func (r *run) checkLanded(repo string, made bool) {
	want := "first\nfits\nlate"
	if made {
		want += "\nmade false\nmade true"
		n, err := r.number(`SELECT count(*) FROM offers WHERE n = 5 AND state = 'landed' AND round = 1`)
		rounds, failed := r.number(`SELECT count(*) FROM requests r JOIN agents a ON a.id = r.agent WHERE a.name = 'maker' AND r.retry_of = ''`)
		if err != nil || failed != nil || n != 1 || rounds != 2 {
			r.bad("the agent's offer came back in %d requests, and is where it should be: %d (%v, %v)", rounds-1, n, err, failed)
		}
	}
	if titles := r.git(repo, "log", "--reverse", "--format=%s", "main"); titles != want {
		r.bad("main has %q", titles)
	}
	if n, err := r.number(`SELECT count(*) FROM offers WHERE n = 1 AND state = 'landed' OR n IN (2, 3) AND state = 'back' OR n = 4 AND state = 'landed'`); err != nil || n != 4 {
		r.bad("%d of 4 offers are where they should be: %v", n, err)
	}
	if left, _ := filepath.Glob(filepath.Join(r.root, "landing", "tree")); len(left) > 0 {
		r.bad("left: %v", left)
	}
	if locks, _ := filepath.Glob(filepath.Join(repo, ".git", "refs", "*", "*", "*", "*.lock")); len(locks) > 0 {
		r.bad("left: %v", locks)
	}
}
