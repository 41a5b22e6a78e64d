package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"fika/internal/tool"
)

// Server says how a server is reached, and how far it is trusted.
type Server struct {
	Name    string
	Command string // a path, or a name that is looked up in PATH
	Args    []string
	Env     []string // the exact environment of its process
	Given   []string // variables of Env as the settings name them, without values
	Network bool     // its process may reach the network even if the agent's commands may not
	URL     string   // address of a remote server, which has no Command
	// Token returns what tells a remote server who calls, "" if there is nothing; nil: the
	// same. refused is what the server has just refused; the same answer again means that
	// there is no other.
	Token   func(ctx context.Context, refused string) (string, error)
	ByLogin bool                              // Token is of a login, which a person can repeat
	Headers func() (map[string]string, error) // more for each request to a remote server; nil: none
	Tools   []string                          // the tools to offer, by the server's own names; nil: all
	Trust   bool                              // what the server says about effects counts
	Session bool                              // it is there for one session: nothing is kept of what it says
	Taint   bool                              // its results are text from outside
	Timeout time.Duration
}

// separator stands between the name of a server and that of its tool.
const separator = "__"

// ToolName returns the name by which agents call a tool of a server. Characters that some
// provider does not allow in a name become underscores.
func ToolName(server, tool string) string {
	return server + separator + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, tool)
}

// ServerOf returns the name of the server in the name of a tool; "" if it names none.
func ServerOf(tool string) string {
	server, _, ok := strings.Cut(tool, separator)
	if !ok {
		return ""
	}
	return server
}

// AddressLine returns how the server is reached, for people.
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

// identity distinguishes servers that are started or reached differently: what a person
// agreed to for one does not hold for another.
func (s Server) identity() string {
	text, _ := json.Marshal([]any{s.Command, s.Args, s.Given, s.Network, s.URL, s.Tools}) // texts cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Confinement says how the process of a server is confined, and checks protected files
// around a call.
type Confinement interface {
	tool.Confinement
	// Workspace returns the folder in which the server works.
	Workspace() string
	// Key is the same for servers that one process can serve.
	Key() string
	// Watch remembers protected files; the returned function puts back those that a call
	// has changed, and returns a line about each change.
	Watch() (end func() []string, err error)
}
