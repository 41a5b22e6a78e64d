package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"fika/internal/llm"
	"fika/internal/llm/llmtest"
)

// A plan is in the prompt: which agents run which tools, in this order.
//
//	job 7 hop 0 plan arya:bash,read;gendry:;hotpie:edit
//
// The model makes one tool call per round, then answers. In a chat the answer mentions
// the next agent of the plan.
var planned = regexp.MustCompile(`job (\d+) hop (\d+) plan (\S+)`)

// asked is one request to the model about a job.
type asked struct {
	job, hop, round int
}

// model answers according to the plan in the prompt and records what it was asked.
type model struct {
	marker string
	fault  func(asked) llmtest.Script // if not nil: what to do instead; a nil script means nothing special

	mu      sync.Mutex
	log     []asked
	steps   []stepAsk     // of workflows
	thinks  time.Duration // how long a step of a workflow takes
	invalid []string      // conversations that a provider would refuse
	slow    time.Duration
	failed  bool
	review  chan struct{} // reviews are answered once it is closed; nil: at once
	looks   int           // how often a review was asked for
}

func (m *model) answer(r llmtest.Request) llmtest.Script {
	a, plan, ok := read(r)
	ok = ok && len(r.Tools) > 0 // a summary is asked for without tools
	m.mu.Lock()
	if bad := invalid(r.Messages); bad != "" {
		m.invalid = append(m.invalid, bad)
	}
	if ok && plan[a.hop].agent != "maker" && !reviews(r.Messages) { // who answers the same job in several turns
		m.log = append(m.log, a)
	}
	fault, slow := m.fault, m.slow
	m.mu.Unlock()
	if s, is := m.step(r); is {
		return s
	}
	if reviews(r.Messages) {
		m.mu.Lock()
		m.looks++
		review := m.review
		m.mu.Unlock()
		if review != nil {
			<-review
		}
		return llmtest.Script{llmtest.Text(`{"ok":true,"notes":""}`), llmtest.Usage(50, 5)}
	}
	if !ok {
		return llmtest.Script{llmtest.Text("a summary of all that was said"), llmtest.Usage(50, 5)}
	}
	if fault != nil {
		if s := fault(a); s != nil {
			return s
		}
	}
	if plan[a.hop].agent == "maker" {
		return makes(a, r.Messages)
	}
	var s llmtest.Script
	if slow > 0 {
		s = append(s, llmtest.Delay(slow))
	}
	return append(s, m.script(a, plan)...)
}

// script returns the answer of one round.
func (m *model) script(a asked, plan []hop) llmtest.Script {
	tools := plan[a.hop].tools
	if a.round < len(tools) {
		id := fmt.Sprintf("c%d-%d-%d", a.job, a.hop, a.round)
		if tools[a.round] == "pair" {
			return llmtest.Script{llmtest.Text("looking"), llmtest.Call(id+"a", "list", `{}`), llmtest.Call(id+"b", "list", `{"path":"."}`), llmtest.Usage(50, 5)}
		}
		switch tools[a.round] {
		case "fail":
			return m.failOnce(id, llmtest.Status(400, "refused", 0))
		case "busy":
			return m.failOnce(id, llmtest.Status(429, "slow down", 5*time.Minute))
		}
		name, args := m.call(tools[a.round], a)
		return llmtest.Script{llmtest.Call(id, name, args), llmtest.Usage(50, 5)}
	}
	text := fmt.Sprintf("answer %d hop %d", a.job, a.hop)
	if a.hop+1 < len(plan) {
		text += fmt.Sprintf(": @%s job %d hop %d plan %s", plan[a.hop+1].agent, a.job, a.hop+1, words(plan))
	}
	return llmtest.Script{llmtest.Text(text), llmtest.Usage(50, 5)}
}

// failOnce refuses the first request; after that it makes a call without effect.
func (m *model) failOnce(id string, how llmtest.Action) llmtest.Script {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed {
		return llmtest.Script{llmtest.Call(id, "list", "{}"), llmtest.Usage(50, 5)}
	}
	m.failed = true
	return llmtest.Script{how}
}

// call returns the name and arguments of a tool in a plan.
func (m *model) call(tool string, a asked) (name, args string) {
	file := fmt.Sprintf("f%d-%d", a.job, a.hop)
	value := map[string]any{}
	switch name = tool; tool {
	case "bash":
		// A kill in the middle leaves a begin without an end.
		value["command"] = fmt.Sprintf("echo begin $FIKA_STEP >> %s; sleep 0.0%d; echo end $FIKA_STEP >> %s", m.marker, a.job%4, m.marker)
	case "long":
		name = "bash"
		value["command"] = fmt.Sprintf("echo begin $FIKA_STEP >> %s; sleep 0.4; echo end $FIKA_STEP >> %s", m.marker, m.marker)
	case "gate":
		name = "bash"
		value["command"] = fmt.Sprintf("echo begin $FIKA_STEP >> %[1]s; while [ ! -e %[1]s.gate ]; do sleep 0.02; done; echo end $FIKA_STEP >> %[1]s", m.marker)
	case "asked":
		name = "bash"
		value["command"] = fmt.Sprintf("date > /dev/null; echo begin $FIKA_STEP >> %[1]s; echo end $FIKA_STEP >> %[1]s", m.marker)
	case "plant":
		name = "bash"
		value["command"] = fmt.Sprintf("echo begin $FIKA_STEP >> %[1]s; echo planted > .envrc; sleep 0.1; echo end $FIKA_STEP >> %[1]s", m.marker)
	case "create":
		value["path"], value["content"], value["overwrite"] = file, "one\n", true
	case "edit":
		value["path"], value["old"], value["new"] = file, "one\n", "one\ntwo\n"
	case "read":
		value["path"] = file
	case "list":
	case "await":
		name, value["tasks"] = "board_wait", []int{1}
	case "plan":
		name, value = "board_add", plansTasks(a.job)
	case "tell":
		name = "send_message"
		value["to"], value["content"] = agents[(a.hop+1)%2], fmt.Sprintf("job %d hop 0 plan %s:", a.job+1000, agents[(a.hop+1)%2])
	case "flood":
		name = "bash"
		value["command"] = "yes 0123456789 | head -c 12000"
	case "hand":
		name = "delegate"
		value["agent"], value["prompt"] = agents[(a.hop+1)%2], fmt.Sprintf("job %d hop 0 plan %s:", a.job+2000, agents[(a.hop+1)%2])
	case "flow":
		name = "run_workflow"
		value["name"], value["inputs"] = "inner", map[string]string{"job": fmt.Sprint(a.job), "n": "1"}
	case "goals":
		name = "update_goals"
		value["content"] = fmt.Sprintf("finish job %d", a.job)
	}
	data, _ := json.Marshal(value)
	return name, string(data)
}

// hop is the part of a plan for one agent.
type hop struct {
	agent string
	tools []string
}

func words(plan []hop) string {
	var parts []string
	for _, p := range plan {
		parts = append(parts, p.agent+":"+strings.Join(p.tools, ","))
	}
	return strings.Join(parts, ";")
}

// read finds the last job that a request is about, and its round.
func read(r llmtest.Request) (asked, []hop, bool) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role != "user" {
			continue
		}
		all := planned.FindAllStringSubmatch(r.Messages[i].Text, -1)
		if len(all) == 0 && strings.Contains(r.Messages[i].Text, "summary") {
			return asked{}, nil, false
		}
		if len(all) == 0 { // it says something about the surroundings
			continue
		}
		found := all[len(all)-1]
		var a asked
		a.job, _ = strconv.Atoi(found[1])
		a.hop, _ = strconv.Atoi(found[2])
		var plan []hop
		for part := range strings.SplitSeq(found[3], ";") {
			who, what, _ := strings.Cut(part, ":")
			plan = append(plan, hop{who, strings.FieldsFunc(what, func(r rune) bool { return r == ',' })})
		}
		for _, m := range r.Messages[i+1:] {
			if m.Role == "assistant" && len(m.Calls) > 0 {
				a.round++
			}
		}
		return a, plan, a.hop < len(plan)
	}
	return asked{}, nil, false
}

// invalid says why a provider would refuse these messages, or "".
func invalid(list []llm.Message) string {
	due := map[string]bool{}
	for i, m := range list {
		switch {
		case m.Role == "tool" && !due[m.CallID]:
			return fmt.Sprintf("message %d is a result of %q, which nobody called just before", i, m.CallID)
		case m.Role == "tool":
			delete(due, m.CallID)
		case len(due) > 0:
			return fmt.Sprintf("message %d comes before the results of %v", i, due)
		}
		for _, c := range m.Calls {
			due[c.ID] = true
		}
	}
	if len(due) > 0 {
		return fmt.Sprintf("no results of %v", due)
	}
	return ""
}
