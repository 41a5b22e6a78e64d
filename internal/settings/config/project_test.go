package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// projectFiles is a person with a home, and a project with a home of its own.
type projectFiles struct {
	t *testing.T
	Layers
}

func newProjectFiles(t *testing.T) projectFiles {
	dir := t.TempDir()
	l := projectFiles{t, Layers{
		Home: filepath.Join(dir, "home"), User: filepath.Join(dir, "user"), Root: filepath.Join(dir, "shop"), Copy: filepath.Join(dir, "copy"),
	}}
	l.write(l.User, "config.toml", "model = \"stand-in\"\nusername = \"kim\"\n[[models]]\nid = \"stand-in\"\nprovider = \"scripted\"\nrules = \"rules.toml\"\n")
	return l
}

func (l projectFiles) write(dir, name, text string) {
	l.t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

func (l projectFiles) project(text string) { l.write(l.Copy, ".fika/config.toml", text) }

func (l projectFiles) load() *Config {
	l.t.Helper()
	c, err := LoadLayers(l.Layers)
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

// Whatever a project may not say is refused where it says it, with the reason.
func TestProjectMayNot(t *testing.T) {
	tests := []struct{ text, want string }{
		{`base_url = "http://127.0.0.1:1/v1"`, "config.toml:1:1: a project cannot set base_url: it decides where prompts and keys are sent"},
		{`api_key_env = "X"`, "config.toml:1:1: a project cannot set api_key_env"},
		{`provider = "openai"`, "a project cannot set provider"},
		{`username = "you"`, "a project cannot set username: it is your name"},
		{`trust = ["/"]`, "a project cannot set trust: nobody can agree"},
		{"[env]\nPATH = \"/x\"", "config.toml:1:2: a project cannot set env"},
		{"[store]\nurl = \"postgres://h/d\"", "a project cannot set store"},
		{"[nats]\nserver = \"nats://h:1\"", "a project cannot set nats"},
		{"[hub]\nautostart = true", "a project cannot set hub; set it in"},
		{"[sandbox]\nsockets = [\"/x\"]", "config.toml:2:1: a project cannot set sandbox.sockets"},
		{"[sandbox]\nlend = [\"ssh-agent\"]", "a project cannot set sandbox.lend"},
		{"[sandbox]\nwrite = [\"/x\"]", "a project cannot set sandbox.write"},
		{"[guard]\nsandbox = \"off\"", `config.toml:2:1: a project cannot set guard.sandbox = "off"`},
		{"[guard]\nnetwork = \"on\"", `a project cannot set guard.network = "on"`},
		{"[guard]\ndefault = \"allow\"", `a project cannot set guard.default = "allow"`},
		{"[guard]\ntainted = \"allow\"", `a project cannot set guard.tainted = "allow"`},
		{"[guard]\napproval_timeout = 1", "a project cannot set guard.approval_timeout"},
		{"[tools]\nallow_private_fetch = true", "a project cannot set tools.allow_private_fetch"},
		{"[plugins.x]\naccess = \"home\"", "config.toml:2:1: a project cannot set x.access"},
		{"[plugins.x]\nenv = [\"KEY\"]", "a project cannot set x.env"},
		{"[[rules]]\ntool = \"bash\"\ndo = \"allow\"", "config.toml:3:1: rules of a project can ask or deny"},
		{`workspace = "/"`, `config.toml:1:13: workspace: a project cannot reach outside: "/" is not in the project`},
		{`workspace = "../other"`, "a project cannot reach outside"},
		{`workspace = "~/src"`, "a project cannot reach outside"},
		{`system_prompt = "/etc/passwd"`, "system_prompt: a project cannot reach outside"},
		{`system_prompt = "../../secret.md"`, "system_prompt: a project cannot reach outside"},
		{"[[models]]\nid = \"m\"\nbase_url = \"https://h/v1\"", "config.toml:3:1: a project cannot set models.base_url"},
		{"[[models]]\nid = \"m\"\napi_key_env = \"K\"", "a project cannot set models.api_key_env"},
		{"[[models]]\nid = \"m\"\nheaders = [\"a: b\"]", "a project cannot set models.headers"},
		{"[models.m]\ninsecure = true", "a project cannot set models.insecure"},
		{"[[models]]\nid = \"m\"\nprovider = \"scripted\"\nrules = \"../r.toml\"", "rules: a project cannot reach outside"},
		{"[[agents]]\nid = \"a\"\nbase_url = \"http://h\"", "config.toml:3:1: a project cannot set base_url"},
		{"[[agents]]\nid = \"a\"\nsandbox = \"off\"", `a project cannot set sandbox = "off"`},
		{"[[agents]]\nid = \"a\"\nlend = [\"~/.ssh\"]", "a project cannot set lend"},
		{"[[agents]]\nid = \"a\"\nenv = {A = \"b\"}", "a project cannot set env"},
		{"[[agents]]\nid = \"a\"\nworkspace = \"/\"", "a project cannot reach outside"},
		{"[[agents]]\nid = \"a\"\nrules = [{tool = \"bash\", do = \"allow\"}]", "rules of a project can ask or deny"},
		{`modle = "x"`, "unknown key"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			l := newProjectFiles(t)
			l.project(tt.text)
			_, err := LoadLayers(l.Layers)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v\ndoes not say %s", err, tt.want)
			}
		})
	}
}

// A key that is new is a person's until somebody has thought about it.
func TestProjectKeysAreKnown(t *testing.T) {
	known := append(keyNames(contextKeys()), keyNames(agentKeys())...)
	for _, key := range projectContextKeys() {
		if !slices.Contains(known, key) {
			t.Errorf("%s is allowed, and no setting", key)
		}
	}
}

func TestLayers(t *testing.T) {
	l := newProjectFiles(t)
	l.write(l.User, "config.toml", string(mustRead(t, filepath.Join(l.User, "config.toml")))+
		"[guard]\nsandbox = \"required\"\nrights = \"least\"\n[sandbox]\nhide = [\"~/letters\"]\n[[rules]]\ntool = \"bash\"\nmatch = \"ls *\"\ndo = \"allow\"\n[chat]\nmax_depth = 3\n[[agents]]\nid = \"mine\"\n")
	l.project("max_tokens = 10\nworkspace = \"sub\"\n[guard]\nsandbox = \"best\"\nnetwork = \"off\"\n[sandbox]\nhide = [\"secret\"]\n[chat]\nmax_depth = 7\n" +
		"[[rules]]\ntool = \"bash\"\nmatch = \"git push *\"\ndo = \"ask\"\n[[agents]]\nid = \"coder\"\nsandbox = \"best\"\nrights = \"own\"\ntainted = \"offline\"\nsystem_prompt = \"prompts/coder.md\"\n" +
		"[[models]]\nid = \"stand-in\"\nprovider = \"openai\"\n[[models]]\nid = \"theirs\"\nprovider = \"scripted\"\nrules = \"r.toml\"\n")
	l.write(l.Home, "config.toml", "max_tokens = 20\n[[agents]]\nid = \"own\"\n[[rules]]\ntool = \"bash\"\nmatch = \"make *\"\ndo = \"allow\"\n")
	l.write(l.Home, "agents/helper.md", "---\ndescription: helps\n---\nHelp.\n")
	c := l.load()
	s, err := Resolve(Inputs{Home: l.Home, Agent: "coder", Config: c})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s is %v, not %v", what, got, want)
		}
	}
	check("the model", s.Model.ID+" "+s.Model.Provider+" "+s.Model.Rules, "stand-in scripted "+filepath.Join(l.User, "rules.toml"))
	scripted, _ := c.defineModel("scripted")
	check("the rules of the scripted model", scripted.Rules, filepath.Join(l.User, "rules.toml"))
	check("who is spoken to", c.Username, "kim")
	check("max_tokens", s.MaxTokens, int64(20))
	check("where that is from", s.Origins["max_tokens"], filepath.Join(l.Home, "config.toml")+":1")
	check("where the workspace is from", s.Origins["workspace"], filepath.Join(l.Copy, ".fika", "config.toml")+":2")
	check("the workspace", s.Workspace, filepath.Join(l.Root, "sub"))
	check("the prompt", s.SystemPromptFile, filepath.Join(l.Copy, ".fika", "prompts", "coder.md"))
	check("the sandbox", s.Guard.SandboxMode, "required")
	check("where that is from", s.Origins["sandbox"], filepath.Join(l.User, "config.toml")+":8")
	check("rights", s.Guard.Rights, "least")
	check("in a tainted turn", s.Guard.Taint, "offline")
	check("max_depth", s.Chat.MaxDepth, 7)
	check("rules", len(s.Guard.Rules), 3)
	check("hidden", strings.Join(s.Sandbox.Hide, " "), filepath.Join(userHome(), "letters")+" "+filepath.Join(l.Root, "secret"))
	var agents []string
	for _, a := range c.Agents {
		agents = append(agents, a.ID)
	}
	check("agents", strings.Join(agents, " "), "coder own helper")
	check("models", strings.Join(c.modelNames(), " "), "stand-in theirs")

	kept := filepath.Join(t.TempDir(), "last")
	if _, err := c.KeepCopy(kept); err != nil {
		t.Fatal(err)
	}
	last, _, err := LoadLast(kept)
	if err != nil || !last.Equal(c) || len(last.Agents) != 3 || last.Guard.SandboxMode != "required" {
		t.Errorf("what was kept is %+v, %v", last, err)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Files of the copy are named as the project's own while those say the same.
func TestShownAs(t *testing.T) {
	l := newProjectFiles(t)
	l.project("max_tokens = 10\n")
	own := filepath.Join(l.Root, ".fika", "config.toml")
	l.write(l.Root, ".fika/config.toml", "max_tokens = 10\n")
	if at, _ := l.load().WhereSet("max_tokens"); at.File != own {
		t.Errorf("it is shown as %s", at.File)
	}
	l.write(l.Root, ".fika/config.toml", "\nmax_tokens = 11\n")
	if at, _ := l.load().WhereSet("max_tokens"); at.File != filepath.Join(l.Copy, ".fika", "config.toml") || at.Line != 1 {
		t.Errorf("changed, it is shown as %s", at)
	}
	c, err := CheckProject(l.Layers)
	if err != nil || c.MaxTokens != 11 {
		t.Errorf("what it would be is %+v, %v", c, err)
	}
}

func TestAgentFile(t *testing.T) {
	home := t.TempDir()
	l := projectFiles{t, Layers{Home: home}}
	l.write(home, "config.toml", "[[models]]\nid = \"stand-in\"\nnickname = \"s\"\nprovider = \"scripted\"\nrules = \"r.toml\"\nprices = {input = 1, output = 2}\n")
	l.write(home, "agents/coder.md", `---
name: Code Expert
description: >
  Writes code,
  and mends it
model: s
tools: Read, bash , edit
capabilities: [coding, "1"]
auto_start: true
max_idle_seconds: 30
max_cost_per_chain: 1.5
reasoning: {effort: high}
rules:
  - tool: bash
    match: git push *
    do: ask
---

You write code.

---

More.
`)
	c := l.load()
	a := c.Agent("coder")
	if a == nil {
		t.Fatal("there is no coder")
	}
	if a.Name != "Code Expert" || a.Description != "Writes code, and mends it\n" && a.Description != "Writes code, and mends it" || a.Model != "s" || !slices.Equal(a.ToolPermissions, []string{"Read", "bash", "edit"}) ||
		!slices.Equal(a.Capabilities, []string{"coding", "1"}) || a.MaxIdle.Seconds() != 30 || a.MaxCostPerChain != 1_500_000 || a.Reasoning.Effort != "high" ||
		len(a.Rules) != 1 || a.Rules[0].Match != "git push *" || a.SystemPrompt != "You write code.\n\n---\n\nMore.\n" {
		t.Errorf("it is %+v", a)
	}
	if at, _ := c.WhereSet("agents[0].model"); at.Line != 6 || at.File != filepath.Join(home, "agents", "coder.md") {
		t.Errorf("its model stands at %s", at)
	}
}

func TestAgentFileMistakes(t *testing.T) {
	tests := []struct{ file, text, want string }{
		{"a.md", "---\nmodle: x\n---\n", "a.md:2:1: unknown key \"modle\" in agents[0]; did you mean model?"},
		{"a.md", "---\nmodel: x\n", "a.md:1:1: the settings have no end"},
		{"a.md", "---\nmodel: [\n---\n", "a.md:"},
		{"a.md", "---\nmodel: nobody\n---\n", "a.md:2:1: the model \"nobody\" is not known"},
		{"a.md", "---\ntools: read\ntool_permissions: [bash]\n---\n", "are the same: keep one"},
		{"a.md", "---\nmodel: a\nmodel: b\n---\n", "a.md:"},
		{"a.md", "---\nid: b\n---\n", "a.md:2:1: the name of the file is the agent's id"},
		{"a.md", "---\nsystem_prompt: x\n---\ny\n", "a.md:2:1: the prompt of this agent is the text below"},
		{"a.md", "---\nx: &x y\nmodel: *x\n---\n", "references (* and &) are not read"},
		{"a.md", "---\n- a\n---\n", "a.md:2:1: the settings are keys with values"},
		{"a.md", "---\nauto_start: soon\n---\n", "a.md:2:13: auto_start must be true or false"},
		{"a b.md", "hi\n", "a b.md:1:1: an agent's file is called by its name"},
		{"a.md", "hi\n", "the agent \"a\" is defined twice; the first is at"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			home := t.TempDir()
			l := projectFiles{t, Layers{Home: home}}
			l.write(home, "agents/"+tt.file, tt.text)
			if strings.Contains(tt.want, "twice; the first") {
				l.write(home, "config.toml", "[[agents]]\nid = \"a\"\n")
			}
			_, err := LoadLayers(l.Layers)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v\ndoes not say %s", err, tt.want)
			}
		})
	}
}

func FuzzAgentFile(f *testing.F) {
	for _, s := range []string{"", "hi", "---\nmodel: x\n---\nprompt", "---\na: {b: [1, *x]}\n---", "---\n? [a]\n: b\n---\n", "---\r\ntools: a, b\r\n---\r\n", "---\n<<: {a: b}\n---\n", "---\n\xff: \x00\n---\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := loading{config: Default()}
		l.addFile(fileText{Path: "/x/coder.md", Text: string(data), Agent: true, Layer: projectLayer, Base: "/x", Root: "/y"})
		if c, err := l.finishLoading(); err == nil && len(c.Agents) == 1 && c.Agents[0].ID != "coder" {
			t.Errorf("it is called %q", c.Agents[0].ID)
		}
	})
}

// The table [sandbox] says nothing about the key sandbox of [guard].
func TestSandboxTableIsNoValue(t *testing.T) {
	c, err := Parse("config.toml", []byte("model = \"m\"\n[[models]]\nid = \"m\"\nprovider = \"scripted\"\nrules = \"r\"\n[guard]\nsandbox = \"required\"\n[sandbox]\nhide = [\"/x\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Resolve(Inputs{Home: "/h", Agent: "coder", Config: c})
	if err != nil || s.Guard.SandboxMode != "required" || s.Origins["sandbox"] != "config.toml:7" {
		t.Errorf("the sandbox is %q from %s, %v", s.Guard.SandboxMode, s.Origins["sandbox"], err)
	}
}
