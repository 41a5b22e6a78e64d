package flow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/workflow"
)

// pool makes an agent a pool with so many members.
func (w *world) pool(name fika.AgentName, members int) (fika.Agent, []fika.AgentName) {
	w.Helper()
	pool := must(w.store.EnsureAgent(w.Context(), store.NewAgent{Name: name}))(w)
	var ids []fika.AgentID
	var names []fika.AgentName
	for i := range members {
		member := fika.AgentName(fmt.Sprintf("%s-%d", name, i+1))
		row := must(w.store.EnsureAgent(w.Context(), store.NewAgent{Name: member}))(w)
		w.leases[member] = must(w.store.Acquire(w.Context(), row.ID, "test", time.Hour, true))(w)
		ids, names = append(ids, row.ID), append(names, member)
	}
	w.ok(w.store.KeepPool(w.Context(), pool.ID, "", ids))
	return pool, names
}

// workOnly lets the given agents work, in this order, until none has anything to do.
func (w *world) workOnly(run fika.RequestID, names ...fika.AgentName) store.Run {
	w.Helper()
	r := w.advance(run)
	for idle := false; !idle; {
		idle = true
		for _, name := range names {
			if c := w.claim(name); c != nil {
				idle = false
				w.end(c)
				r = w.advance(run)
			}
		}
	}
	return r
}

// by returns which agents did what of the prompts that begin with a word.
func (w *world) by(word string) map[string][]string {
	out := map[string][]string{}
	for _, a := range w.asked {
		who, prompt, _ := strings.Cut(a, ": ")
		if strings.HasPrefix(prompt, word) && (len(out[prompt]) == 0 || out[prompt][len(out[prompt])-1] != who) {
			out[prompt] = append(out[prompt], who)
		}
	}
	return out
}

const loopOverItems = `
[[steps]]
id = "each"
for_each = '["x", "y"]'
agent = "build"
prompt = "do {{.item}}"
repeat = { until = "round >= 3", max = 3 }
`

// TestSameMemberOverRounds: the rounds of an item go to the member of the pool that had
// the first, whoever else is free.
func TestSameMemberOverRounds(t *testing.T) {
	onEngines(t, func(w *world) {
		_, m := w.pool("build", 3)
		run := w.start(loopOverItems, nil)
		w.advance(run)
		w.end(w.claim(m[0]))
		w.end(w.claim(m[1]))
		w.advance(run)
		if c := w.claim(m[2]); c != nil {
			t.Fatalf("a third member got %s", c.Prompt.Content)
		}
		w.woken = nil
		w.want("state", w.workOnly(run, m[2], m[1], m[0]).State, fika.Done)
		w.want("who", w.by("do"), map[string][]string{"do x": {"build-1"}, "do y": {"build-2"}})
		s := w.steps(run)["each[0]#3"]
		w.want("who", s.Who(), "@build-1 for @build")
		for _, name := range w.woken {
			w.want("woken", name == "build-1" || name == "build-2", true)
		}
	})
}

// TestSameMemberInside: all that a workflow inside an item asks of a pool goes to one
// member, over its rounds, and so does a second attempt.
func TestSameMemberInside(t *testing.T) {
	onEngines(t, func(w *world) {
		_, m := w.pool("build", 3)
		known := workflow.Known{Names: []string{"in"}, Read: func(string) (string, []byte, error) {
			return "in.toml", []byte("[inputs]\nx = {}\n[[steps]]\nid='make'\nagent='build'\nretry={max=1, backoff='0s'}\nprompt='make {{.inputs.x}}'\n[[steps]]\nid='test'\nneeds=['make']\nagent='build'\nprompt='test {{.inputs.x}}'\n"), nil
		}}
		d, err := workflow.Load("test", "test.toml", []byte("[[steps]]\nid='each'\nfor_each='[\"x\", \"y\"]'\nworkflow='in'\ninputs={x='{{.item}}'}\nrepeat={until='round >= 2', max=2}\n"), known)
		w.ok(err)
		tries := 0
		w.answer = func(_ fika.AgentName, prompt string) (string, error) {
			if prompt == "make x" {
				if tries++; tries == 2 {
					return "", errors.New("busy")
				}
			}
			return "ok", nil
		}
		run := w.startDefinition(d, nil)
		w.advance(run)
		w.end(w.claim(m[2]))
		w.end(w.claim(m[1]))
		r := w.workOnly(run, m...)
		w.want("state: "+r.Outcome.Error, r.State, fika.Done)
		w.want("make", w.by("make"), map[string][]string{"make x": {"build-3"}, "make y": {"build-2"}})
		w.want("test", w.by("test"), map[string][]string{"test x": {"build-3"}, "test y": {"build-2"}})
	})
}

// TestSameMemberOfAnItemInside: an item of a list inside a repeated workflow goes to the
// member that had it in the round before.
func TestSameMemberOfAnItemInside(t *testing.T) {
	onEngines(t, func(w *world) {
		_, m := w.pool("build", 3)
		known := workflow.Known{Names: []string{"in"}, Read: func(string) (string, []byte, error) {
			return "in.toml", []byte("[[steps]]\nid='each'\nfor_each='[\"x\", \"y\"]'\nagent='build'\nprompt='do {{.item}}'\n"), nil
		}}
		d, err := workflow.Load("test", "test.toml", []byte("[[steps]]\nid='loop'\nworkflow='in'\nrepeat={until='round >= 3', max=3}\n"), known)
		w.ok(err)
		run := w.startDefinition(d, nil)
		w.advance(run)
		w.end(w.claim(m[2]))
		w.end(w.claim(m[1]))
		w.want("state", w.workOnly(run, m...).State, fika.Done)
		w.want("asked", len(w.asked), 6)
		w.want("who", w.by("do"), map[string][]string{"do x": {"build-3"}, "do y": {"build-2"}})
	})
}

// TestMemberThatCannot: a member that is stopped, or no member any more, holds up no
// round: whoever is free takes over, and keeps the item.
func TestMemberThatCannot(t *testing.T) {
	onEngines(t, func(w *world) {
		for name, gone := range map[string]func(fika.Agent, []fika.AgentName){
			"stopped": func(_ fika.Agent, m []fika.AgentName) {
				w.ok(w.store.SetDesired(w.Context(), w.leases[m[0]].Agent, fika.DesiredStopped))
			},
			"left": func(pool fika.Agent, m []fika.AgentName) {
				w.ok(w.store.KeepPool(w.Context(), pool.ID, "", []fika.AgentID{w.leases[m[1]].Agent}))
			},
		} {
			pool, m := w.pool(fika.AgentName(name), 2)
			run := w.start(strings.ReplaceAll(loopOverItems, `"build"`, `"`+name+`"`), nil)
			w.advance(run)
			w.asked = nil
			w.end(w.claim(m[0]))
			w.end(w.claim(m[1]))
			gone(pool, m)
			w.want(name, w.workOnly(run, m[1]).State, fika.Done)
			w.want(name, len(w.askedOf(string(m[1]))), 5)
		}
	})
}
