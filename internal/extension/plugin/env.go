package plugin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fika"
	"fika/internal/tool"
)

// ModelKeys, among the variables that a plugin asks for, stands for those with which
// models are reached: a plugin that starts fika needs them.
const ModelKeys = "MODEL_KEYS"

// maxEnv bounds the JSON that is passed in a variable: systems refuse more than 128 KiB
// in one. Larger JSON is passed in a file.
const maxEnv = 64 << 10

// EnvDocs documents the variables that a plugin gets beside the allow-list: name and
// meaning.
func EnvDocs() [][2]string {
	return [][2]string{
		{"FIKA_TOOL_NAME, CHIBI_TOOL_NAME", "calls: the name of the tool"},
		{"FIKA_TOOL_ARGS, CHIBI_TOOL_ARGS", "calls: the arguments, a JSON object"},
		{"FIKA_TOOL_ARGS_FILE", "calls: the file that holds the arguments if they are larger than 64 KiB; the plain variables are then left out"},
		{"FIKA_ARG_name", "calls and tool hooks: each argument that is a string, number or boolean"},
		{"FIKA_HOOK, CHIBI_HOOK", "hooks: the name of the hook"},
		{"FIKA_HOOK_DATA, CHIBI_HOOK_DATA", "hooks: its data, a JSON object"},
		{"FIKA_HOOK_DATA_FILE", "hooks: the file that holds the data if it is larger than 64 KiB"},
		{"FIKA_HOOK_name", "hooks: each value of the data that is a string, number or boolean"},
		{"FIKA_CONTEXT, CHIBI_CONTEXT, FIKA_AGENT", "the context and agent that the plugin runs for"},
		{"FIKA_USERNAME", "the name of the person"},
		{"FIKA_WORKSPACE", "the folder to work in; also the working folder"},
		{"FIKA_HOME, CHIBI_HOME", "the home folder"},
		{"FIKA_BIN", "the fika program"},
		{"FIKA_PLUGIN_DATA", "the plugin's own folder for its data, the only part of the home that it can write"},
		{"FIKA_INTERACTIVE", "1 if stdin is a terminal with a person at it; otherwise unset, and stdin has the whole of TOOL_ARGS or HOOK_DATA"},
		{"FIKA_VERBOSE, CHIBI_VERBOSE", "1 when -v was given"},
		{"FIKA_DEPTH", "how deep fika is nested: 1, or more if a plugin started fika"},
		{"FIKA_STEP", "calls: the mark of the call, request/n; a program left running with it is killed if the call is cancelled"},
	}
}

// passed lists the variables of the person's environment that every plugin gets: where
// things are and how they look, but never credentials.
var passed = [...]string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "COLORTERM", "NO_COLOR",
	"TMPDIR", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
}

// baseEnv returns the variables that every process of every plugin gets.
func (p *Plugins) baseEnv(depth int) []string {
	var env []string
	for _, kv := range p.opts.Environ {
		name, _, ok := strings.Cut(kv, "=")
		if ok && (strings.HasPrefix(name, "LC_") || slices.Contains(passed[:], name)) {
			env = append(env, kv)
		}
	}
	env = append(env, depthVar+"="+strconv.Itoa(depth), "FIKA_BIN="+p.opts.Bin)
	if p.opts.Home != "" {
		env = append(env, "FIKA_HOME="+p.opts.Home, "CHIBI_HOME="+p.opts.Home)
	}
	if p.opts.Verbose {
		env = append(env, "FIKA_VERBOSE=1", "CHIBI_VERBOSE=1")
	}
	return env
}

// environment is the environment of one process, with the files that it names.
type environment struct {
	vars    []string
	files   []string
	err     error
	confine tool.Confinement // of the process; may be nil
}

// environmentOf returns an environment with what the plugin always gets and what the
// person granted it by name, for a process that works in dir. Names that fika sets itself
// cannot be granted.
func (p *Plugins) environmentOf(f *file, dir string) *environment {
	e := &environment{vars: slices.Clone(p.env)}
	if p.opts.Confine != nil {
		e.confine = p.opts.Confine(f.Name, f.Path, dir, p.settingsOf(f).Home)
	}
	if p.opts.Data != "" {
		data := filepath.Join(p.opts.Data, f.Name)
		e.err = os.MkdirAll(data, 0o700)
		e.setVariable("FIKA_PLUGIN_DATA", data)
	}
	names := slices.Clone(p.settingsOf(f).Env)
	if slices.Contains(names, ModelKeys) {
		names = append(names, p.opts.ModelVars...)
	}
	for _, name := range names {
		if strings.HasPrefix(name, "FIKA_") || strings.HasPrefix(name, "CHIBI_") || !validName(name) {
			continue
		}
		if v, ok := findVariable(p.opts.Environ, name); ok {
			e.setVariable(name, v)
		}
	}
	return e
}

// setVariable adds a variable, unless its value contains a zero byte.
func (e *environment) setVariable(name, value string) {
	if strings.IndexByte(value, 0) < 0 {
		e.vars = append(e.vars, name+"="+value)
	}
}

// setIf adds a variable if its value is not empty.
func (e *environment) setIf(name, value string) {
	if value != "" {
		e.setVariable(name, value)
	}
}

// setJSON passes a JSON text as FIKA_name and CHIBI_name, or its file as FIKA_name_FILE.
func (e *environment) setJSON(name string, raw []byte) {
	if len(raw) <= maxEnv {
		e.setVariable("FIKA_"+name, string(raw))
		e.setVariable("CHIBI_"+name, string(raw))
		return
	}
	dir, seen := "", ""
	if e.confine != nil {
		dir, seen = e.confine.Temp()
	}
	f, err := os.CreateTemp(dir, "fika-*.json") // 0600
	if err != nil {
		e.err = err
		return
	}
	e.files = append(e.files, f.Name())
	_, err = f.Write(raw)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	e.err = err
	if seen == "" {
		seen = filepath.Dir(f.Name())
	}
	e.setVariable("FIKA_"+name+"_FILE", filepath.Join(seen, filepath.Base(f.Name())))
}

// setPlain passes each string, number and boolean of a JSON object as a variable of its
// own, unless it is longer than limit bytes.
func (e *environment) setPlain(prefix string, raw []byte, limit int) {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	for _, name := range sortedKeys(m) {
		clean := strings.Map(plainName, name)
		if _, other := m[clean]; other && clean != name {
			continue // that name is taken by an argument that needs no change
		}
		if v, ok := plainValue(m[name]); ok && clean != "" && len(v) <= limit {
			e.setVariable(prefix+clean, v)
		}
	}
}

// removeFiles removes the files.
func (e *environment) removeFiles() {
	for _, path := range e.files {
		_ = os.Remove(path) // it is in the folder for temporary files
	}
}

// buildFailure returns the error that occurred while building the environment, if any.
func (e *environment) buildFailure() error {
	return fika.Wrap(fika.Storage, "make what a plugin is given", e.err)
}

// plainValue returns a JSON value as text if it is a string, number or boolean.
func plainValue(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '{', '[', 'n':
		return "", false
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	}
	return string(raw), true
}

// plainName replaces characters that a shell variable cannot have with '_'.
func plainName(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
		return r
	}
	return '_'
}

func validName(name string) bool { return name != "" && !strings.ContainsAny(name, "=\x00") }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func findVariable(environ []string, name string) (string, bool) {
	for _, kv := range slices.Backward(environ) { // the last one counts
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v, true
		}
	}
	return "", false
}

func lookupVariable(environ []string, name string) string {
	v, _ := findVariable(environ, name)
	return v
}
