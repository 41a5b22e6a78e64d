package status

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/cli/command"
	"fika/internal/service"
	"fika/internal/settings/folder"
	"fika/internal/settings/project"
	"fika/internal/system/term"
)

// standingOf is the state of one of the person's homes: their own, or a project's.
type standingOf struct {
	home, folder string
	current      bool
	status       *service.Status // nil: no hub runs
	trouble      string
	code         api.Code // of trouble, if it has one
}

// homeJSON is a line of fika status --all --json.
type homeJSON struct {
	Home    string   `json:"home"`
	Folder  *string  `json:"folder"` // of the project; null: the home is not a project's
	Current bool     `json:"current"`
	Hub     *hubJSON `json:"hub"`     // null: not running
	Running *int     `json:"running"` // requests under way; null: no hub, or not known
	Waiting *int     `json:"waiting"` // requests and chats that could be taken now; null like Running
}

// showAllHomes shows the hubs of all homes of the person, without contacting any hub.
func showAllHomes(ctx context.Context, e *command.Env, asJSON bool) error {
	list, err := allHomes(ctx, e)
	if err != nil {
		return err
	}
	if asJSON {
		return command.PrintLines(e, list, standingOf.json)
	}
	return e.Table([]string{"", "HUB", "SINCE", "RUNNING", "WAITING", "PLACE"}, command.TableRows(list, func(s standingOf) []string {
		row := []string{"", "-", "-", "-", "-", s.place(e)}
		if s.current {
			row[0] = "*"
		}
		if s.status != nil {
			row[1], row[2] = strconv.Itoa(s.status.Hub.PID), command.UptimeSeconds(s.status.HubFrom)
			if s.status.Home != "" { // the database could be read
				row[3], row[4] = strconv.Itoa(s.running()), strconv.Itoa(s.status.Waiting)
			}
		}
		if s.trouble != "" {
			row[5] += ": " + s.trouble
		}
		return row
	}))
}

func allHomes(ctx context.Context, e *command.Env) ([]standingOf, error) {
	user, err := e.App().UserRoot()
	if err != nil {
		return nil, err
	}
	projects, err := project.List(user)
	if err != nil {
		return nil, err
	}
	here, err := e.App().Root()
	if err != nil {
		return nil, err
	}
	list := []standingOf{{home: user}}
	for _, p := range projects {
		list = append(list, standingOf{home: p.Home, folder: p.Main})
	}
	for i := range list {
		s := &list[i]
		s.current = s.home == here
		p, up := folder.HomeAt(s.home).HubProcess()
		if !up {
			continue
		}
		s.status = &service.Status{Hub: p, HubFrom: folder.HomeAt(s.home).HubSince()}
		st, err := statusOf(ctx, e, s.home)
		if err == nil {
			s.status = &st
		} else {
			s.trouble = err.Error()
		}
		if stuck := service.HubStuck(p); !stuck.IsClear() {
			s.trouble, s.code = e.Words(stuck), stuck.Code
		}
	}
	return list, nil
}

// statusOf reads the state of another home from its database alone, so that a hub that
// hangs there does not block this command.
func statusOf(ctx context.Context, e *command.Env, home string) (service.Status, error) {
	a := app.New(app.Options{Root: home, Getenv: e.Getenv, Now: e.Clock})
	defer a.Close()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	who, err := e.Principal()
	if err != nil {
		return service.Status{}, err
	}
	c, err := service.OpenOffline(ctx, a, who)
	if err != nil {
		return service.Status{}, err
	}
	return c.Status(ctx)
}

func (s standingOf) running() (n int) {
	for _, v := range s.status.Agents {
		n += len(v.Running)
	}
	return n
}

// place returns the folder of a project, or else the home, with ~ for the person's home
// folder if it is in there.
func (s standingOf) place(e *command.Env) string {
	path := s.folder
	if path == "" {
		path = s.home
	}
	if rel, err := filepath.Rel(e.Getenv("HOME"), path); err == nil && filepath.IsLocal(rel) {
		path = filepath.Join("~", rel)
	}
	return strings.TrimSpace(term.CleanLine(path))
}

func (s standingOf) json() homeJSON {
	j := homeJSON{Home: s.home, Folder: command.Optional(s.folder), Current: s.current}
	if s.status != nil {
		j.Hub = &hubJSON{PID: s.status.Hub.PID, Trouble: command.Optional(s.trouble), Code: command.Optional(s.code), StartedAt: command.JSONTime(s.status.HubFrom)}
		if running := s.running(); s.status.Home != "" {
			j.Running, j.Waiting = &running, &s.status.Waiting
		}
	}
	return j
}
