package service

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fika"
	"fika/internal/store"
	"fika/internal/tool"
	"fika/internal/workflow"
)

// Workflow implements [peer.Workflows]: an agent whose permissions name the tool runs what
// people have written, by name, and every step of it is bound by the rights of the agent.
func (d *Desk) Workflow(ctx context.Context, c tool.Call, name string, inputs map[string]string) (tool.Run, time.Duration, error) {
	as, err := d.as(ctx, c)
	if err != nil {
		return tool.Run{}, 0, err
	}
	all, err := OpenWorkflows(as.app)
	if err != nil {
		return tool.Run{}, 0, err
	}
	def, err := all.named(name)
	if err != nil {
		return tool.Run{}, 0, err
	}
	n, err := as.Runs().prepare(def, inputs, store.NewRun{})
	if err != nil {
		return tool.Run{}, 0, fika.Wrap(fika.KindOf(err), "run workflow "+def.Name, err)
	}
	return tool.Run{Name: def.Name, Title: def.Title(inputs), Definition: n.Definition, Inputs: n.Inputs}, def.Limits.Time, nil
}

// named returns a definition by its name. The error for an unknown name lists all of them
// with their inputs.
func (w *Workflows) named(name string) (*workflow.Definition, error) {
	known := w.List()
	for _, x := range known {
		if x.Name == name {
			return x.Definition, x.Trouble
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "workflow %.80q not found; there are", name)
	for _, x := range known {
		if x.Definition == nil {
			continue
		}
		fmt.Fprintf(&b, "\n%s: %s", x.Name, x.Definition.Description)
		for _, in := range x.Definition.Inputs {
			must := ""
			if in.Default == nil {
				must = ", required"
			}
			fmt.Fprintf(&b, "\n  %s (%s%s) %s", in.Name, in.Type, must, in.Description)
		}
	}
	return nil, fika.Errorf(fika.NotFound, "", "%s", b.String())
}
