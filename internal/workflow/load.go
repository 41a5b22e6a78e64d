package workflow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fika"
	"fika/internal/settings/toml"
)

// Known lists what a definition may refer to. It is read only.
type Known struct {
	// Agents are the existing agents; nil: agents are not checked.
	Agents []Agent
	// Names are the existing workflows. Read returns one of them: the name of its
	// file for messages, and its text. If Read is nil, there are no workflows.
	Names []string
	Read  func(name string) (file string, text []byte, err error)
}

// Agent is what a definition needs to know about an agent.
type Agent struct {
	Name         string
	Capabilities []string
}

func (k Known) agentNames() []string {
	names := make([]string, len(k.Agents))
	for i, a := range k.Agents {
		names[i] = a.Name
	}
	return names
}

// Load reads and checks a definition with all workflows nested in it; name is its
// own, and file its file's name in messages. The error is a [*toml.Problems] with
// everything that is wrong in all the files. Whatever the files refer to but do not
// contain, such as an agent, is looked up in known.
func Load(name, file string, text []byte, known Known) (*Definition, error) {
	l := &loader{known: known, nested: map[string]*Definition{}, problems: &toml.Problems{}}
	d := l.load(name, file, text)
	if err := l.problems.Err(l.files...); err != nil {
		return nil, err
	}
	delete(l.nested, name)
	if len(l.nested) > 0 {
		d.Nested = l.nested
	}
	return d, nil
}

// loader reads a definition and those nested in it, each once.
type loader struct {
	known    Known
	problems *toml.Problems
	files    []string
	nested   map[string]*Definition
	stack    []string
}

func (l *loader) load(name, file string, text []byte) *Definition {
	l.files = append(l.files, file)
	l.stack = append(l.stack, name)
	defer func() { l.stack = l.stack[:len(l.stack)-1] }()

	d := &Definition{Name: name, File: file, Source: string(text), at: map[string]int{}}
	d.src = toml.Read(file, text, l.problems)
	before := len(l.problems.List)
	decode(&reader{d.src}, d.src.Root, "at the top level", d, definitionKeys())
	l.nested[name] = d
	if len(d.Steps) == 0 && len(l.problems.List) == before && !d.src.Broken {
		l.problems.Add(toml.Place{File: file, Line: 1, Column: 1}, "a workflow needs at least one step: [[steps]]")
	}
	c := &checker{def: d, loader: l}
	c.check()
	return d
}

// open returns the definition of a nested workflow; the second result says what is
// wrong with naming it.
func (l *loader) open(name string) (*Definition, string) {
	if i := slices.Index(l.stack, name); i >= 0 {
		return nil, "the workflow would be inside itself: " + strings.Join(append(slices.Clone(l.stack[i:]), name), " → ")
	}
	if d := l.nested[name]; d != nil {
		return d, ""
	}
	if len(l.stack) >= MaxNesting {
		return nil, fmt.Sprintf("more than %d workflows inside each other", MaxNesting)
	}
	if l.known.Read == nil || !slices.Contains(l.known.Names, name) {
		return nil, fmt.Sprintf("workflow %s not found%s", toml.Quote(name), orKnown(name, l.known.Names))
	}
	file, text, err := l.known.Read(name)
	if err != nil {
		return nil, fmt.Sprintf("the workflow %s cannot be read: %v", name, err)
	}
	return l.load(name, file, text), ""
}

// Freeze returns the definition in the form that a run keeps; [Thaw] reads it.
func (d *Definition) Freeze() ([]byte, error) {
	data, err := json.Marshal(d)
	return data, fika.Wrap(fika.Failed, "freeze workflow", err)
}

// Thaw reads the result of [Definition.Freeze]. It fails with Storage, since nobody
// edits that.
func Thaw(data []byte) (*Definition, error) {
	const op = "read the workflow of a run"
	d := new(Definition)
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber()
	if err := dec.Decode(d); err != nil {
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	for _, one := range d.whole() {
		if wrong := one.compile(); len(wrong) > 0 {
			return nil, fika.Errorf(fika.Storage, op, "step %s: %s", wrong[0].step.ID, wrong[0].message)
		}
	}
	return d, nil
}

// whole returns a definition and all those nested in it.
func (d *Definition) whole() []*Definition {
	all := []*Definition{d}
	for _, n := range d.Nested {
		all = append(all, n)
	}
	return all
}
