package doctor

import (
	"fika"
	"fika/internal/settings/folder"
)

// checkModels reports agents with several models that could not use one of them, which
// would otherwise show only when that model is needed.
func (d *examination) checkModels() {
	const check = "model"
	c, err := d.app.Config()
	if err != nil {
		return
	}
	if name := c.Routing.Model; name != "" {
		s, err := d.app.Settings(folder.DefaultContext, map[string]string{"model": name}, true)
		if err == nil {
			_, err = d.app.Model(s)
		}
		if err != nil {
			d.add(check, Problem, "", "[routing] model: %v", err)
		}
	}
	for _, a := range c.Agents {
		if len(a.Models) < 2 {
			continue
		}
		s, err := d.app.Settings(fika.AgentName(a.ID), nil, true)
		if err != nil {
			d.add(check, Problem, "", "@%s: %v", a.ID, err)
			continue
		}
		if _, err := d.app.ModelsOf(s); err != nil {
			d.add(check, Problem, "", "%v", err)
		}
	}
}
