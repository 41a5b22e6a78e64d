package app

import (
	"context"
	"errors"
	"fmt"

	"fika"
	"fika/internal/llm"
	"fika/internal/settings/config"
	"fika/internal/text/hint"
)

// advised is a model that, when its provider refuses a key, says which key was used and
// what to do.
type advised struct {
	inner  llm.Model
	advice string
}

// Generate implements [llm.Model]. The provider's error stays the cause.
func (m *advised) Generate(ctx context.Context, r llm.Request, emit func(llm.Event) error) (llm.Response, error) {
	res, err := m.inner.Generate(ctx, r, emit)
	var refused *llm.ProviderError
	if !errors.As(err, &refused) || refused.Status != 401 && refused.Status != 403 {
		return res, err
	}
	return res, &fika.Error{Kind: fika.KindOf(err), Op: "model call", Msg: m.advice, Err: refused}
}

// adviceOn says which key of a model its provider has refused, and how to replace it.
func (k *Keyring) adviceOn(m config.Model) string {
	lender, isLent := k.lender(m.APIKeyEnv)
	switch {
	case m.APIKeyEnv == "":
		return "the provider wants an API key, and model \"" + m.ID + "\" names none: set api_key_env in its [[models]] entry to the environment variable that holds it"
	case isLent:
		return fmt.Sprintf("the key %s in the environment of the shell that opened a session (pid %d) was refused for model %q (export a valid one there and open the session again)", m.APIKeyEnv, lender.of.PID, m.ID)
	case k.opts.Getenv(m.APIKeyEnv) == "":
		return "the stored key " + m.APIKeyEnv + " was refused for model \"" + m.ID + "\" (" + hint.KeySet.With(m.APIKeyEnv) + " replaces it)"
	case k.byHub:
		return "the key " + m.APIKeyEnv + " in the environment of " + k.whoseEnvironment() + " was refused for model \"" + m.ID + "\" (export a valid one, or unset it and: " + hint.KeySet.With(m.APIKeyEnv) + "; then: " + hint.Down.With() + " && " + hint.Up.With() + ")"
	}
	return "the key " + m.APIKeyEnv + " in the environment of this shell was refused for model \"" + m.ID + "\" (export a valid one, or unset it and: " + hint.KeySet.With(m.APIKeyEnv) + ")"
}
