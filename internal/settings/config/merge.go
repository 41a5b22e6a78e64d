package config

import (
	"strings"
	"time"

	"fika"
	"fika/internal/rights/guard"
	"fika/internal/settings/toml"
)

// merged are the per-context settings after all layers.
type merged struct {
	PerContext
	origins map[string]string
	own     map[string]bool // set above the top level of config.toml
}

// ownText returns a text that a context sets for itself, or nil.
func (m merged) ownText(key string, text *string) *string {
	if m.own[key] {
		return text
	}
	return nil
}

// layer is one source of per-context settings.
type layer struct {
	from   *PerContext
	where  map[string]Place
	prefix string // of its keys in where
	own    bool
}

func (in Inputs) settingLayers() []layer {
	c := in.Config
	var list []layer
	if in.Local != nil {
		list = append(list, layer{&in.Local.PerContext, in.Local.where, "", true})
	}
	if i := c.entryIndex(string(in.Agent)); i >= 0 && in.Agent != "" {
		list = append(list, layer{&c.Agents[i].PerContext, c.where, elementPath("agents", i) + ".", true})
	}
	return append(list, layer{&c.PerContext, c.where, "", false},
		layer{&PerContext{Limits: c.Chat.Limits}, c.where, "chat.", false}, // for the keys that inherit from it; so are the next three
		layer{&PerContext{Confinement: c.Guard.Confinement}, c.where, "guard.", false},
		layer{&PerContext{Lend: c.Sandbox.Lend, Hosts: c.Sandbox.Hosts}, c.where, "sandbox.", false},
		layer{&PerContext{Executor: c.Tools.Executor}, c.where, "tools.", false})
}

// mergeLayers takes each key from the first layer that sets it.
func (in Inputs) mergeLayers() (merged, error) {
	keys := contextKeys()
	for name := range in.Flags {
		if findKey(keys, name) == nil {
			return merged{}, fika.Errorf(fika.Invalid, "settings", "setting %s not found%s", toml.Quote(name), toml.NearestHint(name, keyNames(keys)))
		}
	}
	m := merged{PerContext: in.Config.PerContext, origins: make(map[string]string, len(keys)), own: map[string]bool{}}
	m.Limits, m.Confinement = in.Config.Chat.Limits, in.Config.Guard.Confinement
	layers := in.settingLayers()
	for _, k := range keys {
		if text, origin := in.givenText(k.name); origin != "" {
			if wrong := k.parseText(&m.PerContext, text); wrong != "" {
				return merged{}, fika.Errorf(fika.Invalid, "settings", "%s: %s %s", origin, k.name, wrong)
			}
			m.origins[k.name], m.own[k.name] = origin, true
			continue
		}
		m.origins[k.name] = "default"
		for _, l := range layers {
			if k.inherits != "" && l.prefix == "" && !l.own {
				continue // a table of that name, such as [sandbox], is not a value of the key
			}
			if at, ok := l.where[l.prefix+k.name]; ok {
				copyField(k.at(&m.PerContext), k.at(l.from))
				m.origins[k.name], m.own[k.name] = lineOf(at), l.own
				break
			}
		}
	}
	return m, nil
}

// givenText looks a key up on the command line and in the environment.
func (in Inputs) givenText(name string) (text, origin string) {
	if text, ok := in.Flags[name]; ok {
		if flag := in.FlagNames[name]; flag != "" {
			return text, "flag " + flag
		}
		return text, "flag --" + strings.ReplaceAll(name, "_", "-")
	}
	if in.Env != nil && name != "env" && name != "rules" && name != "limits" {
		variables := []string{EnvName(name)}
		if name == "turn_timeout" {
			variables = append(variables, "FIKA_TURN_TIMEOUT_SECONDS")
		}
		for _, variable := range variables {
			if text := in.Env(variable); text != "" {
				return text, "environment " + variable
			}
		}
	}
	return "", ""
}

// EnvName returns the environment variable of a per-context key: FIKA_MODEL for model.
// The key env has none.
func EnvName(key string) string { return "FIKA_" + strings.ToUpper(key) }

// copyField copies the value behind one pointer to another of the same type.
func copyField(to, from any) {
	switch p := to.(type) {
	case *string:
		*p = *from.(*string)
	case *bool:
		*p = *from.(*bool)
	case *int:
		*p = *from.(*int)
	case *int64:
		*p = *from.(*int64)
	case *float64:
		*p = *from.(*float64)
	case *MicroDollars:
		*p = *from.(*MicroDollars)
	case *time.Duration:
		*p = *from.(*time.Duration)
	case *[]string:
		*p = *from.(*[]string)
	case *map[string]string:
		*p = *from.(*map[string]string)
	case *Resources:
		*p = *from.(*Resources)
	case **Reasoning:
		*p = *from.(**Reasoning)
	case *[]guard.Rule:
		*p = *from.(*[]guard.Rule)
	}
}

// parseText parses a value given as plain text, on the command line or in the
// environment. Lists are separated by commas.
func (k key[T]) parseText(target *T, text string) string {
	at := k.at(target)
	v := value{Kind: toml.KindText, Text: text}
	switch p := at.(type) {
	case *bool:
		v.Kind = toml.KindBool
		switch strings.ToLower(text) {
		case "true", "1", "yes", "on":
			v.Text = "true"
		case "false", "0", "no", "off":
			v.Text = "false"
		default:
			return "must be true or false; this is " + toml.Quote(text)
		}
	case *int, *int64:
		v.Kind = toml.KindInt
	case *float64, *MicroDollars:
		v.Kind = toml.KindFloat
	case *time.Duration:
		if onlyDigits(text) {
			v.Kind = toml.KindInt
		}
	case *[]string:
		v.Kind = toml.KindList
		for _, s := range strings.Split(text, ",") {
			if s = strings.TrimSpace(s); s != "" {
				v.Items = append(v.Items, value{Kind: toml.KindText, Text: s})
			}
		}
	case **Reasoning:
		r, wrong := parseReasoning(text)
		if wrong == "" {
			*p = r
		}
		return wrong
	case *map[string]string, *[]guard.Rule, *Resources:
		return "can only be set in a file"
	}
	wrong := assignValue(at, v, toml.Limits{Unit: k.unit, Min: k.min, Max: k.max, OneOf: k.oneOf})
	if wrong == "" && k.check != nil {
		if wrong = k.check(v, at); wrong != "" {
			wrong = "does not fit: " + wrong
		}
	}
	return wrong
}

func onlyDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// parseReasoning parses an effort, a number of tokens, true or false.
func parseReasoning(text string) (*Reasoning, string) {
	r := &Reasoning{Enabled: true}
	switch {
	case text == "true":
	case text == "false", text == "none":
		r.Enabled = false
	case onlyDigits(text):
		if wrong := assignValue(&r.MaxTokens, value{Kind: toml.KindInt, Text: text}, toml.Limits{Min: 1}); wrong != "" {
			return nil, wrong
		}
	default:
		if wrong := assignValue(&r.Effort, value{Kind: toml.KindText, Text: text}, toml.Limits{OneOf: reasoningEfforts()}); wrong != "" {
			return nil, wrong
		}
	}
	return r, ""
}
