package setup

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"fika"
	"fika/internal/app"
	"fika/internal/settings/config"
	"fika/internal/settings/project"
	"fika/internal/settings/template"
	"fika/internal/text/hint"
)

// NewAgent is an agent to be created.
type NewAgent struct {
	Name fika.AgentName
	Text string // content of its file
	Own  bool   // in a project: for this person alone, not in the repository
}

// Made says where an agent's file is, and whether the change is in force.
type Made struct {
	File    string
	InForce bool // false: the project has other changes that wait for fika trust
}

// CreateAgent writes the file of an agent, into the project or into the home. If the
// project's files were trusted as they are, the new agent is trusted too. Error kinds:
// Conflict for a name that is taken, Invalid for text that cannot be parsed.
func CreateAgent(a *app.App, n NewAgent) (Made, error) {
	const op = "create agent"
	c, err := a.Config()
	if err != nil {
		return Made{}, err
	}
	p := a.Project()
	if p == nil {
		n.Own = true
	}
	before := project.State("")
	dir, layers, err := a.SettingLayers()
	if err != nil {
		return Made{}, err
	}
	if !n.Own {
		dir, before = p.Dir(), p.State(a.Dir())
		if c, err = a.CheckProject(); err != nil {
			return Made{}, err
		}
	}
	if at, taken := c.WhereAgent(n.Name); taken {
		return Made{}, fika.Errorf(fika.Conflict, op, "agent %s already exists: %s", n.Name, at.File)
	}
	file := filepath.Join(dir, "agents", string(n.Name)+".md")
	if err := writeNew(file, n.Text); err != nil {
		return Made{}, err
	}
	if !n.Own {
		layers.Copy, layers.Root = p.Root, p.Root
	}
	if _, err := config.LoadLayers(layers); err != nil {
		_ = os.Remove(file) // it was not there before
		return Made{}, err
	}
	if n.Own {
		return Made{File: file, InForce: true}, nil
	}
	if before != project.Trusted {
		return Made{File: file}, nil
	}
	pending, err := ReviewProject(a)
	if err != nil || len(pending.Changes) != 1 {
		return Made{File: file}, err
	}
	return Made{File: file, InForce: true}, pending.Accept()
}

// FromTemplate says how to make an agent from a template or a prompt.
type FromTemplate struct {
	Template string // "" is the agent's own name
	Prompt   string // in place of a template; "": none
	template.Choice
}

// AgentFrom makes an agent from a template or a prompt, which is still to be created. Error
// kinds: NotFound for an unknown template, Invalid when none was named and none has the
// agent's name, and for a model that the settings do not have.
func AgentFrom(a *app.App, name fika.AgentName, want FromTemplate) (NewAgent, error) {
	from := cmp.Or(want.Template, string(name))
	set, err := AgentTemplates(a)
	if err != nil {
		return NewAgent{}, err
	}
	t := template.Template{Text: strings.TrimSpace(want.Prompt) + "\n"}
	if want.Prompt == "" {
		t, err = set.Find(from)
	}
	if fika.IsKind(err, fika.NotFound) && from == string(name) {
		return NewAgent{}, fika.WithHint(fika.Errorf(fika.Invalid, "", "which template? --template NAME, or --prompt TEXT"), hint.TemplateList.With())
	}
	if err != nil {
		return NewAgent{}, err
	}
	if want.Model != "" {
		if err := a.CheckModel(want.Model); err != nil {
			return NewAgent{}, err
		}
	}
	return NewAgent{Name: name, Text: t.FileFor(want.Choice)}, nil
}

// AgentTemplates returns the person's own templates and those that fika ships.
func AgentTemplates(a *app.App) (template.Set, error) {
	user, err := a.UserRoot()
	return template.Open(filepath.Join(user, "templates")), err
}
