package peer

import (
	"context"
	"encoding/json"

	"fika"
	"fika/internal/tool"
)

// Create is the tool create_context: it makes sure that a context exists.
type Create struct {
	// Make makes a context with its own system prompt (empty: the default one) for the
	// agent of a call. It leaves an existing context as it is.
	Make func(ctx context.Context, c tool.Call, name fika.AgentName, systemPrompt string) (created bool, err error)
}

// Spec implements [tool.Tool].
func (*Create) Spec() tool.Spec {
	return tool.Spec{
		Name: "create_context", Description: "Make an agent.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"system_prompt":{"type":"string"}},"required":["name"]}`),
		Checked:    true, Effect: fika.Idempotent, Always: true,
	}
}

// Call implements [tool.Tool].
func (t *Create) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	var args struct {
		Name         string `json:"name"`
		SystemPrompt string `json:"system_prompt"`
	}
	if err := tool.Decode(t.Spec(), c, &args); err != nil {
		return tool.Refusal(err), nil
	}
	name, err := fika.ParseAgentName(args.Name)
	if err != nil {
		return tool.Refusal(err), nil
	}
	if len(args.SystemPrompt) > maxMessage {
		return tool.Errorf("the system prompt is too long"), nil
	}
	created, err := t.Make(ctx, c, name, args.SystemPrompt)
	switch {
	case err != nil:
		return answerTo(ctx, err)
	case created:
		return tool.Result{Text: "Made " + string(name) + "."}, nil
	case args.SystemPrompt != "":
		return tool.Result{Text: string(name) + " exists already; its system prompt stays as it is."}, nil
	}
	return tool.Result{Text: string(name) + " exists already."}, nil
}
