package app

import (
	"fika"
	"fika/internal/config"
)

// ModelInfo is a model as lists show it.
type ModelInfo struct {
	config.Model
	Default bool  // what prompts use unless something else is said
	Key     bool  // its API key is set, or it needs none
	Trouble error // why it cannot be used
}

// Models lists the models that config.toml and models.toml define. Without any
// it is the one that would be used all the same; none when there is no such, either.
func (p *Providers) Models() ([]ModelInfo, error) {
	c, err := p.config.Config()
	if err != nil {
		return nil, err
	}
	h, err := p.home.Home()
	if err != nil {
		return nil, err
	}
	state, err := h.State()
	if err != nil {
		return nil, err
	}
	used, usedErr := p.settings.Settings(state.Current, nil, false)
	var list []ModelInfo
	there := false
	for _, m := range c.Models {
		info := ModelInfo{Model: m}
		if full, err := c.FindModel(m.ID, p.opts.Getenv); err != nil {
			info.Trouble = err
		} else {
			info.Model = full
		}
		info.Default = usedErr == nil && used.Model.ID == m.ID
		there = there || info.Default
		list = append(list, info)
	}
	if usedErr == nil && !there {
		list = append([]ModelInfo{{Model: used.Model, Default: true}}, list...)
	}
	if len(list) == 0 && !fika.IsKind(usedErr, fika.Invalid) {
		return nil, usedErr
	}
	for i := range list {
		m := list[i].Model
		list[i].Key = m.APIKeyEnv == "" || p.keys.lookupName(m.APIKeyEnv) != ""
	}
	return list, nil
}

// CheckModel refuses, with kind Invalid, a model that nothing defines.
func (p *Providers) CheckModel(name string) error {
	c, err := p.config.Config()
	if err != nil {
		return err
	}
	_, err = c.FindModel(name, p.opts.Getenv)
	return err
}
