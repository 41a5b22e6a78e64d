package mcpadmin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"fika"
	"fika/internal/settings/config"
	"fika/internal/text/hint"
)

// maxImport is the maximum size of another program's file, in bytes.
const maxImport = 1 << 20

// Imported is the result of importing another program's file.
type Imported struct {
	Entries []config.MCPServer
	Left    []string // what was not imported, a line each
}

// foreign is a server as other programs configure it. [known] lists the keys.
type foreign struct {
	Type        string            `json:"type"`
	Command     words             `json:"command"`
	Args        []string          `json:"args"`
	Env         map[string]string `json:"env"`
	Environment map[string]string `json:"environment"`
	URL         string            `json:"url"`
	Server      string            `json:"serverUrl"`
	HTTP        string            `json:"httpUrl"`
	Headers     map[string]string `json:"headers"`
	Disabled    bool              `json:"disabled"`
	Enabled     *bool             `json:"enabled"`
	// What follows are keys of Codex.
	BearerEnv   string            `json:"bearer_token_env_var"`
	HTTPHeaders map[string]string `json:"http_headers"`
	EnvHeaders  map[string]string `json:"env_http_headers"` // names of variables
	Tools       []string          `json:"enabled_tools"`
	ToolTimeout float64           `json:"tool_timeout_sec"`
}

// known are the keys of [foreign].
func known() []string {
	return strings.Fields("type command args env environment url serverUrl httpUrl headers disabled enabled bearer_token_env_var http_headers env_http_headers enabled_tools tool_timeout_sec")
}

// words is a command: a text, or a list with its arguments.
type words []string

// UnmarshalJSON implements [json.Unmarshaler].
func (w *words) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*w = words{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(w))
}

// Import reads a file such as .mcp.json: servers by name, below mcpServers, mcp_servers,
// servers or mcp, as JSON or, in a file that ends in .toml, as TOML. Of secrets only the
// names are imported. Error kinds: NotFound, Invalid, Storage.
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
		if arg := secretArg(append(f.Command[min(len(f.Command), 1):], f.Args...)); arg > 0 {
			leave("left out: its argument %d looks like a secret, and config.toml is no place for one: see whether the server takes it from a variable (env)", arg)
			continue
		}
		entry := f.entry(localName(name), leave)
		f.reportOthers(servers[name], leave)
		if s.config.MCPServer(entry.Name) != nil || slices.ContainsFunc(out.Entries, func(e config.MCPServer) bool { return e.Name == entry.Name }) {
			leave("left out: server %s already exists", entry.Name)
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
		return nil, fika.Errorf(fika.NotFound, op, "file %s not found", path)
	}
	if err != nil {
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxImport {
		return nil, fika.Errorf(fika.Invalid, op, "%s is not a file of at most %d bytes", path, maxImport)
	}
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	var whole map[string]json.RawMessage
	if filepath.Ext(path) == ".toml" {
		var tables map[string]any
		if err := toml.Unmarshal(raw, &tables); err != nil {
			return nil, fika.Errorf(fika.Invalid, op, "%s is not TOML: %v", path, err)
		}
		if raw, err = json.Marshal(tables); err != nil {
			return nil, fika.Errorf(fika.Invalid, op, "%s holds what no settings of a server do: %v", path, err)
		}
	}
	if err := json.Unmarshal(raw, &whole); err != nil {
		return nil, fika.Errorf(fika.Invalid, op, "%s is not a JSON object: %v", path, err)
	}
	for _, key := range []string{"mcpServers", "mcp_servers", "servers", "mcp"} {
		one, ok := whole[key]
		if !ok {
			continue
		}
		var servers map[string]json.RawMessage
		if err := json.Unmarshal(one, &servers); err != nil {
			return nil, fika.Errorf(fika.Invalid, op, "%s: %s is not an object of servers: %v", path, key, err)
		}
		var inner map[string]json.RawMessage
		if key == "mcp" && json.Unmarshal(servers["servers"], &inner) == nil && inner != nil {
			return inner, nil
		}
		return servers, nil
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
	e := config.MCPServer{
		Name: name, Network: "off", Taint: true, Args: f.Args, URL: cmp.Or(f.URL, f.Server, f.HTTP), BearerEnv: f.BearerEnv, Tools: f.Tools,
		Disabled: f.Disabled || f.Enabled != nil && !*f.Enabled, Timeout: time.Duration(f.ToolTimeout * float64(time.Second)),
	}
	if len(f.Command) > 0 {
		e.Command, e.Args = f.Command[0], slices.Concat(f.Command[1:], f.Args)
	}
	if f.Type == "sse" {
		leave("its type is sse, which is older than what fika speaks: it works if the server knows streamable HTTP at the same address")
	}
	for i, a := range e.Args {
		if strings.Contains(a, "${") {
			leave("its argument %d (%s) names a variable, which fika does not replace: write it out", i+1, a)
		}
	}
	f.addEnv(&e, leave)
	f.addHeaders(&e, leave)
	return e
}

func (f foreign) addEnv(e *config.MCPServer, leave func(string, ...any)) {
	env := maps.Clone(f.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, f.Environment)
	for _, key := range slices.Sorted(maps.Keys(env)) {
		value := env[key]
		switch {
		case variable(value) == key:
			e.Env = append(e.Env, key)
		case variable(value) != "":
			leave("%s is the value of %s, and fika hands variables over under their own names: %s was taken", key, variable(value), key)
			e.Env = append(e.Env, key)
		case secret(key):
			leave("the value of %s was not taken over, as it looks like a secret: %s", key, hint.KeySet.With(key))
			e.Env = append(e.Env, key)
		default:
			e.Env = append(e.Env, key+"="+value)
		}
	}
}

// addHeaders takes headers over. Values that may be secrets become names of variables.
func (f foreign) addHeaders(e *config.MCPServer, leave func(string, ...any)) {
	headers := map[string]string{}
	maps.Copy(headers, f.Headers)
	maps.Copy(headers, f.HTTPHeaders)
	for name, env := range f.EnvHeaders {
		headers[name] = "$" + env
	}
	ofServer := strings.ToUpper(strings.ReplaceAll(e.Name, "-", "_"))
	for _, key := range slices.Sorted(maps.Keys(headers)) {
		value := headers[key]
		if token, bearer := strings.CutPrefix(value, "Bearer "); bearer && strings.EqualFold(key, "Authorization") {
			if e.BearerEnv = variable(token); e.BearerEnv == "" {
				e.BearerEnv = ofServer + "_TOKEN"
				leave("the token was not taken over: %s", hint.KeySet.With(e.BearerEnv))
			}
			continue
		}
		switch env := variable(value); {
		case strings.EqualFold(key, "Authorization"):
			leave("the header %s was left out: fika sends a bearer token there (bearer_env), or what a login gives", key)
		case env != "":
			e.Headers = append(e.Headers, key+": $"+env)
		case secret(key):
			env = ofServer + "_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
			e.Headers = append(e.Headers, key+": $"+env)
			leave("the value of the header %s was not taken over, as it looks like a secret: %s", key, hint.KeySet.With(env))
		default:
			e.Headers = append(e.Headers, key+": "+value)
		}
	}
}

// reportOthers names the keys of a server that fika does not know.
func (f foreign) reportOthers(raw json.RawMessage, leave func(string, ...any)) {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(raw, &all) // it was read as a server before
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(known(), key) {
			continue
		}
		more := ""
		switch key {
		case "timeout":
			more = ", as programs differ in its unit: set timeout"
		case "cwd":
			more = ", as a server works in the workspace of its agent"
		case "alwaysAllow", "autoApprove", "trust":
			more = ": what runs without a question is for [[rules]] to say"
		}
		leave("%s was left out%s", key, more)
	}
}

// secretArg returns the number of the first argument that is likely to be a secret; 0:
// none.
func secretArg(args []string) int {
	for i, a := range args {
		name, value, both := strings.Cut(a, "=")
		switch {
		case strings.HasPrefix(a, "-") && both && secret(name) && value != "" && variable(value) == "":
			return i + 1
		case i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=") && secret(args[i-1]) && !strings.HasPrefix(a, "-") && variable(a) == "":
			return i + 1
		}
		if u, err := url.Parse(a); err == nil && u.User != nil {
			if _, password := u.User.Password(); password {
				return i + 1
			}
		}
	}
	return 0
}

// variable returns the name in $NAME, ${NAME}, ${env:NAME} and {env:NAME}; "" for other texts.
func variable(text string) string {
	m := regexp.MustCompile(`^(?:\$(?:\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))|\{env:([A-Za-z_][A-Za-z0-9_]*)\})$`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1] + m[2] + m[3]
}

// secret reports whether the value of a variable is likely to be a secret.
func secret(name string) bool {
	return regexp.MustCompile(`(?i)key|token|secret|pass|cred|auth`).MatchString(name)
}
