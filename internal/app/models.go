package app

import (
	"fika"
	"fika/internal/settings/config"
)

// ModelInfo is a model as lists show it.
type ModelInfo struct {
	config.Model
	Default bool  // used by prompts unless another is named
	Key     bool  // its API key is set, or it needs none
	Trouble error // why it cannot be used
}

// Models returns the models that config.toml and models.toml define. If they define
// none, it returns the one that would be used anyway, if any.
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

// CheckModel returns Invalid for a model that is not defined.
func (p *Providers) CheckModel(name string) error {
	c, err := p.config.Config()
	if err != nil {
		return err
	}
	_, err = c.FindModel(name, p.opts.Getenv)
	return err
}
