package config

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"fika"
	"fika/internal/settings/toml"
	"fika/internal/system/address"
)

// MCPServer is one [[mcp]] entry: a server of the Model Context Protocol whose tools
// agents may use. It has either a Command or a URL.
type MCPServer struct {
	Name      string
	Command   string   // a program, looked up in PATH
	Args      []string // of the command
	Env       []string // NAME passes a variable on, NAME=VALUE sets one
	Network   string   // "on": its process reaches the network, even if the agent's commands do not
	URL       string   // of a remote server
	BearerEnv string   // the variable, or the stored key, whose value is sent to it
	Headers   []string // sent to it with each request, as "NAME: VALUE"; see [HeaderEnv]
	// ClientID is as which a remote server knows fika, for fika mcp login; "": fika
	// registers itself.
	ClientID        string
	ClientSecretEnv string   // the variable or stored key that proves the ClientID
	Tools           []string // the server's names of the tools to offer; nil: all
	Trust           bool     // its statements about the effects of its tools are believed
	Taint           bool     // the output of its tools is text from outside
	Timeout         time.Duration
	Disabled        bool
}

// IsRemote reports whether the server is reached by a URL.
func (s MCPServer) IsRemote() bool { return s.URL != "" }

// MCPServer returns the entry of a name, or nil.
func (c *Config) MCPServer(name string) *MCPServer {
	for i := range c.MCP {
		if c.MCP[i].Name == name {
			return &c.MCP[i]
		}
	}
	return nil
}

func defaultMCPServer() MCPServer { return MCPServer{Network: "off", Taint: true} }

func mcpKeys() []key[MCPServer] {
	return []key[MCPServer]{
		{name: "name", at: func(s *MCPServer) any { return &s.Name }, check: checkMCPName, example: `"files"`,
			doc: "The server's name here: 1 to 32 of a-z 0-9 _ -, without two underscores in a row. Its tools are called NAME__TOOL. Required."},
		{name: "command", at: func(s *MCPServer) any { return &s.Command }, example: `"npx"`,
			doc: "The program to start, at the first call of one of its tools; it runs in the sandbox of the agent's commands, in the workspace, and ends with the agent's process."},
		{name: "args", at: func(s *MCPServer) any { return &s.Args }, example: `["-y", "@modelcontextprotocol/server-filesystem", "."]`, doc: "The program's arguments."},
		{name: "env", at: func(s *MCPServer) any { return &s.Env }, check: checkMCPEnv, example: `["GITHUB_TOKEN", "LOG_LEVEL=debug"]`,
			doc: "Variables that the program gets in addition to the usual few: NAME passes yours on, NAME=VALUE sets one."},
		{name: "network", at: func(s *MCPServer) any { return &s.Network }, oneOf: []string{"off", "on"},
			doc: "on: the program reaches the network. off: the same as for the agent's commands ([guard] network)."},
		{name: "url", at: func(s *MCPServer) any { return &s.URL }, check: checkURL, example: `"https://mcp.example.org/mcp"`,
			doc: "The address of a remote server (streamable HTTP), instead of command."},
		{name: "bearer_env", at: func(s *MCPServer) any { return &s.BearerEnv }, check: checkEnvName, example: `"EXAMPLE_TOKEN"`,
			doc: "The environment variable, or the key stored by fika key set, that fika sends to a remote server as its bearer token."},
		{name: "headers", at: func(s *MCPServer) any { return &s.Headers }, check: checkMCPHeaders, example: `["X-Api-Key: $EXAMPLE_KEY", "X-Region: eu"]`,
			doc: "Headers that fika sends to a remote server with each request. $NAME as a value is that of a variable, or of a key stored by fika key set."},
		{name: "client_id", at: func(s *MCPServer) any { return &s.ClientID }, check: checkClientID, example: `"fika-desktop"`,
			doc: "As which a remote server knows fika, for fika mcp login. Unset: fika registers itself there."},
		{name: "client_secret_env", at: func(s *MCPServer) any { return &s.ClientSecretEnv }, check: checkEnvName, example: `"EXAMPLE_CLIENT_SECRET"`,
			doc: "The environment variable, or the key stored by fika key set, with the secret that belongs to client_id, if there is one."},
		{name: "tools", at: func(s *MCPServer) any { return &s.Tools }, example: `["read_file", "list_directory"]`,
			doc: "The tools to take from the server, by the server's own names. Unset: all, up to 128."},
		{name: "trust", at: func(s *MCPServer) any { return &s.Trust },
			doc: "Believes what the server says about its tools: those that only read may run side by side, and again after a crash. Without trust no call is repeated."},
		{name: "taint", at: func(s *MCPServer) any { return &s.Taint },
			doc: "Whether the results of its tools count as text from outside ([guard] tainted)."},
		{name: "timeout", at: func(s *MCPServer) any { return &s.Timeout }, example: "60",
			doc: "How long one call, or the start of the server, may take; 0 takes the timeout of all tools."},
		{name: "disabled", at: func(s *MCPServer) any { return &s.Disabled }, doc: "Keeps the entry but does not use it."},
	}
}

// checkMCPName keeps server names distinct from tool names: files__read is the tool
// read of files, and belongs to no server files__.
func checkMCPName(v value, at any) string {
	s := at.(*string)
	n, err := fika.ParseAgentName(*s)
	switch {
	case err != nil:
		return strings.Replace(fika.ReasonOf(err), "agent name", "name of a server", 1)
	case strings.Contains(string(n), "__") || strings.HasSuffix(string(n), "_"):
		return "two underscores stand between a server and its tool: the name of a server has no two in a row, and none at its end"
	}
	*s = string(n)
	return ""
}

func checkMCPEnv(_ value, at any) string {
	for _, one := range *at.(*[]string) {
		name, _, _ := strings.Cut(one, "=")
		if wrong := envName(name); wrong != "" {
			return wrong
		}
		if strings.HasPrefix(name, "FIKA_") || strings.HasPrefix(name, "CHIBI_") {
			return name + " is for fika to set"
		}
	}
	return ""
}

// checkMCPHeaders allows headers that the protocol does not set by itself.
func checkMCPHeaders(_ value, at any) string {
	return wrongHeaders(*at.(*[]string), func(name string) string {
		switch {
		case name == "authorization":
			return "bearer_env names the variable with its token"
		case strings.HasPrefix(name, "mcp-"), name == "last-event-id":
			return "it belongs to the protocol"
		}
		return ""
	})
}

// KeyEnvs returns the names of all variables and keys that are sent to a remote server.
func (s *MCPServer) KeyEnvs() []string {
	var out []string
	for _, name := range []string{s.BearerEnv, s.ClientSecretEnv} {
		if name != "" {
			out = append(out, name)
		}
	}
	for _, h := range s.Headers {
		if env := HeaderEnv(h); env != "" {
			out = append(out, env)
		}
	}
	return out
}

func checkClientID(_ value, at any) string {
	if id := *at.(*string); strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r > '~' }) {
		return toml.Quote(id) + " has other characters than a client id may have"
	}
	return ""
}

// readMCPServers reads [[mcp]].
func (r *reader) readMCPServers(v value, path string, list *[]MCPServer) bool {
	return readTables(r, v, path, list, mcpKeys(), func(value) MCPServer { return defaultMCPServer() }, func(item value, _ *MCPServer) {
		r.needKey(item, "name", "this server has no name: give it one, as in name = \"files\"; its tools are called files__TOOL")
	})
}

func (c *crossCheck) checkMCP() {
	for i := range c.MCP {
		s := &c.MCP[i]
		if first := slices.IndexFunc(c.MCP, func(o MCPServer) bool { return o.Name == s.Name }); first < i && s.Name != "" {
			c.problems.Add(c.placeOf("mcp", i, "name"), "the server %s is defined twice; the first is at %s", toml.Quote(s.Name), c.placeOf("mcp", first, "name"))
		}
		if key, wrong := s.wrong(); wrong != "" {
			c.problems.Add(c.placeOf("mcp", i, key), "%s", wrong)
		}
	}
}

// wrong says what is wrong with a server as a whole, and at which key.
func (s *MCPServer) wrong() (key, wrong string) {
	switch {
	case s.Command == "" && s.URL == "":
		return "name", "a server has a command that is started, or a url where it is reached"
	case s.Command != "" && s.URL != "":
		return "url", "a server has a command or a url, not both"
	case s.IsRemote() && len(s.Args)+len(s.Env) > 0:
		return "args", "args and env belong to a command; a remote server gets a token by bearer_env"
	case s.IsRemote() && s.Network == "on":
		return "network", "network is for a command; a remote server is reached by fika itself"
	case !s.IsRemote() && s.BearerEnv != "":
		return "bearer_env", "a bearer token is sent to a url; a command gets it by env"
	case !s.IsRemote() && len(s.Headers) > 0:
		return "headers", "headers are sent to a url; a command gets what it needs by env"
	case !s.IsRemote() && s.ClientID != "":
		return "client_id", "client_id is for fika mcp login, and that for a server with a url"
	case s.ClientID != "" && s.BearerEnv != "":
		return "client_id", "a server takes a key (bearer_env) or a login (client_id), not both"
	case s.ClientSecretEnv != "" && s.ClientID == "":
		return "client_secret_env", "client_secret_env belongs to client_id"
	}
	keys := s.KeyEnvs()
	if u, err := url.Parse(s.URL); err == nil && u.Scheme == "http" && len(keys) > 0 && !address.IsLoopback(u.Hostname()) {
		return "url", "the token in " + keys[0] + " would go to " + u.Host + " over plain http, where others can read it: use https"
	}
	return "", ""
}

// TOML returns a server as written in a file.
func (s MCPServer) TOML() string {
	var b strings.Builder
	b.WriteString("[[mcp]]\n")
	empty := defaultMCPServer()
	for _, k := range mcpKeys() {
		if text := encodeValue(k.at(&s)); text != encodeValue(k.at(&empty)) {
			b.WriteString(k.name + " = " + text + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// AddMCPServer appends a server to a file of settings, which otherwise stays as it is.
// Error kinds: Invalid for a server that no file can hold, Storage.
func AddMCPServer(path string, s MCPServer) error {
	const op = "add mcp server"
	return rewrite(path, op, func(data []byte) ([]byte, error) {
		if _, err := Parse(path, []byte(s.TOML()+"\n")); err != nil {
			return nil, fika.Wrap(fika.Invalid, op, err)
		}
		return appendTable(data, s.TOML()+"\n"), nil
	})
}

// appendTable appends a table to the text of a file.
func appendTable(data []byte, table string) []byte {
	text := strings.TrimRight(string(data), "\n")
	if text != "" {
		text += "\n\n"
	}
	return []byte(text + table)
}

// RemoveMCPServer removes a server from a file of settings. Error kinds: NotFound,
// Invalid if only a person can tell what belongs to it, Storage.
func RemoveMCPServer(path, name string) error { return removeTable(path, "mcp", name) }

// removeTable removes the table with a name from a [[list]] of a file. Error kinds:
// those of [RemoveMCPServer].
func removeTable(path, list, name string) error {
	op := "remove from [[" + list + "]]"
	return rewrite(path, op, func(data []byte) ([]byte, error) {
		items := listItems(path, list, data)
		i := slices.IndexFunc(items, func(v value) bool { return strings.EqualFold(textOf(v.Table.Get("name")), name) })
		if i < 0 {
			return nil, fika.Errorf(fika.NotFound, op, "%s has no [[%s]] entry %q", path, list, name)
		}
		e := editor{data: data}
		from := e.lineBegin(min(items[i].At, len(data)))
		to := e.lineEnd(from)
		for to < len(data) && data[to] != '[' {
			to = e.lineEnd(to)
		}
		changed := slices.Concat(data[:from], data[to:])
		if left := listItems(path, list, changed); len(left) != len(items)-1 || toml.Read(path, changed, &Problems{}).Broken {
			return nil, fika.Errorf(fika.Invalid, op, "what belongs to %s in %s cannot be told: remove it by hand", name, path)
		}
		return changed, nil
	})
}

func listItems(path, list string, data []byte) []value {
	e := toml.Read(path, data, &Problems{}).Root.Get(list)
	if e == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(e.Value.Items), func(v value) bool { return v.Kind != toml.KindTable })
}
