package install

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/admin/install"
	"fika/internal/admin/setup"
	"fika/internal/cli/command"
	"fika/internal/settings/folder"
)

type uninstallJSON struct {
	By      *string    `json:"installed_by"`
	Remove  *string    `json:"remove"` // the command that removes it, if fika does not
	Files   []string   `json:"files"`
	Stays   []stayJSON `json:"stays"`
	Removed bool       `json:"removed"`
}

type stayJSON struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	Holds string `json:"holds"`
}

// NewUninstall returns the command fika uninstall.
func NewUninstall(e *command.Env) *cobra.Command {
	var yes, asJSON bool
	c := &cobra.Command{
		Use: "uninstall", Short: "remove the program and its completions; your data stay", Args: command.Exactly(0, "no arguments"),
		Long: `Shows what would be removed, which is the program with its completions and
manual pages, and what stays: settings, keys and conversations in ~/.fika, and
the .fika folders of projects. It asks before it removes anything. A program
that came as a package is removed by its package manager; the command for that
is shown. With --json it only shows, unless --yes is given, too.`,
		Example: "  fika uninstall\n  fika uninstall --json\n  fika uninstall -y",
		RunE: func(*cobra.Command, []string) error {
			program, err := os.Executable()
			if err != nil {
				return fika.Wrap(fika.Failed, "uninstall", err)
			}
			here, err := install.Find(program)
			if err != nil {
				return err
			}
			stays, running, err := whatStays(e)
			if err != nil {
				return err
			}
			if !asJSON {
				show(e, here, stays)
			}
			if !asJSON || yes {
				err = remove(e, here, running, yes)
			}
			if err == nil && asJSON {
				err = e.PrintLine(uninstallJSON{By: command.Optional(here.By), Remove: command.Optional(here.Remove), Files: here.Files, Stays: stays, Removed: yes})
			}
			return err
		},
	}
	command.YesFlag(c, &yes, "remove it without asking")
	command.JSONFlag(c, &asJSON)
	return c
}

// remove removes an installation once the person has agreed. Locked: a hub of the program
// runs.
func remove(e *command.Env, here install.Installed, running []string, yes bool) error {
	if here.Remove != "" {
		return fika.Errorf(fika.Conflict, "", "a package manager installed %s: remove it with %s", here.Program, here.Remove)
	}
	if len(running) > 0 {
		return fika.Errorf(fika.Locked, "", "a hub is running; stop it first (%s)", running[0])
	}
	if !yes {
		if err := e.Confirm(fmt.Sprintf("remove %d files", len(here.Files))); err != nil {
			return err
		}
	}
	if err := here.RemoveFiles(); err != nil {
		return err
	}
	e.Say("removed fika from %s; if a start-up file of your shell loads its completion, remove that line, too", filepath.Dir(here.Program))
	return nil
}

// show prints what would go and what stays.
func show(e *command.Env, here install.Installed, stays []stayJSON) {
	what := map[string]string{"": "not installed by a package or the install script", "script": "installed by the install script"}[here.By]
	if what == "" {
		what = "installed as a package (" + here.By + ")"
	}
	e.Say("fika %s, %s", e.Version, what)
	if here.Remove == "" {
		e.Say("removes:")
		folders := map[string]int{}
		var order []string
		for _, file := range here.Files {
			dir := filepath.Dir(file)
			if file == here.Program {
				e.Say("  %s", file)
				continue
			}
			if folders[dir]++; folders[dir] == 1 {
				order = append(order, dir)
			}
		}
		for _, dir := range order {
			e.Say("  %s (%s)", dir, countOf(folders[dir]))
		}
	}
	e.Say("stays:")
	for _, s := range stays {
		e.Say("  %s  %s: %s", s.Path, sizeText(s.Bytes), s.Holds)
	}
	if len(stays) == 0 {
		e.Say("  nothing: there is no home and no project")
	}
}

func countOf(files int) string {
	if files == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", files)
}

// whatStays lists the folders of this person with what they hold, and how to stop the hubs
// that run in them.
func whatStays(e *command.Env) (stays []stayJSON, running []string, err error) {
	user, err := e.App().UserRoot()
	if err != nil {
		return nil, nil, err
	}
	projects, err := setup.ListProjects(e.App())
	if err != nil {
		return nil, nil, err
	}
	add := func(path, holds string, without ...string) {
		if size, there := sizeOf(path, without...); there {
			stays = append(stays, stayJSON{path, size, holds})
		}
	}
	var homes []string
	for _, k := range projects {
		homes = append(homes, k.Home)
		if k.Hub {
			running = append(running, "fika --home "+k.Home+" down")
		}
	}
	if _, hub := folder.HomeAt(user).HubProcess(); hub {
		running = append(running, "fika --home "+user+" down")
	}
	add(user, "settings, keys, conversations", homes...)
	for _, k := range projects {
		add(k.Home, "conversations of "+k.Main)
		if k.Main != "" {
			add(filepath.Join(k.Main, ".fika"), "agents and settings of the project")
		}
	}
	return stays, running, nil
}

// sizeOf returns how large the files below a folder are, without those below some folders.
// What cannot be read is not counted.
func sizeOf(path string, without ...string) (size int64, there bool) {
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // a size, not a check
		}
		there = true
		for _, w := range without {
			if name == w {
				return fs.SkipDir
			}
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size, there
}

// sizeText returns a size as people read it.
func sizeText(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d kB", (n+1023)>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}
