package guesttest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// server is an MCP server that the program has started.
type server struct {
	in  io.Writer
	out *bufio.Reader
	n   int
}

// start starts a server as mcpServers names it.
func start(entry any) (*server, error) {
	e, _ := entry.(object)
	var args []string
	list, _ := e["args"].([]any)
	for _, a := range list {
		text, _ := a.(string)
		args = append(args, text)
	}
	cmd := exec.Command(textOf(e, "command"), args...)
	cmd.Env = os.Environ()
	vars, _ := e["env"].([]any)
	for _, v := range vars {
		if one, ok := v.(object); ok {
			cmd.Env = append(cmd.Env, textOf(one, "name")+"="+textOf(one, "value"))
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{in: in, out: bufio.NewReader(out)}
	if _, err := s.ask("initialize", object{"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": "guestprog", "version": "1.0"}}); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s, err
}

// ask sends a request and waits for its answer.
func (s *server) ask(method string, params object) (object, error) {
	s.n++
	raw, err := json.Marshal(object{"jsonrpc": "2.0", "id": s.n, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := s.in.Write(append(raw, '\n')); err != nil {
		return nil, err
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var m object
		if json.Unmarshal(line, &m) != nil {
			return nil, fmt.Errorf("not a message: %s", line)
		}
		if id, _ := m["id"].(float64); int(id) != s.n {
			continue
		}
		if bad, ok := m["error"].(object); ok {
			return nil, fmt.Errorf("%s", textOf(bad, "message"))
		}
		result, _ := m["result"].(object)
		return result, nil
	}
}

// tool calls a tool of the session's first server, and returns what it says. "list" lists
// the tools.
func (p *program) tool(s *session, order string) (string, error) {
	if len(s.servers) == 0 {
		return "", fmt.Errorf("there is no server")
	}
	if s.talk == nil {
		var err error
		if s.talk, err = start(s.servers[0]); err != nil {
			return "", err
		}
	}
	name, text, _ := strings.Cut(order, " ")
	if name == "list" {
		result, err := s.talk.ask("tools/list", object{})
		list, _ := result["tools"].([]any)
		var names []string
		for _, t := range list {
			one, _ := t.(object)
			names = append(names, textOf(one, "name"))
		}
		return strings.Join(names, " "), err
	}
	var args object
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		return "", err
	}
	p.mu.Lock()
	p.last++
	call := object{"toolCallId": fmt.Sprintf("call-%d", p.last), "title": "mcp__fika__" + name, "kind": "other", "rawInput": args}
	p.mu.Unlock()
	tell := func(kind, status string) {
		u := object{"sessionUpdate": kind, "status": status}
		for k, v := range call {
			u[k] = v
		}
		p.update(s, u)
	}
	tell("tool_call", "pending")
	result, err := s.talk.ask("tools/call", object{"name": name, "arguments": args})
	if err != nil {
		tell("tool_call_update", "failed")
		return "", err
	}
	tell("tool_call_update", "completed")
	parts, _ := result["content"].([]any)
	said := ""
	for _, part := range parts {
		if one, ok := part.(object); ok {
			said += textOf(one, "text")
		}
	}
	return said, nil
}
