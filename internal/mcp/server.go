package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"fika/internal/tool"
)

// Server says how one server is reached, and what is thought of it.
type Server struct {
	Name    string
	Command string // a path, or a name that is looked up in PATH
	Args    []string
	Env     []string // of its process, exactly
	Given   []string // what of Env the settings name, as they do, without values
	Network bool     // its process may reach the network although the agent's commands do not
	URL     string   // of a remote one; then there is no Command
	Bearer  func() (string, error)
	Tools   []string // those that are taken, by its own names; nil: all
	Trust   bool     // what it says of effects counts
	Taint   bool     // what it gives is text from outside
	Timeout time.Duration
}

// separator stands between the name of a server and that of its tool.
const separator = "__"

// ToolName is what agents call a tool of a server. What no provider allows in a
// name becomes an underscore.
func ToolName(server, tool string) string {
	return server + separator + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, tool)
}

// ServerOf is the name of the server in the name of a tool; "" where there is
// none.
func ServerOf(tool string) string {
	server, _, ok := strings.Cut(tool, separator)
	if !ok {
		return ""
	}
	return server
}

// AddressLine is how the server is reached, for people.
func (s Server) AddressLine() string {
	if s.URL != "" {
		return s.URL
	}
	words := append([]string{s.Command}, s.Args...)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`|&;<>()*?#~") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// identity tells servers apart that are started otherwise: what a person agreed
// to of one says nothing of another.
func (s Server) identity() string {
	text, _ := json.Marshal([]any{s.Command, s.Args, s.Given, s.Network, s.URL, s.Tools}) // texts cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Confinement is how the process of a server is confined, and what it costs to
// look after protected files around a call.
type Confinement interface {
	tool.Confinement
	// Workspace is the folder that the server works in.
	Workspace() string
	// Key is the same for servers that one process can do for.
	Key() string
	// Watch remembers protected files; the returned function puts back what a
	// call has changed of them and says so, a line each.
	Watch() (end func() []string, err error)
}
