package editor

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"fika/internal/text/safetext"
)

// Server is a program that an editor wants agents to have.
type Server struct {
	Name    string   `json:"name"`    // of 1 to 20 of a-z 0-9 -; no two of a session have the same
	Command string   `json:"command"` // an absolute path
	Args    []string `json:"args"`
	Env     []string `json:"env"` // NAME=VALUE
}

// Prefix begins the names by which agents call these servers. The name of a server in the
// settings has no capital letters, so that none is, or is meant by, one of these.
const Prefix = "Editor_"

// Called returns the name by which agents call the server.
func (s Server) Called() string { return Prefix + s.Name }

// Line returns the program with all its arguments, for people: what a shell would not take
// as it is stands in quotes.
func (s Server) Line() string {
	words := append([]string{s.Command}, s.Args...)
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r))
		}) {
			words[i] = strconv.Quote(w)
		}
	}
	return strings.Join(words, " ")
}

// Variables returns the names of what the editor puts into its environment.
func (s Server) Variables() []string {
	names := make([]string, len(s.Env))
	for i, kv := range s.Env {
		names[i], _, _ = strings.Cut(kv, "=")
	}
	return names
}

// IsMissing explains why a tool cannot be called that belongs to such a server; "" if it
// belongs to none.
func IsMissing(tool string) string {
	if !strings.HasPrefix(tool, Prefix) {
		return ""
	}
	return "it belongs to an MCP server of an editor, which is there only on the editor's machine, while this session is open there and its person has allowed the server: do without it"
}

// Limits on what an editor may send for one session.
const (
	maxServers = 16
	maxBytes   = 32 << 10 // of the command, arguments and environment of one server
	maxName    = 20
)

// Read reads the servers that an editor sends. Those that are refused are named, each with
// the reason. find returns the path of a program that is named without one.
func Read(list []json.RawMessage, find func(string) (string, error)) (servers []Server, refused []string) {
	taken := map[string]bool{}
	for i, raw := range list {
		if i == maxServers {
			refused = append(refused, fmt.Sprintf("and %d more (no more than %d are used)", len(list)-i, maxServers))
			break
		}
		s, shown, why := read(raw, find)
		if why == "" && taken[s.Name] {
			why = "another one has the same name"
		}
		if why != "" {
			refused = append(refused, shown+" ("+why+")")
			continue
		}
		taken[s.Name] = true
		servers = append(servers, s)
	}
	return servers, refused
}

// read reads one server. shown is its name for people; why says why it is refused.
func read(raw json.RawMessage, find func(string) (string, error)) (s Server, shown, why string) {
	var p struct {
		Name, Type, Command *string
		Args                []string
		Env                 []struct{ Name, Value *string }
	}
	err := json.Unmarshal(raw, &p)
	shown = "one without a name"
	if p.Name != nil {
		s.Name = nameOf(safetext.Line(*p.Name))
		if line := safetext.Line(*p.Name); line != "" {
			shown = strings.ToValidUTF8(line[:min(len(line), 64)], "")
		}
	}
	switch {
	case p.Type != nil && *p.Type != "stdio":
		return s, shown, safetext.Line(strings.ToValidUTF8((*p.Type)[:min(len(*p.Type), 16)], "")) + ": only programs are used, not addresses"
	case err != nil:
		return s, shown, "what it is cannot be read"
	case s.Name == "":
		return s, shown, "its name needs a letter or a digit"
	case p.Command == nil || *p.Command == "":
		return s, shown, "it has no command"
	}
	s.Command, s.Args = *p.Command, p.Args
	size := len(s.Command)
	for _, text := range s.Args {
		size += len(text)
	}
	for _, v := range p.Env {
		if v.Name == nil || v.Value == nil || *v.Name == "" || strings.Contains(*v.Name, "=") {
			return s, shown, "a variable has no name or no value"
		}
		if strings.HasPrefix(*v.Name, "FIKA_") || strings.HasPrefix(*v.Name, "CHIBI_") {
			return s, shown, safetext.Line(*v.Name) + " is for fika to set"
		}
		s.Env = append(s.Env, *v.Name+"="+*v.Value)
		size += len(*v.Name) + len(*v.Value)
	}
	switch {
	case strings.Contains(s.Command+strings.Join(s.Args, "")+strings.Join(s.Env, ""), "\x00"):
		return s, shown, "a zero byte is in what would be started"
	case size > maxBytes:
		return s, shown, fmt.Sprintf("its command, arguments and variables have more than %d KiB", maxBytes>>10)
	}
	if !strings.Contains(s.Command, "/") {
		if s.Command, err = find(s.Command); err != nil {
			return s, shown, "its command is not found"
		}
	}
	if !filepath.IsAbs(s.Command) {
		return s, shown, "its command has to be an absolute path"
	}
	return s, shown, ""
}

// nameOf makes the name of a server out of what the editor calls it.
func nameOf(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(text) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if s := b.String(); s != "" && !strings.HasSuffix(s, "-") {
			b.WriteByte('-')
		}
		if b.Len() == maxName {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}
