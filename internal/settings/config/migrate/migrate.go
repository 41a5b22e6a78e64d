package migrate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pelletier/go-toml/v2"

	"fika"
	"fika/internal/settings/config"
)

// Result is the result of a migration.
type Result struct {
	Format  string   // "niffler" or "chibi"
	Sources []string // files that were read
	Backups []string // their copies, in the same order
	Written string   // the new config.toml
	Lost    []string // settings that were not carried over, each with the reason
	Check   []string // settings that were carried over by a guess
}

// maxSource bounds the bytes that are read.
const maxSource = 1 << 20

// FindForeign returns the configurations of other programs below a person's folder: for
// each program only the newest form.
func FindForeign(userHome string) []string {
	var found []string
	for _, program := range [][]string{
		{".config/niffler/config.toml", ".config/niffler/config.json", ".niffler/config.toml", ".niffler/config.json"},
		{".chibi/config.toml"},
	} {
		for _, place := range program {
			path := filepath.Join(userHome, filepath.FromSlash(place))
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				found = append(found, path)
				break
			}
		}
	}
	return found
}

// ForeignConfig returns the path of another program's configuration, config.json, in a
// home that has none of its own; otherwise "". The home then works without it, which a
// person should be told.
func ForeignConfig(home string) string {
	path := filepath.Join(home, "config.json")
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	if data, err := os.ReadFile(filepath.Join(home, "config.toml")); err == nil && string(data) != config.ExampleFile() {
		return ""
	}
	return path
}

// Run converts source (a config.json, a config.toml, or a folder with one of them) into
// home/config.toml. Beside a config.toml its models.toml is also read. The sources are
// first copied beside themselves, with now in the name of the copy. Error kinds:
// NotFound (no source), Conflict (home has a config.toml), Invalid (the source cannot
// be understood), Storage.
func Run(source, home string, now time.Time) (Result, error) {
	const op = "migrate config"
	var r Result
	source, err := locateFile(source)
	if err != nil {
		return r, err
	}
	r.Written = filepath.Join(home, "config.toml")
	untouched, err := isExample(r.Written)
	if err != nil {
		return r, err
	}
	if _, err := os.Lstat(r.Written); err == nil && !untouched {
		return r, fika.Errorf(fika.Conflict, op, "%s exists and was left as it is; move it away first", r.Written)
	}
	d := &draft{}
	files, err := r.convertSources(source, d)
	if err != nil {
		return r, err
	}
	r.nameRest(filepath.Dir(source), d)
	text, err := d.settleText(r.Written, r.fileHeading())
	if err != nil {
		return r, err
	}
	r.Lost, r.Check = d.lost, d.check
	if untouched {
		if err := os.Remove(r.Written); err != nil {
			return r, fika.Wrap(fika.Storage, op, err)
		}
	}
	return r, r.storeResult(files, text, home, now)
}

// isExample reports whether a file is the unchanged config.toml of a new home, which
// contains nobody's settings.
func isExample(path string) (bool, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && string(data) == config.ExampleFile(), fika.Wrap(fika.Storage, "migrate config", err)
}

// convertSources reads the sources. It recognises the program from their content,
// because both programs have a config.toml.
func (r *Result) convertSources(source string, d *draft) ([][]byte, error) {
	decode := toml.Unmarshal
	if filepath.Ext(source) == ".json" {
		decode = json.Unmarshal
	}
	files, err := r.readSource(source, d, decode, func(d *draft, o object) {
		if isNiffler(o.fields) || filepath.Ext(source) == ".json" {
			r.Format = "niffler"
			convertNiffler(d, o)
			return
		}
		r.Format = "chibi"
		convertChibi(d, o)
	})
	if err != nil || r.Format != "chibi" {
		return files, err
	}
	models := filepath.Join(filepath.Dir(source), "models.toml")
	if _, missing := os.Stat(models); missing != nil {
		return files, nil
	}
	more, err := r.readSource(models, d, toml.Unmarshal, chibiModelsFile)
	return append(files, more...), err
}

// isNiffler reports whether settings are those of a system of agents: lists of agents
// or models, a bus, a master. chibi has models as a table by name.
func isNiffler(fields map[string]any) bool {
	for _, key := range []string{"agents", "models"} {
		if _, ok := fields[key].([]any); ok {
			return true
		}
	}
	for _, key := range []string{"nats", "master", "masters", "masterMode", "master_mode"} {
		if _, ok := fields[key].(map[string]any); ok {
			return true
		}
	}
	return false
}

// nameRest reports the files beside the source that are not settings: what happens to
// them, or how a person can bring them along.
func (r *Result) nameRest(dir string, d *draft) {
	for _, x := range []struct{ pattern, what string }{
		{"contexts/*", "conversations are not settings; bring each along with: fika context import NAME FOLDER"},
		{"prompts/*.md", "prompts are not settings; copy them to prompts/ of the home (chibi.md is taken as default.md)"},
		{"plugins/*", "plugins are not settings; bring each along with: fika plugin install FILE"},
		{"tools/*", "plugins are not settings; bring each along with: fika plugin install FILE"},
		{"agents/*.md", "bring each along with: fika agent import FILE"},
		{"*/agents/*.md", "bring each along with: fika agent import FILE"},
		{"mcp-bridge.toml", "fika speaks to MCP servers itself; fika mcp install NAME COMMAND adds one"},
		{"config.yaml", "YAML is not read; what it says beyond this file has to be written into config.toml by hand"},
		{"niffler.db", "conversations are not taken over; fika makes its own database"},
	} {
		found, err := filepath.Glob(filepath.Join(dir, x.pattern))
		if err != nil || len(found) == 0 {
			continue
		}
		d.reportLost(fmt.Sprintf("%s (%d)", filepath.Join(dir, x.pattern), len(found)), x.what)
	}
}

// locateFile finds the file in a folder.
func locateFile(source string) (string, error) {
	info, err := os.Stat(source)
	if err == nil && !info.IsDir() {
		return source, nil
	}
	if err == nil {
		for _, name := range []string{"config.toml", "config.json"} {
			path := filepath.Join(source, name)
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", fika.Errorf(fika.NotFound, "migrate config", "there is no config.json and no config.toml at %s", source)
	}
	return "", fika.Wrap(fika.Storage, "migrate config", err)
}

// readSource decodes one file and converts it.
func (r *Result) readSource(path string, d *draft, decode func([]byte, any) error, convert func(*draft, object)) ([][]byte, error) {
	const op = "migrate config"
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	if len(data) > maxSource {
		return nil, fika.Errorf(fika.Invalid, op, "%s has %d bytes; that is no configuration", path, len(data))
	}
	var fields map[string]any
	if err := decode(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &fields); err != nil {
		return nil, fika.Errorf(fika.Invalid, op, "%s: %s", path, describeError(err, data))
	}
	r.Sources = append(r.Sources, path)
	convert(d, object{draft: d, fields: fields})
	return [][]byte{data}, nil
}

// describeError adds the line to a decoder's error.
func describeError(err error, data []byte) string {
	var je *json.SyntaxError
	var te *toml.DecodeError
	switch {
	case errors.As(err, &je):
		before := data[:min(int(je.Offset), len(data))]
		return fmt.Sprintf("line %d: %s", 1+bytes.Count(before, []byte("\n")), je.Error())
	case errors.As(err, &te):
		line, column := te.Position()
		return fmt.Sprintf("line %d, column %d: %s", line, column, te.Error())
	}
	return err.Error()
}

func (r *Result) fileHeading() string {
	text := "# Settings of fika, made from those of " + r.Format + ":\n"
	for _, s := range r.Sources {
		text += fmt.Sprintf("#   %q\n", s)
	}
	return text + "# Lines that fika does not accept are comments, with the reason.\n"
}

// storeResult writes the backups, then the new file.
func (r *Result) storeResult(files [][]byte, text, home string, now time.Time) error {
	const op = "migrate config"
	for i, source := range r.Sources {
		backup := source + ".backup-" + now.Format("20060102-150405")
		if err := createFile(backup, files[i]); err != nil {
			return fika.Wrap(fika.Storage, op, err)
		}
		r.Backups = append(r.Backups, backup)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fika.Wrap(fika.Storage, op, err)
	}
	err := createFile(r.Written, []byte(text))
	if errors.Is(err, fs.ErrExist) {
		return fika.Errorf(fika.Conflict, op, "%s has appeared meanwhile and was left as it is", r.Written)
	}
	return fika.Wrap(fika.Storage, op, err)
}

// createFile creates a file that appears completely or not at all, and never replaces
// another one.
func createFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".migrate-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Link(tmp.Name(), path)
}

// settleText returns a text that fika loads: lines that the strict reader refuses
// become comments, one by one.
func (d *draft) settleText(name, heading string) (string, error) {
	text := heading + d.text.String()
	for range 200 {
		_, err := config.Parse(name, []byte(text))
		if err == nil {
			return text, nil
		}
		var p *config.Problems
		if !errors.As(err, &p) {
			return "", err
		}
		text = d.strikeOut(text, p.List[0])
	}
	return "", fika.Errorf(fika.Invalid, "migrate config", "the source has more mistakes than can be fixed")
}
