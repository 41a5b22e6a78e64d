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
	"fika/internal/config"
)

// Result tells what a migration did.
type Result struct {
	Format  string   // "niffler" or "chibi"
	Sources []string // files that were read
	Backups []string // their copies, in the same order
	Written string   // the new config.toml
	Lost    []string // what could not be carried over, each with the reason
	Check   []string // what was carried over by a guess
}

// maxSource bounds what is read, in bytes.
const maxSource = 1 << 20

// Find lists the configurations of other programs below a person's folder.
func Find(userHome string) []string {
	var found []string
	for _, place := range []string{".config/niffler/config.json", ".chibi/config.toml"} {
		path := filepath.Join(userHome, filepath.FromSlash(place))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			found = append(found, path)
		}
	}
	return found
}

// Run converts source (a config.json, a config.toml, or a folder with one of
// them) into home/config.toml. Beside a config.toml its models.toml is read.
// The sources are copied beside themselves first, with now in the name of the
// copy. Error kinds: NotFound (no source), Conflict (home has a config.toml),
// Invalid (the source cannot be understood), Storage.
func Run(source, home string, now time.Time) (Result, error) {
	const op = "migrate config"
	var r Result
	source, err := locate(source)
	if err != nil {
		return r, err
	}
	r.Written = filepath.Join(home, "config.toml")
	if _, err := os.Lstat(r.Written); err == nil {
		return r, fika.Errorf(fika.Conflict, op, "%s exists and was left as it is; move it away first", r.Written)
	}
	d := &draft{}
	var files [][]byte
	if filepath.Ext(source) == ".json" {
		r.Format = "niffler"
		files, err = r.read(source, d, json.Unmarshal, niffler)
	} else {
		r.Format = "chibi"
		files, err = r.read(source, d, toml.Unmarshal, chibi)
		models := filepath.Join(filepath.Dir(source), "models.toml")
		if _, missing := os.Stat(models); err == nil && missing == nil {
			var more [][]byte
			more, err = r.read(models, d, toml.Unmarshal, chibiModelsFile)
			files = append(files, more...)
		}
	}
	if err != nil {
		return r, err
	}
	text, err := d.settle(r.Written, r.heading())
	if err != nil {
		return r, err
	}
	r.Lost, r.Check = d.lost, d.check
	return r, r.store(files, text, home, now)
}

// locate finds the file in a folder.
func locate(source string) (string, error) {
	info, err := os.Stat(source)
	if err == nil && !info.IsDir() {
		return source, nil
	}
	if err == nil {
		for _, name := range []string{"config.json", "config.toml"} {
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

// read decodes one file and converts it.
func (r *Result) read(path string, d *draft, decode func([]byte, any) error, convert func(*draft, object)) ([][]byte, error) {
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
		return nil, fika.Errorf(fika.Invalid, op, "%s: %s", path, describe(err, data))
	}
	r.Sources = append(r.Sources, path)
	convert(d, object{draft: d, fields: fields})
	return [][]byte{data}, nil
}

// describe adds the line to what a decoder says.
func describe(err error, data []byte) string {
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

func (r *Result) heading() string {
	text := "# Settings of fika, made from those of " + r.Format + ":\n"
	for _, s := range r.Sources {
		text += fmt.Sprintf("#   %q\n", s)
	}
	return text + "# Lines that fika does not accept are comments, with the reason.\n"
}

// store writes the backups, then the new file.
func (r *Result) store(files [][]byte, text, home string, now time.Time) error {
	const op = "migrate config"
	for i, source := range r.Sources {
		backup := source + ".backup-" + now.Format("20060102-150405")
		if err := create(backup, files[i]); err != nil {
			return fika.Wrap(fika.Storage, op, err)
		}
		r.Backups = append(r.Backups, backup)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fika.Wrap(fika.Storage, op, err)
	}
	err := create(r.Written, []byte(text))
	if errors.Is(err, fs.ErrExist) {
		return fika.Errorf(fika.Conflict, op, "%s has appeared meanwhile and was left as it is", r.Written)
	}
	return fika.Wrap(fika.Storage, op, err)
}

// create makes a file that appears whole or not at all, and never instead of
// another one.
func create(path string, data []byte) error {
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

// settle gives a text that fika loads: what the strict reader refuses becomes
// a comment, line by line.
func (d *draft) settle(name, heading string) (string, error) {
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
		text = d.strike(text, p.List[0])
	}
	return "", fika.Errorf(fika.Invalid, "migrate config", "the source has more mistakes than can be mended")
}
