package app

import (
	"context"
	"errors"
	"os"
	"time"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/anthropic"
	"fika/internal/llm/bound"
	"fika/internal/llm/gemini"
	"fika/internal/llm/openai"
	"fika/internal/llm/redacted"
	"fika/internal/llm/responses"
	"fika/internal/llm/resume"
	"fika/internal/llm/retry"
	"fika/internal/llm/scripted"
	"fika/internal/settings/config"
	"fika/internal/system/crash"
)

// silence is how long a provider may send nothing at all before the call is abandoned
// and repeated. Loading a model takes minutes.
const silence = 5 * time.Minute

// Providers builds the models that settings name.
type Providers struct {
	opts     Options
	home     *OpenedHome
	config   *Configuration
	keys     *Keyring
	settings *Resolver
}

// Model builds the model of resolved settings, wrapped with retries, an idle timeout
// and cost accounting, and with advice for a refused key. It returns Invalid if the API
// key is missing; the message names the variable.
func (p *Providers) Model(s config.Settings) (llm.Model, error) {
	if s.Engine == config.EngineACP {
		return guestModel{s.Agent}, nil
	}
	key, err := p.keys.useKey(s.Model)
	if err != nil {
		return nil, err
	}
	headers, err := p.keys.headers(s.Model)
	if err != nil {
		return nil, err
	}
	m, err := provider(s, key, headers)
	if err != nil {
		return nil, err
	}
	m = retry.WithoutRefused(m)
	m = &advised{redacted.Model(m, p.keys.Secrets()), p.keys.adviceOn(s.Model)}
	m = bound.Model(m, bound.Limits{Calls: s.Answer.MaxToolCalls, Bytes: s.Answer.MaxBytes, Silent: crash.Pace(s.Answer.MaxSilent), Total: crash.Pace(s.Answer.MaxTime)})
	m = retry.IdleTimeout(m, crash.Pace(silence))
	m = retry.Retry(m, retry.Policy{Attempts: 3, Total: 10 * time.Second})
	m = retry.FillCost(m, s.Model.Cost)
	return resume.Model(m), nil
}

// guestModel stands where settings name a program instead of a model: turns do not call it,
// and what else asks a model is refused.
type guestModel struct{ agent fika.AgentName }

// Generate implements [llm.Model].
func (m guestModel) Generate(context.Context, llm.Request, func(llm.Event) error) (llm.Response, error) {
	return llm.Response{}, fika.Errorf(fika.Invalid, "model", "@%s has no model of fika's: another program does its turns (engine = \"acp\")", m.agent)
}

// ModelsOf builds all models of resolved settings, in order. Its error is that of
// [Providers.Model].
func (p *Providers) ModelsOf(s config.Settings) ([]llm.Model, error) {
	var out []llm.Model
	for _, u := range s.All() {
		m, err := p.Model(s.WithModel(u))
		if err != nil && s.Choice.Several() {
			cause := err
			if e := (*fika.Error)(nil); errors.As(err, &e) {
				cause = &fika.Error{Msg: e.Msg, Err: e.Err}
			}
			err = fika.WithHint(fika.Errorf(fika.KindOf(err), "model", "one of the %d models of @%s cannot be asked: %v", len(s.Choice.Models), s.Agent, cause), fika.HintOf(err))
		}
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// provider builds the model without any wrapping.
func provider(s config.Settings, key string, headers map[string]string) (llm.Model, error) {
	switch s.Model.Provider {
	case config.Anthropic:
		return anthropic.New(anthropic.Options{BaseURL: s.Model.BaseURL, APIKey: key, Insecure: s.Model.Insecure, Headers: headers, Model: s.Model.WireModel, MaxOutput: s.Model.MaxOutput, Window: s.ContextWindow, CacheHour: s.Model.CacheFor == config.CacheHour}), nil
	case config.Responses:
		return responses.New(responses.Options{BaseURL: s.Model.BaseURL, APIKey: key, Insecure: s.Model.Insecure, Headers: headers, Model: s.Model.WireModel}), nil
	case config.Gemini:
		return gemini.New(gemini.Options{BaseURL: s.Model.BaseURL, APIKey: key, Insecure: s.Model.Insecure, Headers: headers, Model: s.Model.WireModel}), nil
	case config.Scripted:
		return scriptedModel(s)
	case config.OpenAI:
		return openai.New(openai.Options{BaseURL: s.Model.BaseURL, APIKey: key, Insecure: s.Model.Insecure, Headers: headers, Model: s.Model.WireModel, CacheMarks: s.Model.CacheControl, CacheHour: s.Model.CacheFor == config.CacheHour}), nil
	}
	return nil, fika.Errorf(fika.Invalid, "model", "no provider is called %q", s.Model.Provider)
}

// scriptedModel answers from the rules file that the model names, a path in the home.
// Without a file every prompt gets the default answer.
func scriptedModel(s config.Settings) (llm.Model, error) {
	o := scripted.Options{Agent: string(s.Agent), File: s.Model.Rules}
	if s.Model.Rules != "" {
		data, err := os.ReadFile(s.Model.Rules)
		if err != nil {
			return nil, fika.Errorf(fika.Invalid, "model", "the rules of scripted model %q: %v", s.Model.ID, err)
		}
		o.Rules = data
	}
	return scripted.New(o)
}
