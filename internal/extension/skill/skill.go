package skill

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"fika/internal/settings/front"
	"fika/internal/settings/toml"
	"fika/internal/text/safetext"
)

// File is the name of the file that makes a folder a skill.
const File = "SKILL.md"

// Limits of the format, in characters, and of this program.
const (
	maxName          = 64
	maxDescription   = 1024
	maxCompatibility = 500
	MaxFile          = 256 << 10 // bytes of a SKILL.md
	manyLines        = 500       // of a body; more is better in files of its own
	MaxFiles         = 500       // files in a folder that are listed
)

// Skill is one usable skill.
type Skill struct {
	Name          string
	Description   string // one line of clean text
	License       string
	Compatibility string
	Metadata      map[string]string
	AllowedTools  []string // as written, as in "Bash(git:*)"; nil: not limited
	Body          string
	Dir           string // absolute, without links
	Place         string // the place where it was found, for people
	Files         []Entry
	Notes         []Problem // deviations from the format that do not keep it from being used
}

// Entry is one file in a skill's folder besides its SKILL.md.
type Entry struct {
	Path string // in the folder, with slashes
	Size int64
	Exec bool
}

// Problem is one deviation from the format.
type Problem struct {
	Path  string // of the file or folder
	Line  int    // 0: it is about the whole
	Text  string
	Fatal bool // the skill cannot be used
}

// String returns path:line: text.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Path + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.Path, p.Line, p.Text)
}

// Read reads the skill in a folder. ok is false if it cannot be used; problems lists all
// deviations from the format, in the order of the files.
func Read(dir string) (s Skill, problems []Problem, ok bool) {
	refuse := func(format string, args ...any) (Skill, []Problem, bool) {
		return Skill{}, []Problem{{Path: dir, Text: fmt.Sprintf(format, args...), Fatal: true}}, false
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return refuse("cannot be opened: %s", reasonOf(err))
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return refuse("cannot be opened: %s", reasonOf(err))
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return refuse("cannot be opened: %s", reasonOf(err))
	}
	defer root.Close()
	file := filepath.Join(dir, File)
	data, err := readFile(root)
	if errors.Is(err, fs.ErrNotExist) {
		return refuse("no skill: there is no %s in it", File)
	}
	if err != nil {
		return Skill{}, []Problem{{Path: file, Text: reasonOf(err), Fatal: true}}, false
	}
	s, problems = Parse(filepath.Base(dir), file, data)
	s.Dir = real
	var about []Problem
	s.Files, about = list(root, dir)
	problems = append(problems, about...)
	s.Notes = problems
	return s, problems, !slices.ContainsFunc(problems, func(p Problem) bool { return p.Fatal })
}

func reasonOf(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return err.Error()
}

func readFile(root *os.Root) ([]byte, error) {
	f, err := root.OpenFile(File, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	case info.Size() > MaxFile:
		return nil, fmt.Errorf("is larger than %d KiB: put parts of it into references/, which are read when they are needed", MaxFile>>10)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(data) > MaxFile {
		err = fmt.Errorf("is larger than %d KiB", MaxFile>>10)
	}
	return data, err
}

// list lists the files of a skill besides its SKILL.md, and names what must not be there.
func list(root *os.Root, dir string) (files []Entry, problems []Problem) {
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		fatal := func(text string) {
			problems = append(problems, Problem{Path: filepath.Join(dir, path), Text: text, Fatal: true})
		}
		switch {
		case err != nil:
			fatal("cannot be read: " + reasonOf(err))
			return nil
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir() || path == File:
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			if _, err := root.Stat(path); err != nil {
				fatal("is a link that leads out of the folder, or nowhere")
				return nil
			}
		case !d.Type().IsRegular():
			fatal("is not a regular file")
			return nil
		}
		if len(files) == MaxFiles {
			problems = append(problems, Problem{Path: dir, Text: fmt.Sprintf("has more than %d files; the others are not listed", MaxFiles)})
			return fs.SkipAll
		}
		if info, err := root.Stat(path); err == nil && !info.IsDir() {
			files = append(files, Entry{Path: path, Size: info.Size(), Exec: info.Mode().Perm()&0o111 != 0})
		}
		return nil
	})
	return files, problems
}

// Parse reads the text of a SKILL.md in a folder of the given name; file is the path of
// the file in messages. What is wrong is in the order of the file.
func Parse(folder, file string, data []byte) (s Skill, problems []Problem) {
	p := parser{file: file}
	if !utf8.Valid(data) {
		p.note(0, true, "is not UTF-8 text")
		return s, p.problems
	}
	m, loose, err := front.ReadLoose(file, data)
	if err != nil {
		p.trouble(err, true)
		return s, p.problems
	}
	if loose != nil {
		p.trouble(loose, false)
	}
	p.matter, s.Body = m, m.Body
	p.fields()
	s.Name = p.name(folder)
	s.Description = safetext.Line(strings.Join(strings.Fields(p.text("description", true, maxDescription)), " "))
	s.License, s.Compatibility = p.text("license", false, 0), p.text("compatibility", false, maxCompatibility)
	s.Metadata, s.AllowedTools = p.metadata(), p.allowedTools()
	switch lines := strings.Count(s.Body, "\n"); {
	case strings.TrimSpace(s.Body) == "":
		p.note(m.BodyLine, false, "the text is empty: it says how to do what the description promises")
	case lines > manyLines:
		p.note(m.BodyLine, false, fmt.Sprintf("the text has %d lines: more than %d are better in files of their own", lines, manyLines))
	}
	slices.SortStableFunc(p.problems, func(a, b Problem) int { return a.Line - b.Line })
	return s, p.problems
}

// parser collects what is wrong with one file.
type parser struct {
	file     string
	matter   front.Matter
	problems []Problem
}

func (p *parser) note(line int, fatal bool, text string) {
	p.problems = append(p.problems, Problem{Path: p.file, Line: line, Text: text, Fatal: fatal})
}

// trouble adds the errors of the front matter's reader.
func (p *parser) trouble(err error, fatal bool) {
	var list *toml.Problems
	if !errors.As(err, &list) {
		p.note(0, fatal, err.Error())
		return
	}
	for _, x := range list.List {
		text := x.Message
		if !fatal {
			text = "no YAML: put the value in quotes (" + text + ")"
		}
		p.note(x.Line, fatal, text)
	}
}

// fields notes settings that the format does not have.
func (p *parser) fields() {
	known := []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
	for _, key := range p.matter.Keys() {
		if !slices.Contains(known, key) {
			_, line := p.matter.Value(key)
			p.note(line, false, fmt.Sprintf("%s is not a setting of the format, and has no effect (metadata takes settings of your own)", safetext.Line(key)))
		}
	}
}

// text returns a setting that is a text of at most most characters; 0: of any length.
func (p *parser) text(key string, wanted bool, most int) string {
	v, line := p.matter.Value(key)
	switch {
	case v == nil && wanted:
		p.note(1, true, key+" is missing")
	case v == nil:
	case v.Kind != toml.KindText:
		p.note(line, wanted, fmt.Sprintf("%s is %s, and has to be a text: put it in quotes", key, v.Kind))
	case strings.TrimSpace(v.Text) == "":
		p.note(line, wanted, key+" is empty")
	case most > 0 && utf8.RuneCountInString(v.Text) > most:
		p.note(line, false, fmt.Sprintf("%s has %d characters, and may have %d", key, utf8.RuneCountInString(v.Text), most))
		return strings.TrimSpace(v.Text)
	default:
		return strings.TrimSpace(v.Text)
	}
	return ""
}

// name returns the name, which is that of the folder.
func (p *parser) name(folder string) string {
	name := p.text("name", true, 0)
	_, line := p.matter.Value("name")
	switch {
	case name == "":
		return ""
	case !ValidName(name):
		p.note(line, true, fmt.Sprintf("name %q: a name has 1 to %d lower-case letters, digits and single hyphens, and neither begins nor ends with a hyphen", clip(name), maxName))
	case name != folder:
		p.note(line, true, fmt.Sprintf("name %q is not that of its folder, %q: they have to be the same", name, clip(folder)))
	}
	return name
}

// ValidName reports whether a skill may be called so.
func ValidName(name string) bool {
	if name == "" || utf8.RuneCountInString(name) > maxName || strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") || strings.Contains(name, "--") {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && !unicode.IsDigit(r) && (!unicode.IsLetter(r) || unicode.IsUpper(r) || unicode.IsTitle(r))
	})
}

func clip(s string) string {
	if s = safetext.Line(s); utf8.RuneCountInString(s) > 80 {
		return string([]rune(s)[:80]) + "…"
	}
	return s
}

func (p *parser) metadata() map[string]string {
	v, line := p.matter.Value("metadata")
	if v == nil {
		return nil
	}
	if v.Kind != toml.KindTable {
		p.note(line, false, fmt.Sprintf("metadata is %s, and has to be keys with values", v.Kind))
		return nil
	}
	out := map[string]string{}
	for _, e := range v.Table.Entries {
		if e.Value.Kind == toml.KindList || e.Value.Kind == toml.KindTable {
			p.note(p.matter.LineOf(e.At), false, fmt.Sprintf("metadata: %s is %s, and has to be a text", safetext.Line(e.Name), e.Value.Kind))
			continue
		}
		out[e.Name] = e.Value.Text
	}
	return out
}

// allowedTools returns the items of a list, or of a text with spaces or commas between
// them.
func (p *parser) allowedTools() []string {
	v, line := p.matter.Value("allowed-tools")
	switch {
	case v == nil:
		return nil
	case v.Kind == toml.KindText:
		return append([]string{}, splitTools(v.Text)...)
	case v.Kind == toml.KindList:
		p.note(line, false, "allowed-tools is a list, and has to be a text with spaces between the names")
		return append([]string{}, p.matter.List("allowed-tools")...)
	}
	p.note(line, true, fmt.Sprintf("allowed-tools is %s, and has to be a text with spaces between the names", v.Kind))
	return nil
}

// splitTools splits at spaces and commas that stand in no brackets.
func splitTools(text string) []string {
	depth := 0
	return strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth = max(0, depth-1)
		case ' ', ',', '\n', '\t', '\r':
			return depth == 0
		}
		return false
	})
}
