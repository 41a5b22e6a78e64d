package config

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/renameio/v2"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/settings/toml"
)

// SetKey sets one key of a config.toml or local.toml and leaves every other byte of the
// file as it is. key is a top-level key ("username") or a key of a table
// ("master.default_agent", "plugins.git.disabled"); lists of tables are left to people.
// value is a string, bool, int, int64, float64, time.Duration or []string that fits the
// key.
//
// The file is replaced in one step and keeps its permissions; a link is followed; a
// missing file is created for its owner alone. If two processes set keys of one file at
// the same time, one of the changes is lost. Error kinds: Invalid (unknown key, wrong
// value, a file that is not valid TOML, a place that cannot be edited), Storage.
func SetKey(path, key string, value any) error {
	return SetPath(path, strings.Split(key, "."), value)
}

// SetPath is [SetKey] for a key given in parts, which may contain dots.
func SetPath(path string, key []string, value any) error {
	const op = "set key"
	text, err := tomlLiteral(joinKey(key), value)
	if err != nil {
		return fika.Wrap(fika.Invalid, op, err)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	data, exists, err := readFile(path)
	if err != nil {
		return err
	}
	changed, err := editKey(path, data, key, text)
	if err != nil {
		return err
	}
	if bytes.Equal(changed, data) && exists {
		return nil
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return fika.Wrap(fika.Storage, op, renameio.WriteFile(path, changed, mode))
}

// AddRule appends a rule to a file of settings, which otherwise stays as it is. Error
// kinds: Invalid for a rule that says nothing, Storage.
func AddRule(path string, rule guard.Rule) error {
	const op = "add rule"
	if err := rule.Check(); err != nil {
		return fika.Wrap(fika.Invalid, op, err)
	}
	return rewrite(path, op, func(data []byte) ([]byte, error) {
		text := strings.TrimRight(string(data), "\n")
		if text != "" {
			text += "\n\n"
		}
		return []byte(text + rule.TOML() + "\n"), nil
	})
}

// rewrite replaces a file of settings by the result of change, in one step and with its
// permissions.
func rewrite(path, op string, change func([]byte) ([]byte, error)) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	data, _, err := readFile(path)
	if err != nil {
		return err
	}
	if data, err = change(data); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return fika.Wrap(fika.Storage, op, renameio.WriteFile(path, data, mode))
}

// joinKey returns a key as written in TOML, with quotes around the parts that need
// them.
func joinKey(parts []string) string {
	out := make([]string, len(parts))
	for i, part := range parts {
		if out[i] = part; part == "" || strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
			out[i] = QuoteTOML(part)
		}
	}
	return strings.Join(out, ".")
}

// tomlLiteral checks a value against its key and returns it as TOML.
func tomlLiteral(key string, v any) (string, error) {
	var text string
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return "", fmt.Errorf("the value of %s is not valid UTF-8", key)
		}
		text = encodeValue(&v)
	case bool:
		text = encodeValue(&v)
	case int:
		text = encodeValue(&v)
	case int64:
		text = encodeValue(&v)
	case float64:
		text = encodeValue(&v)
	case time.Duration:
		text = encodeValue(&v)
	case []string:
		text = encodeValue(&v)
	default:
		return "", fmt.Errorf("%s cannot be set to a %T", key, v)
	}
	// The strict reader's complaint about the line alone is what is wrong with it.
	var problems Problems
	c := Default()
	c.readSource(toml.Read(key, []byte(key+" = "+text+"\n"), &problems), false)
	if len(problems.List) > 0 {
		return "", fmt.Errorf("%s", problems.List[0].Message)
	}
	return text, nil
}

// editKey returns data with the key set to text.
func editKey(path string, data []byte, key []string, text string) ([]byte, error) {
	const op = "set key"
	s := toml.Read(path, data, &Problems{})
	if s.Broken {
		return nil, fika.Errorf(fika.Invalid, op, "fix the file by hand first: %s", s.Problems)
	}
	mark := s.Begin()
	e := editor{data: data[mark:], key: key, after: -1, dotted: -1, header: -1}
	e.scanLines()
	if e.inline && e.end == 0 {
		return nil, fika.Errorf(fika.Invalid, op, "%s: %s is written in one line as {…}; add %s = %s there by hand", path, key[0], key[len(key)-1], text)
	}
	changed := append(data[:mark:mark], e.applyText(text)...)
	check := toml.Read(path, changed, &Problems{})
	if check.Broken || !holdsValue(check.Root, key, text) {
		return nil, fika.Errorf(fika.Invalid, op, "%s: there is no safe place for %s = %s; write it by hand", path, joinKey(key), text)
	}
	return changed, nil
}

// holdsValue reports whether a tree has the key with the value written in text.
func holdsValue(t *table, key []string, text string) bool {
	for i, part := range key {
		e := t.Get(part)
		switch {
		case e == nil:
			return false
		case i == len(key)-1:
			want := toml.Read("", []byte("v = "+text), &Problems{})
			w := want.Root.Get("v")
			return w != nil && sameValue(e.Value, w.Value)
		case e.Value.Kind != toml.KindTable:
			return false
		}
		t = e.Value.Table
	}
	return false
}

func sameValue(a, b value) bool {
	if a.Kind != b.Kind || a.Kind != toml.KindList && a.Text != b.Text || len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Items {
		if !sameValue(a.Items[i], b.Items[i]) {
			return false
		}
	}
	return true
}
