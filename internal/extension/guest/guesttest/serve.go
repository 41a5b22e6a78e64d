package guesttest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// object is a value of JSON.
type object = map[string]any

// program is the agent with its client.
type program struct {
	how      string // what it leaves out: "noload", "noresume", "v2"
	home     string
	mu       sync.Mutex // of out and what follows
	out      io.Writer
	last     int
	asked    map[int]chan object
	sessions map[string]*session
}

// session is what a session keeps: prompts and answers in turns.
type session struct {
	id       string
	Said     []string `json:"said"`
	Cost     float64  `json:"cost"`
	cancel   chan struct{}
	canceled bool
	later    string  // a command that it asks to run once there is a file named later in its home
	servers  []any   // MCP servers, as the client named them
	talk     *server // the first of them, once it was needed
}

// Serve speaks on stdin and stdout until stdin ends, and returns the exit status. how names
// what the program cannot do, in words apart.
func Serve(how string) int {
	p := &program{how: how, home: os.Getenv("HOME"), out: os.Stdout, asked: map[int]chan object{}, sessions: map[string]*session{}}
	if p.can("die-at-start") {
		fmt.Fprintln(os.Stderr, "this program is not in the mood")
		return 3
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var m object
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		id, isRequest := m["id"]
		method, _ := m["method"].(string)
		params, _ := m["params"].(object)
		switch {
		case method == "":
			p.answered(m)
		case method == "session/prompt":
			s := p.begin(textOf(params, "sessionId")) // here, so that a cancellation right behind it counts
			go func() {
				p.respond(id, func() (object, error) { return p.prompt(s, params) })
				p.goOn(s)
			}()
		case method == "session/cancel":
			p.cancel(textOf(params, "sessionId"))
		case isRequest:
			p.respond(id, func() (object, error) { return p.do(method, params) })
		}
	}
}

// can reports whether a word is among what the program was told of itself.
func (p *program) can(word string) bool { return strings.Contains(" "+p.how+" ", " "+word+" ") }

func (p *program) respond(id any, do func() (object, error)) {
	out, err := do()
	if err != nil {
		p.write(object{"jsonrpc": "2.0", "id": id, "error": object{"code": -32603, "message": err.Error()}})
		return
	}
	p.write(object{"jsonrpc": "2.0", "id": id, "result": out})
}

func (p *program) do(method string, params object) (object, error) {
	switch method {
	case "initialize":
		if err := p.note("starts.log", fmt.Sprint(os.Getpid())); err != nil {
			return nil, err
		}
		version := 1
		if p.can("v2") {
			version = 2
		}
		sessions := object{}
		if !p.can("noresume") {
			sessions["resume"] = object{}
		}
		return object{
			"protocolVersion": version, "agentInfo": object{"name": "guestprog", "version": "1.0"}, "authMethods": []any{},
			"agentCapabilities": object{"loadSession": !p.can("noload"), "sessionCapabilities": sessions},
		}, nil
	case "session/new":
		if p.can("login") {
			fmt.Fprintln(os.Stderr, "Authentication required") // as Codex says it twice
			return nil, fmt.Errorf("authentication required")
		}
		s := &session{id: fmt.Sprintf("s-%d-%d", os.Getpid(), time.Now().UnixNano())}
		s.servers, _ = params["mcpServers"].([]any)
		return object{"sessionId": s.id}, p.keep(s)
	case "session/load", "session/resume":
		s, err := p.stored(textOf(params, "sessionId"))
		if err != nil {
			return nil, err
		}
		s.servers, _ = params["mcpServers"].([]any)
		if method == "session/load" {
			p.replay(s)
		}
		return object{}, nil
	}
	return nil, fmt.Errorf("method not found: %s", method)
}

// note adds a line to a file in the program's home.
func (p *program) note(name, line string) error {
	f, err := os.OpenFile(filepath.Join(p.home, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, line)
	return err
}

func (p *program) file(id string) string {
	return filepath.Join(p.home, "sessions", filepath.Base(id)+".json")
}

// keep stores a session.
func (p *program) keep(s *session) error {
	p.mu.Lock()
	p.sessions[s.id] = s
	p.mu.Unlock()
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.file(s.id)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(p.file(s.id), raw, 0o600)
}

func (p *program) stored(id string) (*session, error) {
	raw, err := os.ReadFile(p.file(id))
	if err != nil {
		return nil, fmt.Errorf("no session %s", id)
	}
	s := &session{id: id}
	p.mu.Lock()
	p.sessions[id] = s
	p.mu.Unlock()
	return s, json.Unmarshal(raw, s)
}

func (p *program) replay(s *session) {
	for i, text := range s.Said {
		kind := "user_message_chunk"
		if i%2 == 1 {
			kind = "agent_message_chunk"
		}
		p.update(s, object{"sessionUpdate": kind, "content": object{"type": "text", "text": text}})
	}
}

func (p *program) cancel(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.sessions[id]; s != nil && s.cancel != nil && !s.canceled {
		s.canceled = true
		close(s.cancel)
	}
}

// begin returns the session that a prompt is for, ready to be cancelled; nil if there is none.
func (p *program) begin(id string) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sessions[id]
	if s != nil {
		s.cancel, s.canceled = make(chan struct{}), false
	}
	return s
}

func (p *program) prompt(s *session, params object) (object, error) {
	if s == nil {
		return nil, fmt.Errorf("no such session")
	}
	text := ""
	blocks, _ := params["prompt"].([]any)
	for _, b := range blocks {
		if one, ok := b.(object); ok {
			text += textOf(one, "text")
		}
	}
	if err := p.note("prompts.log", fmt.Sprintf("%q", text)); err != nil {
		return nil, err
	}
	s.Said = append(s.Said, text)
	if err := p.keep(s); err != nil {
		return nil, err
	}
	answer, stop := p.work(s, text)
	s.Said, s.Cost = append(s.Said, answer), s.Cost+0.001
	if err := p.keep(s); err != nil {
		return nil, err
	}
	if !p.can("nocost") {
		p.update(s, object{"sessionUpdate": "usage_update", "used": 10, "size": 1000, "cost": object{"amount": s.Cost, "currency": "USD"}})
	}
	return object{"stopReason": stop, "usage": object{"totalTokens": 120, "inputTokens": 100, "outputTokens": 20}}, nil
}

// work does what the prompt says, and returns what was said last and why the turn ends.
func (p *program) work(s *session, text string) (answer, stop string) {
	var orders []string
	for line := range strings.Lines(text) {
		if _, order, ok := strings.Cut(strings.TrimSpace(line), "guest: "); ok {
			orders = append(orders, order)
		}
	}
	if n := len(orders); n > 1 && strings.HasPrefix(orders[n-1], "hop ") { // those before it were for others
		orders = orders[n-1:]
	}
	if n := len(s.Said); strings.Contains(text, "You were interrupted") && n > 1 { // it passes on what it was to pass on, and calls what it was to call
		for line := range strings.Lines(s.Said[n-2]) {
			_, order, ok := strings.Cut(strings.TrimSpace(line), "guest: ")
			if ok && (strings.HasPrefix(order, "hop ") || strings.HasPrefix(order, "tool ")) {
				orders = []string{order}
			}
		}
	}
	if len(orders) == 0 {
		parts := strings.Split(strings.TrimSpace(text), "\n\n")
		orders = []string{"say You said: " + parts[len(parts)-1]}
	}
	for _, order := range orders {
		verb, rest, _ := strings.Cut(order, " ")
		select {
		case <-s.cancel:
			if verb != "hang" { // it hears nothing
				return answer, "cancelled"
			}
		default:
		}
		switch verb {
		case "say":
			answer = rest
			half := len(rest) / 2
			for _, part := range []string{rest[:half], rest[half:]} {
				p.update(s, object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": part}})
			}
		case "think":
			p.update(s, object{"sessionUpdate": "agent_thought_chunk", "content": object{"type": "text", "text": rest}})
		case "plan":
			var list []object
			for _, one := range strings.Split(rest, "; ") {
				list = append(list, object{"content": one, "priority": "medium", "status": "pending"})
			}
			p.update(s, object{"sessionUpdate": "plan", "entries": list})
		case "run":
			if !p.run(s, rest) {
				return answer, "cancelled"
			}
		case "do", "hop", "tool":
			said, stop := p.does(s, verb, rest)
			if stop != "" {
				return answer, stop
			}
			answer += said
			p.update(s, object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": said}})
		case "die":
			os.Exit(7)
		case "noise":
			p.mu.Lock()
			fmt.Fprintf(p.out, "a line that is not a message\n{\"half\": \n\x00\n")
			p.mu.Unlock()
		case "long": // a line of so many bytes
			n, _ := strconv.Atoi(rest)
			p.update(s, object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": strings.Repeat("x", n)}})
		case "flood":
			n, _ := strconv.Atoi(rest)
			for range n {
				p.update(s, object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": "."}})
			}
		case "foreign": // an update of a session of somebody else
			p.update(&session{id: "other"}, object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": rest}})
		case "unknown":
			answer := p.ask("fs/read_text_file", object{"sessionId": s.id, "path": rest})
			p.update(s, object{"sessionUpdate": "agent_message_chunk", "content": object{"type": "text", "text": fmt.Sprint(answer["error"] != nil)}})
		case "later":
			s.later = rest
		case "wait":
			<-s.cancel
			return answer, "cancelled"
		case "hang":
			select {}
		case "stop":
			return answer, rest
		}
	}
	return answer, "end_turn"
}

// goOn asks for what a turn has left for later, and notes the answer.
func (p *program) goOn(s *session) {
	if s == nil || s.later == "" {
		return
	}
	for {
		if _, err := os.Stat(filepath.Join(p.home, "later")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	answer := p.ask("session/request_permission", object{
		"sessionId": s.id, "toolCall": object{"toolCallId": "later", "title": s.later, "kind": "execute", "rawInput": object{"command": s.later}},
		"options": []object{{"optionId": "yes", "name": "Allow", "kind": "allow_once"}},
	})
	result, _ := answer["result"].(object)
	outcome, _ := result["outcome"].(object)
	_ = p.note("later.log", textOf(outcome, "outcome")) // who looks for it finds nothing
}

// does carries an order out, and returns what is said of it, or why the turn ends.
func (p *program) does(s *session, verb, rest string) (said, stop string) {
	switch verb {
	case "do": // a command, and nobody is asked
		out, err := exec.Command("sh", "-c", rest).CombinedOutput()
		if said = string(out); err != nil {
			said += err.Error() + "\n"
		}
	case "hop": // N NAMES: the second of them is to go on, until N is 0; a pipe named hold in its home is read first
		if _, err := os.ReadFile(filepath.Join(p.home, "hold")); err != nil && !os.IsNotExist(err) {
			return "", "refusal"
		}
		said = Hop(rest)
	case "tool": // NAME ARGUMENTS, of the first server
		var err error
		if said, err = p.tool(s, rest); err != nil {
			said = "error: " + err.Error()
		}
	}
	return said, ""
}

// Hop returns what hands a chain on: with "3 a b c" it mentions b with "hop 2 b c a"; with 0 it
// mentions nobody.
func Hop(order string) string {
	words := strings.Fields(order)
	n, err := strconv.Atoi(words[0])
	if err != nil || n == 0 || len(words) < 3 {
		return "the end"
	}
	names := append(words[2:], words[1])
	return fmt.Sprintf("@%s guest: hop %d %s", names[0], n-1, strings.Join(names, " "))
}

// run asks whether a command may be run, and runs it. It returns false if the turn was
// cancelled meanwhile.
func (p *program) run(s *session, command string) bool {
	p.mu.Lock()
	p.last++
	call := fmt.Sprintf("call-%d", p.last)
	p.mu.Unlock()
	input := object{"command": command}
	p.update(s, object{"sessionUpdate": "tool_call", "toolCallId": call, "title": "`" + command + "`", "kind": "execute", "status": "pending", "rawInput": object{}})
	answer := p.ask("session/request_permission", object{
		"sessionId": s.id, "toolCall": object{"toolCallId": call, "title": "`" + command + "`", "kind": "execute", "rawInput": input},
		"options": []object{{"optionId": "always", "name": "Always", "kind": "allow_always"}, {"optionId": "yes", "name": "Allow", "kind": "allow_once"}, {"optionId": "no", "name": "Reject", "kind": "reject_once"}},
	})
	result, _ := answer["result"].(object)
	outcome, _ := result["outcome"].(object)
	switch textOf(outcome, "optionId") {
	case "yes":
	case "no":
		p.update(s, object{"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "failed", "content": content("the user said no")})
		return true
	default:
		return false
	}
	p.update(s, object{"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "in_progress", "rawInput": input})
	out, err := exec.Command("sh", "-c", command).CombinedOutput()
	status := "completed"
	if err != nil {
		status = "failed"
	}
	p.update(s, object{"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status, "content": content(string(out))})
	return true
}

func content(text string) []object {
	return []object{{"type": "content", "content": object{"type": "text", "text": text}}}
}

func (p *program) update(s *session, u object) {
	p.write(object{"jsonrpc": "2.0", "method": "session/update", "params": object{"sessionId": s.id, "update": u}})
}

func (p *program) ask(method string, params object) object {
	p.mu.Lock()
	p.last++
	n := p.last
	got := make(chan object, 1)
	p.asked[n] = got
	p.mu.Unlock()
	p.write(object{"jsonrpc": "2.0", "id": n, "method": method, "params": params})
	return <-got
}

func (p *program) answered(m object) {
	n, _ := m["id"].(float64)
	p.mu.Lock()
	got := p.asked[int(n)]
	delete(p.asked, int(n))
	p.mu.Unlock()
	if got != nil {
		got <- m
	}
}

func (p *program) write(m object) {
	line, err := json.Marshal(m)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.out.Write(append(line, '\n'))
}

func textOf(o object, key string) string {
	text, _ := o[key].(string)
	return text
}
