package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long anything may take: programs of 100 MB start in it.
const patience = 90 * time.Second

// world is a home of fika with a model server, and the programs of npm.
type world struct {
	*testing.T
	npm   string // folder of node_modules
	home  string // of the person
	model *Model
	at    string // address of the model

	patience time.Duration // of one command
}

// newWorld skips a test where the packages are not installed.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, npm: os.Getenv("FIKA_INTEROP"), model: NewModel(), patience: patience}
	if w.npm == "" {
		t.Skip("the packages are not installed: make interop does that, with npm")
	}
	server := httptest.NewServer(w.model)
	t.Cleanup(server.Close)
	w.at, w.home = server.Listener.Addr().String(), t.TempDir()
	w.write(".fika/config.toml", fmt.Sprintf(`model = "m"
[[models]]
id = "m"
provider = "openai"
base_url = "http://%s/v1"
[[agents]]
id = "coder"
workspace = %q
[sandbox]
lend = [%q]
[[rules]]
tool = "bash"
match = "cat *"
do = "allow"
`, w.at, w.folder("project"), w.npm))
	if err := os.Chmod(filepath.Join(w.home, ".fika"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.tool("fika", "down") })
	return w
}

func (w *world) folder(name string) string {
	w.Helper()
	path := filepath.Join(w.home, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		w.Fatal(err)
	}
	return path
}

func (w *world) write(name, text string) {
	w.Helper()
	w.folder(filepath.Dir(name))
	if err := os.WriteFile(filepath.Join(w.home, name), []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

func (w *world) env(more ...string) []string {
	bin := filepath.Dir(os.Getenv("FIKA_BIN"))
	return append([]string{
		"HOME=" + w.home, "PATH=" + bin + ":" + filepath.Join(w.npm, "node_modules", ".bin") + ":" + os.Getenv("PATH"), "OPENAI_API_KEY=none", "LANG=C.UTF-8",
	}, more...)
}

// tool runs a program in the project to its end, and returns what it said.
func (w *world) tool(name string, args ...string) (out string, err error) {
	return w.toolIn(nil, name, args...)
}

func (w *world) toolIn(env []string, name string, args ...string) (string, error) {
	w.Helper()
	path := filepath.Join(w.npm, "node_modules", ".bin", name)
	if name == "fika" {
		path = os.Getenv("FIKA_BIN")
	}
	var out bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = w.folder("project"), w.env(env...), &out, &out
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	late := time.AfterFunc(w.patience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	err := cmd.Wait()
	return out.String(), err
}

// fika runs fika, which has to succeed.
func (w *world) fika(args ...string) string {
	w.Helper()
	out, err := w.tool("fika", args...)
	if err != nil {
		w.Fatalf("fika %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// until runs fika until it says words.
func (w *world) until(words string, args ...string) string {
	w.Helper()
	end := time.Now().Add(patience)
	for {
		out, _ := w.tool("fika", args...)
		if strings.Contains(out, words) {
			return out
		}
		if time.Now().After(end) {
			list, _ := w.tool("fika", "request", "list")
			w.Fatalf("fika %s never said %q:\n%s\n%s", strings.Join(args, " "), words, out, list)
		}
		<-time.After(200 * time.Millisecond)
	}
}

func (w *world) says(what, out string, words ...string) {
	w.Helper()
	for _, word := range words {
		if !strings.Contains(out, word) {
			w.Errorf("%s: %q is not in\n%s", what, word, out)
		}
	}
}

// guest is one of the programs, and how it is pointed at the model.
type guest struct {
	name  string
	env   string            // of its agent
	files map[string]string // in its home
	find  string            // what its model calls before it knows a tool of fika's
	shell string            // its tool that runs commands, with the words of its arguments
	asks  bool              // before it runs one
}

func guests() []guest {
	return []guest{
		{name: "claude", env: `{ANTHROPIC_BASE_URL: "http://llm.test", ANTHROPIC_API_KEY: "none", ANTHROPIC_MODEL: "claude-sonnet-4-5"}`,
			find: "model: call ToolSearch {\"query\":\"select:mcp__fika__%s\"}\n", shell: `Bash {"command":%q}`, asks: true},
		{name: "codex", env: `{STANDIN_KEY: "none"}`, shell: `exec_command {"cmd":%q}`,
			files: map[string]string{".codex/config.toml": "model = \"gpt-5.1-codex\"\nmodel_provider = \"standin\"\n[model_providers.standin]\nname = \"standin\"\nbase_url = \"http://llm.test/v1\"\nwire_api = \"responses\"\nenv_key = \"STANDIN_KEY\"\n"}},
		{name: "opencode", env: `{X: "y"}`, shell: `bash {"command":%q,"description":"x"}`, asks: true,
			files: map[string]string{".config/opencode/opencode.json": `{"model":"standin/m","small_model":"standin/m","permission":{"bash":"ask","external_directory":"allow"},"provider":{"standin":{"npm":"@ai-sdk/openai-compatible","name":"standin","options":{"baseURL":"http://llm.test/v1","apiKey":"none"},"models":{"m":{"name":"m"}}}}}`}},
		{name: "gemini", env: `{GOOGLE_GEMINI_BASE_URL: "http://llm.test", GEMINI_API_KEY: "none", GEMINI_MODEL: "gemini-2.5-flash"}`, shell: `run_shell_command {"command":%q}`, asks: true},
	}
}

// seat makes a guest an agent.
func (w *world) seat(g guest) {
	w.Helper()
	for name, text := range g.files {
		w.write(filepath.Join(".fika", "guests", g.name, name), text)
	}
	out := w.fika("agent", "add", g.name)
	w.says("adding it", out, "/agents/"+g.name+".md: @"+g.name)
	w.Log(strings.TrimSpace(out))
	path := filepath.Join(".fika", "agents", g.name+".md")
	raw, err := os.ReadFile(filepath.Join(w.home, path))
	if err != nil {
		w.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "hosts: ") {
			line = fmt.Sprintf("hosts: [\"llm.test:80=%s\"]\nenv: %s\n", w.at, g.env)
		}
		lines = append(lines, line)
	}
	w.write(path, strings.Join(lines, ""))
}

// marked returns the processes that have the mark of a guest.
func (w *world) marked(name string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		raw, err := os.ReadFile(path)
		var pid int
		if err == nil && bytes.Contains(raw, []byte("FIKA_STEP=guest/"+name+"/")) && bytes.Contains(raw, []byte(w.home)) {
			fmt.Sscanf(path, "/proc/%d/", &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestGuests: each program answers, calls fika's tools, asks before it acts, reads nothing
// that is not its own, and is ended and continued.
func TestGuests(t *testing.T) {
	for _, g := range guests() {
		t.Run(g.name, func(t *testing.T) {
			w := newWorld(t)
			version, _ := w.tool(g.name, "--version")
			t.Log(strings.TrimSpace(version))
			w.seat(g)
			tell := func(room, text string) {
				w.fika("chat", "create", room)
				w.fika("chat", "send", room, "@"+g.name+" "+text)
			}
			tell("room", "model: say over to you @coder")
			w.until("coder|You said: ["+g.name+"] over to you", "chat", "view", "room")

			find := ""
			if g.find != "" {
				find = fmt.Sprintf(g.find, "send_message")
			}
			w.says("a tool of fika's", w.fika("ask", g.name, find+`model: call send_message {"to":"coder","content":"by the tool"}`), "Sent to coder.")
			w.says("who sent it", w.fika("context", "log", "coder"), g.name+"|by the tool")

			run := func(command string) string { return "model: call " + fmt.Sprintf(g.shell, command) }
			w.write(".ssh/id_ed25519", "the key of the person")
			out := w.fika("ask", g.name, run("cat "+filepath.Join(w.home, ".ssh/id_ed25519")+" "+filepath.Join(w.home, ".fika/config.toml")))
			if strings.Contains(out, "the key of the person") || strings.Contains(out, "[[models]]") || !strings.Contains(out, "o such file") {
				t.Errorf("it reads what is not its own:\n%s", out)
			}

			made := filepath.Join(w.home, ".fika/contexts", g.name, "workspace/made")
			tell("allowed", run("touch made"))
			if g.asks {
				w.says("what is asked", w.until("@"+g.name+" in allowed, asked", "approve"), "touch made")
				if _, err := os.Stat(made); err == nil {
					t.Error("it did not wait for the answer")
				}
				w.fika("approve", "1")
			}
			w.until("|"+g.name+"|The tool said: ", "chat", "view", "allowed")
			if _, err := os.Stat(made); err != nil {
				t.Error(err)
			}
			if g.asks {
				tell("denied", run("touch never"))
				w.until("@"+g.name+" in denied, asked", "approve")
				w.fika("approve", "2", "--deny", "not today")
				w.until(g.name, "request", "list", "--state", "done", "--limit", "1")
				if _, err := os.Stat(filepath.Join(filepath.Dir(made), "never")); err == nil {
					t.Error("what was denied was done")
				}
			}
			w.stays(g)
			w.crash(g)
		})
	}
}

// stays measures turns that start the program, and turns that find it.
func (w *world) stays(g guest) {
	w.Helper()
	n := 0
	w.fika("chat", "create", "stays")
	turn := func() time.Duration {
		n++
		w.fika("chat", "send", "stays", fmt.Sprintf("@%s model: say turn %d", g.name, n))
		w.until(fmt.Sprintf("%s|turn %d", g.name, n), "chat", "view", "stays")
		w.until("done", "request", "list", "--limit", "1")
		out := w.fika("request", "list", "--limit", "1", "--json")
		var r struct {
			Started  time.Time `json:"started_at"`
			Finished time.Time `json:"finished_at"`
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			w.Fatal(err, out)
		}
		return r.Finished.Sub(r.Started).Round(time.Millisecond)
	}
	w.fika("agent", "stop", g.name)
	w.until("stopped", "agent", "list")
	if left := w.marked(g.name); len(left) > 0 {
		w.Errorf("processes are left of an agent that was stopped: %v", left)
	}
	w.fika("agent", "start", g.name)
	first := turn()
	begun := w.marked(g.name)
	w.Logf("a turn that starts it takes %s, those after it %s, %s, %s", first, turn(), turn(), turn())
	if now := w.marked(g.name); len(begun) == 0 || !slices.Contains(now, slices.Min(begun)) {
		w.Errorf("its processes were %v and are %v", begun, now)
	}
	w.Log(strings.TrimSpace(regexp.MustCompile(`guests .*`).FindString(w.fika("status"))))
}

// crash ends a program in the middle of its turn.
func (w *world) crash(g guest) {
	w.Helper()
	id := strings.Fields(w.fika("task", g.name, "--no-wait", "model: wait 3600"))[0]
	w.until("", "request", "show", id)
	end := time.Now().Add(patience)
	for !slices.ContainsFunc(w.model.Asked(), func(text string) bool { return strings.Contains(text, "model: wait 3600") }) {
		if time.Now().After(end) {
			w.Fatal("the model was never asked")
		}
		<-time.After(50 * time.Millisecond)
	}
	pids := w.marked(g.name)
	if len(pids) == 0 {
		w.Fatal("no process has the mark of the guest")
	}
	for _, pid := range pids {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
	w.says("after the kill", w.until("interrupted", "request", "show", id), "fika request retry")
	if left := w.marked(g.name); len(left) > 0 {
		w.Errorf("processes are left: %v", left)
	}
	w.fika("request", "retry", id)
	w.until("done", "request", "list", "--limit", "1")
	last := w.model.Asked()
	w.Logf("after the retry its model is asked: %q", clip(last[len(last)-1]))
}

// TestServedToPrograms: Claude Code and Codex call fika's agents from inside, also for an
// answer that takes longer than a call: some seconds, or three minutes.
func TestServedToPrograms(t *testing.T) {
	for _, c := range []inside{
		{"claude", "model: call ToolSearch {\"query\":\"select:mcp__fika__ask,mcp__fika__status\"}\n", []string{"ANTHROPIC_API_KEY=none"}, []string{"-p", "--allowedTools", "mcp__fika__ask,mcp__fika__status,ToolSearch", "--model", "claude-sonnet-4-5"}},
		{"codex", "", []string{"STANDIN_KEY=none"}, []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-c", "model_provider=standin", "-c", "model=gpt-5.1-codex"}},
	} {
		for _, seconds := range []int{8, 185} {
			t.Run(fmt.Sprintf("%s/%ds", c.name, seconds), func(t *testing.T) {
				t.Parallel() // they wait
				c.asks(newWorld(t), seconds)
			})
		}
	}
}

// inside is a program that calls fika's agents as tools, and what its model calls before it
// knows these.
type inside struct {
	name, find string
	env, args  []string
}

// asks has the program ask for an answer that takes so many seconds, twice, and then for how
// that stands until it is there.
func (c inside) asks(w *world, seconds int) {
	w.Helper()
	w.fika("up")
	w.says("install", w.fika("mcp", "serve", "--install", c.name, "--write"), "added to")
	env := append(slices.Clone(c.env), "ANTHROPIC_BASE_URL=http://"+w.at)
	if c.name == "codex" {
		path := filepath.Join(w.home, ".codex/config.toml")
		raw, err := os.ReadFile(path)
		if err != nil {
			w.Fatal(err)
		}
		w.write(".codex/config.toml", string(raw)+"[model_providers.standin]\nname = \"standin\"\nbase_url = \"http://"+w.at+"/v1\"\nwire_api = \"responses\"\nenv_key = \"STANDIN_KEY\"\n")
	}
	work := fmt.Sprintf(`model: call ask {"agent":"coder","prompt":"model: wait %d\nmodel: say it is well made","wait_s":1}`, seconds) + "\n"
	ask := c.find + work + work + strings.Repeat(`model: call status {"request":"$request","wait_s":40}`+"\n", 1+seconds/40)
	w.patience += time.Duration(seconds) * time.Second
	out, err := w.toolIn(env, c.name, append(c.args, ask)...)
	if err != nil {
		w.Fatal(err, out)
	}
	w.says("the answer", out, "it is well made")
	if got := strings.Count(w.fika("request", "list"), " coder "); got != 1 {
		w.Errorf("%d requests", got)
	}
}

// TestAgentOfClients: acpx talks to fika acp.
func TestAgentOfClients(t *testing.T) {
	w := newWorld(t)
	for _, how := range []struct{ flag, want string }{{"--approve-all", "hello by acpx"}} {
		out, err := w.tool("acpx", "--agent", os.Getenv("FIKA_BIN")+" acp", how.flag, "--format", "json", "exec", "model: say hello by acpx")
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		w.says(how.flag, out, how.want, `"stopReason":"end_turn"`)
	}
}

// TestServersOfClients: a client brings an MCP server, made with the library of others, which
// the agent uses if the client allows it, and else not.
func TestServersOfClients(t *testing.T) {
	w := newWorld(t)
	config := filepath.Join(w.home, "servers.json")
	w.write("servers.json", fmt.Sprintf(`{"mcpServers":[{"name":"notes","command":%q,"args":[%q],"env":[{"name":"NOTE","value":"from the client"}]}]}`,
		filepath.Join(w.npm, "node_modules/.bin/node"), filepath.Join(w.folder("project"), "notes.mjs")))
	w.write("project/notes.mjs", fmt.Sprintf(`import { McpServer } from %[1]q
import { StdioServerTransport } from %[2]q
const server = new McpServer({ name: "notes", version: "1" })
server.registerTool("note", { description: "Says the note.", annotations: { readOnlyHint: true } }, async () => ({ content: [{ type: "text", text: "the note is " + process.env.NOTE + ", of " + process.cwd() }] }))
await server.connect(new StdioServerTransport())
`, filepath.Join(w.npm, "node_modules/@modelcontextprotocol/sdk/dist/esm/server/mcp.js"), filepath.Join(w.npm, "node_modules/@modelcontextprotocol/sdk/dist/esm/server/stdio.js")))
	for flag, want := range map[string][]string{
		"--approve-all": {"start the MCP server notes: ", `"text":"the note is from the client, of ` + w.folder("project") + `"`},
		"--deny-all":    {"start the MCP server notes: ", "without the MCP servers that you have not allowed: notes"},
	} {
		out, _ := w.tool("acpx", "--agent", os.Getenv("FIKA_BIN")+" acp", flag, "--mcp-config", config, "--format", "json", "exec", "model: call note {}") // its status is that of the permissions
		w.says(flag, out, append(want, `"stopReason":"end_turn"`)...)
		if called := strings.Contains(out, `"title":"Editor_notes__note"`); called != (flag == "--approve-all") {
			t.Errorf("%s: it is called: %t\n%s", flag, called, out)
		}
	}
}

// TestInspector: the inspector of the protocol lists and calls the tools of fika mcp serve.
func TestInspector(t *testing.T) {
	w := newWorld(t)
	for _, era := range []string{"legacy", "modern"} {
		out, err := w.tool("mcp-inspector", "--cli", os.Getenv("FIKA_BIN"), "mcp", "serve", "--protocol-era", era, "--method", "tools/call", "--tool-name", "ask", "--tool-arg", "agent=coder", "--tool-arg", "prompt=model: say seen", "--format", "json")
		if err != nil {
			t.Errorf("%s: %v\n%s", era, err, out)
		}
		w.says(era, out, "seen")
	}
}

// TestConformance: the suite of the protocol finds nothing wrong with /mcp.
func TestConformance(t *testing.T) {
	w := newWorld(t)
	config := filepath.Join(w.home, ".fika/config.toml")
	raw, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	l.Close()
	w.write(".fika/config.toml", string(raw)+"[web]\nlisten = \""+at+"\"\n[doors]\nmcp = true\n")
	w.fika("up")
	token := strings.TrimSpace(w.fika("token", "create", "judge", "--door", "mcp", "--agents", "coder"))
	for line := range strings.Lines(token) {
		if f := strings.Fields(line); len(f) == 1 {
			token = f[0]
		}
	}
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: at})
		if host := r.In.Host; !strings.HasPrefix(host, "127.0.0.1") && !strings.HasPrefix(host, "localhost") {
			r.Out.Host = host // a foreign name, which fika has to refuse
		} else if r.In.Header.Get("Origin") == "http://"+host {
			r.Out.Header.Set("Origin", "http://"+at)
		}
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, err.Error(), http.StatusBadGateway)
	}})
	t.Cleanup(front.Close)
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection", "server-stateless", "caching"} {
		out, err := w.tool("conformance", "server", "--url", front.URL+"/mcp", "--scenario", scenario)
		wrong, untested := 0, 0
		for line := range strings.Lines(out) {
			switch line = strings.TrimSpace(line); {
			case strings.HasPrefix(line, "Error: Not testable"): // it wants a tool of its own
				untested++
			case strings.HasPrefix(line, "Error: "):
				wrong++
				t.Errorf("%s: %s", scenario, line)
			case strings.HasPrefix(line, "Passed: "):
				t.Logf("%s: %s", scenario, line)
			}
		}
		if err != nil && wrong+untested == 0 {
			t.Errorf("%s: %v\n%s", scenario, err, out)
		} else if untested > 0 {
			t.Logf("%s: %d of them cannot be tested without tools of the suite", scenario, untested)
		}
	}
}
