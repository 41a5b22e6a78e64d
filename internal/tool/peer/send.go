package peer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/store"
	"fika/internal/tool"
)

// maxMessage bounds one message, in bytes, because it will be part of a prompt.
const maxMessage = 64 << 10

// Find resolves a name that a model wrote. An error of kind NotFound names the nearest
// existing one.
type Find func(ctx context.Context, name string) (fika.Agent, error)

// Postbox delivers messages between contexts.
type Postbox interface {
	Deliver(context.Context, store.Send) (store.Posted, error)
}

// Send is the tool send_message: it puts a message into the ongoing conversation of
// another agent, which reads it in its next turn.
type Send struct {
	Find  Find
	Store Postbox
	Hooks hook.Runner
	Wake  func(...fika.AgentName)
	// MaxDepth is how long a chain of messages may grow; 0: no limit.
	MaxDepth int
	// Echoes reports whether a message only repeats what the two agents have been saying
	// to each other; may be nil.
	Echoes func(ctx context.Context, c tool.Call, to fika.Agent, content string) (bool, error)
	// CatchUp brings an agent's files up to date after it was sent something; may be
	// nil.
	CatchUp func(context.Context, fika.AgentName) error
	// MayCall returns an error of kind Denied if self may not ask to. A nil MayCall
	// permits everything.
	MayCall func(ctx context.Context, self, to fika.AgentName) error
	Warn    func(string)
}

// Spec implements [tool.Tool]. The id of a message follows from the step, so
// that a repeated call delivers nothing twice.
func (*Send) Spec() tool.Spec {
	return tool.Spec{
		Name: "send_message", Description: "Message an agent.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"},"content":{"type":"string"}},"required":["to","content"]}`),
		Checked:    true, Effect: fika.Idempotent, Always: true,
	}
}

// Call implements [tool.Tool].
func (s *Send) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	var args struct{ To, Content string }
	if err := tool.Decode(s.Spec(), c, &args); err != nil {
		return tool.Refusal(err), nil
	}
	to, err := s.Find(ctx, args.To)
	if err != nil {
		return answerTo(ctx, err)
	}
	if why := s.whyNotSent(c, to, args.Content); why != "" {
		return tool.Errorf("not sent: " + why), nil
	}
	if s.MayCall != nil {
		if err := s.MayCall(ctx, c.Agent, to.Name); err != nil {
			return answerTo(ctx, err)
		}
	}
	if s.Echoes != nil {
		repeats, err := s.Echoes(ctx, c, to, args.Content)
		if err != nil {
			return answerTo(ctx, err)
		}
		if repeats {
			return tool.Errorf("not sent: you and " + string(to.Name) + " only repeat what you have said to each other (max_echo); end here, or say something new"), nil
		}
	}
	payload := hook.Payload{"from": string(c.Agent), "to": string(to.Name), "content": args.Content, "context_name": c.Context}
	out, err := s.Hooks.Fire(ctx, hook.PreSendMessage, payload)
	if err != nil {
		return answerTo(ctx, err)
	}
	var text string
	if taken, _ := out["delivered"].(bool); taken {
		text = "Delivered" + sentBy(out["via"]) + "."
	} else if text, err = s.deliverMessage(ctx, c, to, args.Content); err != nil {
		return answerTo(ctx, err)
	}
	payload["delivery_result"] = text
	if _, err := s.Hooks.Fire(context.WithoutCancel(ctx), hook.PostSendMessage, payload); err != nil && s.Warn != nil {
		s.Warn(err.Error())
	}
	return tool.Result{Text: text}, nil
}

// whyNotSent returns the reason why a message is not sent; empty: there is none.
func (s *Send) whyNotSent(c tool.Call, to fika.Agent, content string) string {
	switch {
	case to.Name == c.Agent:
		return "that is you; keep a note with update_todos instead"
	case strings.TrimSpace(content) == "":
		return "it is empty"
	case len(content) > maxMessage:
		return fmt.Sprintf("it has %d bytes and may have %d; put it into a file and name the file", len(content), maxMessage)
	case s.MaxDepth > 0 && c.Depth+1 >= s.MaxDepth:
		return fmt.Sprintf("limit reached (max_depth %d); answer the user instead", s.MaxDepth)
	}
	return ""
}

func (s *Send) deliverMessage(ctx context.Context, c tool.Call, to fika.Agent, content string) (string, error) {
	m := store.Send{
		To: to.ID, From: string(c.Agent), Writer: fika.ByAgent, WriterName: string(c.Agent),
		Content: content, Chain: c.Chain, Depth: c.Depth + 1, Rights: c.Rights, Taint: c.Taint,
	}
	if c.Step != "" {
		m.ID = fika.EntryID(uuid.NewSHA1(uuid.NameSpaceOID, []byte("send_message "+c.Step)).String())
	}
	posted, err := s.Store.Deliver(ctx, m)
	if err != nil {
		return "", err
	}
	s.Wake(to.Name)
	if s.CatchUp != nil {
		if err := s.CatchUp(ctx, to.Name); err != nil && s.Warn != nil {
			s.Warn(err.Error())
		}
	}
	if posted.Paused {
		return "Sent to " + string(to.Name) + "; it is paused and reads it when it is resumed.", nil
	}
	return "Sent to " + string(to.Name) + ".", nil
}

func sentBy(via any) string {
	if s, _ := via.(string); s != "" {
		return " by " + s
	}
	return ""
}

// answerTo turns an error into a result for the model; an interruption is returned as an
// error for the turn.
func answerTo(ctx context.Context, err error) (tool.Result, error) {
	if ctx.Err() != nil {
		return tool.Result{}, fika.Wrap(fika.Interrupted, "", err)
	}
	return tool.Refusal(err), nil
}
