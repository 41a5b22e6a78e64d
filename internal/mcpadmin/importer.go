package mcpadmin

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"fika"
	"fika/internal/config"
)

// maxImport is the maximum size of another program's file, in bytes.
const maxImport = 1 << 20

// Imported is the result of importing another program's file.
type Imported struct {
	Entries []config.MCPServer
	Left    []string // what was not imported, a line each
}

// foreign is a server as other programs configure it.
type foreign struct {
	Type     string            `json:"type"`
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	URL      string            `json:"url"`
	Server   string            `json:"serverUrl"`
	Headers  map[string]string `json:"headers"`
	Disabled bool              `json:"disabled"`
}

// Import reads a file such as .mcp.json: an object of servers by name, below mcpServers,
// mcp_servers or servers. Of secrets only the names are imported. Error kinds: NotFound,
// Invalid, Storage.
func (s *Servers) Import(path string) (Imported, error) {
	var out Imported
	servers, err := readForeign(path)
	if err != nil {
		return out, err
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		leave := func(format string, args ...any) {
			out.Left = append(out.Left, name+": "+fmt.Sprintf(format, args...))
		}
		var f foreign
		if err := json.Unmarshal(servers[name], &f); err != nil {
			leave("left out: %v", err)
			continue
		}
		entry := f.entry(localName(name), leave)
		if s.config.MCPServer(entry.Name) != nil || slices.ContainsFunc(out.Entries, func(e config.MCPServer) bool { return e.Name == entry.Name }) {
			leave("left out: there is a server %s already", entry.Name)
			continue
		}
		if _, err := config.Parse(path, []byte(entry.TOML()+"\n")); err != nil {
			leave("left out: %v", err)
			continue
		}
		out.Entries = append(out.Entries, entry)
	}
	return out, nil
}

func readForeign(path string) (map[string]json.RawMessage, error) {
	const op = "import mcp servers"
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, fika.Errorf(fika.NotFound, op, "there is no file %s", path)
	}
	if err != nil {
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxImport {
		return nil, fika.Errorf(fika.Invalid, op, "%s is no file of at most %d bytes", path, maxImport)
	}
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, fika.Errorf(fika.Invalid, op, "%s is no JSON object: %v", path, err)
	}
	for _, key := range []string{"mcpServers", "mcp_servers", "servers"} {
		if one, ok := whole[key]; ok {
			var servers map[string]json.RawMessage
			if err := json.Unmarshal(one, &servers); err != nil {
				return nil, fika.Errorf(fika.Invalid, op, "%s: %s is no object of servers: %v", path, key, err)
			}
			return servers, nil
		}
	}
	return nil, fika.Errorf(fika.Invalid, op, "%s has no mcpServers", path)
}

// localName turns a name into one that fika accepts.
func localName(name string) string {
	name = regexp.MustCompile(`[^a-z0-9_-]+`).ReplaceAllString(strings.ToLower(name), "-")
	name = regexp.MustCompile(`_+`).ReplaceAllString(name, "_")
	return strings.Trim(name[:min(len(name), 32)], "_-")
}

// entry returns the server as an entry of fika's config.
func (f foreign) entry(name string, leave func(string, ...any)) config.MCPServer {
	e := config.MCPServer{Name: name, Network: "off", Taint: true, Command: f.Command, Args: f.Args, URL: orElse(f.URL, f.Server), Disabled: f.Disabled}
	if f.Type == "sse" {
		leave("its type is sse, which is older than what fika speaks: it works if the server knows streamable HTTP at the same address")
	}
	for i, a := range e.Args {
		if strings.Contains(a, "${") {
			leave("its argument %d (%s) names a variable, which fika does not replace: write it out", i+1, a)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Env)) {
		value := f.Env[key]
		switch {
		case variable(value) == key:
			e.Env = append(e.Env, key)
		case variable(value) != "":
			leave("%s is the value of %s, and fika hands variables over under their own names: %s was taken", key, variable(value), key)
			e.Env = append(e.Env, key)
		case secret(key):
			leave("the value of %s was not taken over, as it looks like a secret: fika key set %s", key, key)
			e.Env = append(e.Env, key)
		default:
			e.Env = append(e.Env, key+"="+value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Headers)) {
		token, bearer := strings.CutPrefix(f.Headers[key], "Bearer ")
		if !strings.EqualFold(key, "Authorization") || !bearer {
			leave("the header %s was left out: fika sends a bearer token (bearer_env) and no other header", key)
			continue
		}
		if e.BearerEnv = variable(token); e.BearerEnv == "" {
			e.BearerEnv = strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_TOKEN"
			leave("the token was not taken over: fika key set %s", e.BearerEnv)
		}
	}
	return e
}

// variable returns the name in $NAME, ${NAME} and ${env:NAME}; "" for other texts.
func variable(text string) string {
	m := regexp.MustCompile(`^\$(?:\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))$`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

// secret reports whether the value of a variable is likely to be a secret.
func secret(name string) bool {
	return regexp.MustCompile(`(?i)key|token|secret|pass|cred|auth`).MatchString(name)
}
