package config

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"strconv"
	"time"

	"github.com/google/renameio/v2"

	"fika"
)

// fileText is one file of a configuration as it was read.
type fileText struct {
	Path   string `json:"path"`
	Text   string `json:"text"`
	Models bool   `json:"models,omitempty"` // it may contain models only
	Agent  bool   `json:"agent,omitempty"`  // it is an agent as Markdown
	Known  bool   `json:"known,omitempty"`  // it is the table of known models

	Layer layerKind `json:"layer,omitempty"`
	Base  string    `json:"base,omitempty"` // of a layer: where relative paths start
	Root  string    `json:"root,omitempty"` // of a project: its folder
	Own   string    `json:"own,omitempty"`  // of a project: the file for a person's settings that a project cannot set
}

// KeepCopy writes the texts that c was read from to a file, so that [LoadLast] can
// restore c when the files have become unreadable. It writes nothing if the file
// already says the same, and reports whether it differed. Error kind: Storage.
func (c *Config) KeepCopy(path string) (changed bool, err error) {
	data, err := json.Marshal(c.texts)
	if err != nil {
		return false, fika.Wrap(fika.Failed, "keep config", err)
	}
	if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, data) {
		return false, nil
	}
	return true, fika.Wrap(fika.Storage, "keep config", renameio.WriteFile(path, data, 0o600))
}

// LoadLast reads the configuration that [Config.KeepCopy] last wrote, and when that
// was. It returns NotFound if there is none that can be read.
func LoadLast(path string) (*Config, time.Time, error) {
	const op = "last config"
	none := fika.Errorf(fika.NotFound, op, "no earlier settings are kept")
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, time.Time{}, none
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, time.Time{}, none
	}
	var texts []fileText
	if json.Unmarshal(data, &texts) != nil {
		return nil, time.Time{}, none
	}
	l := loading{config: Default()}
	for _, t := range texts {
		l.addFile(t)
	}
	c, err := l.finishLoading()
	if err != nil {
		return nil, time.Time{}, none
	}
	return c, info.ModTime(), nil
}

// Stamp shows whether files are unchanged, from what the file system says about them.
// The zero Stamp is that of no files.
type Stamp struct {
	text  string
	young bool // a file was written so recently that it may change unnoticed
}

// StampOf returns the stamp of files and folders, including missing ones. Folders count
// with the names in them, not with what is deeper.
func StampOf(paths ...string) Stamp { return stampOf(true, paths) }

// StampOfReplaced is [StampOf] for folders whose files are only ever replaced, never
// written in place: replacing changes the folder, so no file in it is examined.
func StampOfReplaced(folders ...string) Stamp { return stampOf(false, folders) }

// CombinedWith returns the stamp of everything that s and o cover.
func (s Stamp) CombinedWith(o Stamp) Stamp { return Stamp{s.text + o.text, s.young || o.young} }

func stampOf(inside bool, paths []string) Stamp {
	var s Stamp
	var b []byte
	add := func(name string, info fs.FileInfo) {
		at := info.ModTime()
		s.young = s.young || time.Since(at).Abs() < youth
		b = append(b, name...)
		for _, n := range []int64{info.Size(), at.UnixNano(), int64(info.Mode())} {
			b = strconv.AppendInt(append(b, ' '), n, 10)
		}
		b = append(b, '\n')
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			b = append(append(b, p...), " is not there\n"...)
			continue
		}
		add(p, info)
		if !inside || !info.IsDir() {
			continue
		}
		entries, _ := os.ReadDir(p)
		for _, e := range entries {
			if info, err := os.Stat(p + "/" + e.Name()); err == nil { // through links
				add(e.Name(), info)
			} else {
				b = append(append(b, e.Name()...), " leads nowhere\n"...)
			}
		}
	}
	s.text = string(b)
	return s
}

// youth is the trusted resolution of a file system's clock.
const youth = 50 * time.Millisecond

// SameAs reports whether certainly nothing has changed since before was taken: a file
// that had only just been written then counts as changed.
func (s Stamp) SameAs(before Stamp) bool { return s.text == before.text && !before.young }
