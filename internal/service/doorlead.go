package service

import (
	"context"
	"encoding/json"
	"time"

	"fika"
	"fika/internal/api"
)

// doorPatience is how long a door waits for an agent to start or stop: less than a browser
// waits for an answer.
const doorPatience = 20 * time.Second

func (d door) StartAgent(ctx context.Context, agent string, w api.Write) error {
	c := d.write(w)
	row, err := c.Agents.Find(ctx, agent)
	if err == nil {
		_, err = c.Agents.Start(ctx, row, doorPatience)
	}
	return d.fails(err)
}

func (d door) StopAgent(ctx context.Context, agent, how string, w api.Write) error {
	manner, ok := map[string]fika.Desired{api.StopStep: fika.DesiredStopped, api.StopFinish: fika.DesiredFinish, api.StopNow: fika.DesiredNow}[how]
	if !ok {
		return d.fails(fika.Errorf(fika.Invalid, "", "an agent is stopped by step, finish or now, not by %.40q", how))
	}
	c := d.write(w)
	row, err := c.Agents.Find(ctx, agent)
	if err == nil {
		_, err = c.Agents.Stop(ctx, row, manner, doorPatience)
	}
	return d.fails(err)
}

func (d door) Workflows(context.Context) ([]api.WorkflowInfo, error) {
	w, err := d.workflows()
	if err != nil {
		return nil, d.fails(err)
	}
	out := []api.WorkflowInfo{}
	for _, x := range w.List() {
		info := api.WorkflowInfo{Name: x.Name, File: x.File, Inputs: []api.WorkflowInput{}}
		if x.Trouble != nil {
			info.Trouble = x.Trouble.Error()
		}
		if x.Definition != nil {
			info.Description = x.Definition.Description
			for _, in := range x.Definition.Inputs {
				input := api.WorkflowInput{Name: in.Name, Description: in.Description, Type: in.Type}
				if in.Default != nil {
					if input.Default, err = json.Marshal(in.Default); err != nil {
						return nil, d.fails(err)
					}
				}
				info.Inputs = append(info.Inputs, input)
			}
		}
		out = append(out, info)
	}
	return out, nil
}

// workflows returns the definitions of the home. They are files: a program does not see them.
func (d door) workflows() (*Workflows, error) {
	if err := d.c.may("file.list"); err != nil {
		return nil, err
	}
	return OpenWorkflows(d.c.app)
}

func (d door) StartRun(ctx context.Context, workflow string, inputs map[string]string, w api.Write) (string, error) {
	all, err := d.workflows()
	if err != nil {
		return "", d.fails(err)
	}
	if isFile(workflow) {
		return "", d.fails(fika.Errorf(fika.NotFound, "", "workflow %.80q not found: a door knows them by name", workflow))
	}
	def, err := all.Load(workflow)
	if err != nil {
		return "", d.fails(err)
	}
	r, err := d.write(w).Runs().Start(ctx, def, inputs)
	return string(r.ID), d.fails(err)
}
