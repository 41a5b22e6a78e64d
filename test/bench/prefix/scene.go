package prefix

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Scene is a conversation that is measured.
type Scene struct {
	Name  string
	Least float64 // percentage of the prompts that has to be common with the request before
	// Lost is how many bytes of a model's requests may be paid for again; -1: any number.
	Lost int
	// Heads is how often tools or system text may change.
	Heads  int
	script func(Asked) Answer
	play   func(context.Context, *Home) error
}

// Scenes returns the conversations. The share depends on how much a step adds to what there
// is, which is little in all of them: an agent with a prompt of three kilobytes says and reads
// a line at a time. Lost does not depend on the sizes.
func Scenes() []Scene {
	return []Scene{
		{"a turn of 40 tool calls", 97, slack, 0, turnScript, playTurn},
		{"30 asks in one context", 97, slack, 0, answers, playAsks},
		{"a chat of four agents", 96, slack, 0, chatScript, playChat},
		{"colleagues, todos and a plugin change", 90, slack, 0, changeScript, playChanges},
		{"a conversation that is compacted", 80, -1, 0, fullScript, playFull},
		{"a turn with 90 tools of MCP servers", 80, -1, 1, searchScript, playSearch},
	}
}

// slack is what the ends of messages cost that grow.
const slack = 256

// Play plays the scene in a home below dir and returns what was counted.
func (s Scene) Play(ctx context.Context, program, dir string, wire Wire) ([]Row, error) {
	counter := NewCounter(s.script)
	defer counter.Close()
	h := &Home{Program: program, Root: filepath.Join(dir, "home"), Work: filepath.Join(dir, "work"), Counter: counter, Wire: wire}
	if err := s.play(ctx, h); err != nil {
		return nil, err
	}
	return counter.Rows(), nil
}

// The story is in files, one for each part.
const (
	StoryParts  = 40
	StoryPrompt = "Read the story, part by part."
)

// WriteStory writes the parts into a new folder.
func WriteStory(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i := range StoryParts {
		text := fmt.Sprintf("part %d of the story\n", i+1)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("part%02d.txt", i+1)), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// turnScript reads one file after another.
func turnScript(a Asked) Answer {
	if a.N > StoryParts {
		return Answer{Text: "That is all of it."}
	}
	return Answer{Calls: []Call{{"read", fmt.Sprintf(`{"path":"part%02d.txt"}`, a.N)}}}
}

func playTurn(ctx context.Context, h *Home) error {
	if err := h.Open(`tool_permissions = ["read", "list", "bash", "edit", "create"]`); err != nil {
		return err
	}
	if err := WriteStory(h.Work); err != nil {
		return err
	}
	return h.Run(ctx, "run", "-c", "reader", StoryPrompt)
}

// answers answers in a sentence.
func answers(a Asked) Answer {
	return Answer{Text: fmt.Sprintf("Answer %d: it is as it is.", a.N)}
}

func playAsks(ctx context.Context, h *Home) error {
	if err := h.Open(""); err != nil {
		return err
	}
	for i := range 30 {
		if err := h.Run(ctx, "run", "-c", "helper", fmt.Sprintf("Question %d: how is it?", i+1)); err != nil {
			return err
		}
	}
	return nil
}

// four pass a word on, in a circle.
func four() []string { return []string{"ann", "bert", "cleo", "dora"} }

const hopsEach = 20

func chatScript(a Asked) Answer {
	team := four()
	for i, name := range team {
		if name != a.Model {
			continue
		}
		if i == len(team)-1 && a.N == hopsEach {
			break
		}
		return Answer{Text: fmt.Sprintf("@%s here is point %d, to be seen by you.", team[(i+1)%len(team)], a.N)}
	}
	return Answer{Text: "That was the last point."}
}

func playChat(ctx context.Context, h *Home) (err error) {
	team := four()
	if err := h.Open("[chat]\nmax_depth = 0\nmax_turns_per_chain = 0\nmax_echo = 0\n", team...); err != nil {
		return err
	}
	if err := h.Run(ctx, "up"); err != nil {
		return err
	}
	defer func() {
		if e := h.Run(context.WithoutCancel(ctx), "down"); err == nil {
			err = e
		}
	}()
	if err := h.Run(ctx, "chat", "new", "talk"); err != nil {
		return err
	}
	if err := h.Run(ctx, "chat", "send", "talk", "@ann begin"); err != nil {
		return err
	}
	h.Counter.Await(team[len(team)-1], hopsEach)
	return nil
}

// changeScript keeps todos, which change with every answer.
func changeScript(a Asked) Answer {
	if a.N%2 == 1 {
		return Answer{Calls: []Call{{"update_todos", fmt.Sprintf(`{"content":"- do what %d wants"}`, a.N)}}}
	}
	return answers(a)
}

// clock is a plugin that tells the agent something else each time.
const clock = `#!/bin/sh
[ "$1" = --schema ] && { echo '{"name": "clock", "description": "Tells the time.", "hooks": ["post_system_prompt"]}'; exit; }
echo '{"inject": "It is %d o'"'"'clock."}'
`

// playChanges asks an agent whose colleagues, todos and plugin change between any two
// prompts.
func playChanges(ctx context.Context, h *Home) error {
	plugins := filepath.Join(h.Root, "plugins")
	if err := os.MkdirAll(plugins, 0o700); err != nil {
		return err
	}
	colleagues := []string{"helper"}
	for i := range 12 {
		if i%3 == 1 {
			colleagues = append(colleagues, fmt.Sprintf("colleague%d", i))
		}
		if err := h.Open("", colleagues...); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(plugins, "clock"), fmt.Appendf(nil, clock, i), 0o700); err != nil {
			return err
		}
		if err := h.Run(ctx, "run", "-c", "helper", fmt.Sprintf("Question %d: how is it?", i+1)); err != nil {
			return err
		}
	}
	return nil
}

// order is in what the model is asked for a summary with.
const order = "ummar"

// fullScript summarises when it is asked to.
func fullScript(a Asked) Answer {
	if i := strings.LastIndex(string(a.Body), `"content":`); strings.Contains(string(a.Body[max(i, 0):]), order) {
		return Answer{Text: "It was asked how it is."}
	}
	return Answer{Text: fmt.Sprintf("Answer %d. %s", a.N, strings.Repeat("It is as it is. ", 150))}
}

// playFull asks until the conversation has been compacted a few times.
func playFull(ctx context.Context, h *Home) error {
	if err := h.Open("context_window_limit = 12000"); err != nil {
		return err
	}
	for i := range 24 {
		if err := h.Run(ctx, "run", "-c", "helper", fmt.Sprintf("Question %d: how is it?", i+1)); err != nil {
			return err
		}
	}
	return nil
}

// searchScript finds a tool and calls it.
func searchScript(a Asked) Answer {
	switch {
	case a.N == 1:
		return Answer{Calls: []Call{{"tool_search", `{"query":"send letter"}`}}}
	case a.N < 20:
		return Answer{Calls: []Call{{"post0__send_letter", fmt.Sprintf(`{"to":"number %d"}`, a.N)}}}
	}
	return Answer{Text: "All letters are sent."}
}

// server is an MCP server with the tools in tools.json.
const server = `#!/bin/sh
while read -r line; do
	id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case $line in
	*'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"post","version":"1"}}' ;;
	*'"tools/list"'*) result=$(cat tools.json) ;;
	*'"tools/call"'*) result='{"content":[{"type":"text","text":"sent"}]}' ;;
	*)
		[ -z "$id" ] || printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id"
		continue
		;;
	esac
	printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
`

// playSearch gives an agent three servers of 30 tools each.
func playSearch(ctx context.Context, h *Home) error {
	var settings, permitted strings.Builder
	for i := range 3 {
		fmt.Fprintf(&permitted, ", \"mcp:post%d\"", i)
		fmt.Fprintf(&settings, "[[mcp]]\nname = \"post%d\"\ncommand = %q\n", i, filepath.Join(h.Work, "server.sh"))
	}
	if err := h.Open("tool_permissions = [\"read\"" + permitted.String() + "]\n" + settings.String()); err != nil {
		return err
	}
	tools := []string{}
	for i := range 30 {
		name := fmt.Sprintf("do_%d", i)
		if i == 20 {
			name = "send_letter"
		}
		tools = append(tools, fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{"to":{"type":"string","description":"Who or what it is for, as it is called elsewhere."}},"required":["to"]}}`,
			name, strings.Repeat("Does something that takes a sentence to describe. ", 5)))
	}
	if err := os.WriteFile(filepath.Join(h.Work, "tools.json"), []byte(`{"tools":[`+strings.Join(tools, ",")+`]}`), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(h.Work, "server.sh"), []byte(server), 0o700); err != nil {
		return err
	}
	return h.Run(ctx, "run", "-c", "clerk", "Send the letters.")
}
