package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"fika"
	"fika/internal/extension/hook"
	"fika/internal/tool"
)

const (
	maxAnswer = 1 << 20 // of what a hook prints
	// maxHookPlain bounds one plain variable of a hook, because the data of hooks has
	// long texts.
	maxHookPlain = 4 << 10
)

// Fire runs the hooks of a point one after the other, each with the payload that the one
// before left. It stops after the first that blocks a tool or delivers a message. The
// payload passed in is not changed; "arguments" comes back as it was passed, or as
// json.RawMessage if a hook replaced it. Error kinds: Interrupted when ctx ends, Denied
// when a hook fails whose plugin says on_failure = block.
func (p *Plugins) Fire(ctx context.Context, point hook.Point, payload hook.Payload) (hook.Payload, error) {
	out := payload
	for _, f := range p.files {
		if !f.hearsPoint(point) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return out, fika.Wrap(fika.Interrupted, "hook "+string(point), err)
		}
		next, err := p.fireOne(ctx, f, point, out)
		switch {
		case err == nil:
			out = next
		case ctx.Err() != nil:
			return out, fika.Wrap(fika.Interrupted, "hook "+string(point), context.Cause(ctx))
		case f.schema.Block:
			return out, fika.Errorf(fika.Denied, "hook "+string(point), "the plugin %s could not answer, and says that nothing may go on then: %v", f.Name, err)
		default:
			p.reportError(f.Name, err)
		}
		if out["block"] == true || out["delivered"] == true {
			break
		}
	}
	return out, nil
}

// fireOne runs one hook and merges its answer.
func (p *Plugins) fireOne(ctx context.Context, f *file, point hook.Point, payload hook.Payload) (hook.Payload, error) {
	op := "hook " + string(point) + " of " + f.Name
	if f.broken != nil {
		return payload, f.broken
	}
	data, err := json.Marshal(payload)
	if err != nil {
		return payload, fika.Wrap(fika.Failed, op, err)
	}
	l := launch{
		file: f, env: p.hookEnv(f, point, payload, data), dir: p.opts.Workspace,
		timeout: orElse(p.settingsOf(f).Timeout, orElse(f.schema.Timeout, p.opts.HookTimeout)),
		limits:  tool.Limits{Head: maxAnswer, Tail: 1}, data: data,
	}
	if p.person != nil && !p.wantsJSON(f) {
		loan, err := p.person.lendTerminal(ctx)
		if err != nil {
			l.env.removeFiles()
			return payload, err
		}
		defer loan.giveBack()
		l.stdin = loan
		l.env.setVariable("FIKA_INTERACTIVE", "1")
	}
	e, err := p.runPlugin(ctx, l)
	p.reportUndone(f, e)
	switch {
	case err != nil:
		return payload, fika.Wrap("", op, err)
	case e.exit.Code != 0:
		return payload, fika.Errorf(fika.Failed, op, "%s", e.failureText())
	case e.exit.Output.Cut:
		return payload, fika.Errorf(fika.Limit, op, "it printed %d bytes; at most %d are taken", e.exit.Output.Total, maxAnswer)
	}
	out, err := mergeAnswer(point, payload, []byte(e.exit.Output.Text))
	return out, fika.Wrap("", op, err)
}

// hookEnv returns the environment of a hook. It has no TOOL_ARGS: that is how a plugin
// distinguishes a call from a hook.
func (p *Plugins) hookEnv(f *file, point hook.Point, payload hook.Payload, data []byte) *environment {
	e := p.environmentOf(f, p.opts.Workspace)
	e.setVariable("FIKA_HOOK", string(point))
	e.setVariable("CHIBI_HOOK", string(point))
	e.setJSON("HOOK_DATA", data)
	e.setPlain("FIKA_HOOK_", data, maxHookPlain)
	if args, ok := payload["arguments"]; ok && len(data) <= maxEnv {
		if raw, err := json.Marshal(args); err == nil {
			e.setPlain("FIKA_ARG_", raw, maxEnv)
		}
	}
	folder, _ := payload["context_name"].(string)
	if folder == "" {
		folder, _ = payload["current_context"].(string)
	}
	e.setWho(p, folder, "", "", "")
	return e
}

// mergeAnswer merges the honoured keys of an answer into a copy of the payload. An empty
// answer and {} change nothing. At a point whose answer is honoured, an answer that is
// not an object, or has a value of the wrong type, is an error, because nobody can know
// what was meant.
func mergeAnswer(point hook.Point, payload hook.Payload, answer []byte) (hook.Payload, error) {
	honoured := honouredBy(point)
	answer = bytes.TrimSpace(answer)
	if len(honoured) == 0 || len(answer) == 0 || string(answer) == "null" {
		return payload, nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(answer, &m); err != nil && point == hook.OnStart {
		return payload, nil // older plugins print a greeting there
	} else if err != nil {
		return payload, fika.Errorf(fika.Invalid, "", "its answer is not a JSON object: %.80q", answer)
	}
	out := maps.Clone(payload)
	if out == nil {
		out = hook.Payload{}
	}
	for _, key := range honoured {
		raw, ok := m[key]
		if !ok || string(raw) == "null" {
			continue
		}
		v, ok := answerValue(key, raw)
		if !ok {
			return payload, fika.Errorf(fika.Invalid, "", "its answer has a wrong %s: %.80s", key, raw)
		}
		if before, _ := out[key].([]hook.Context); key == "contexts" {
			v = slices.Concat(before, v.([]hook.Context))
		}
		if before, _ := out[key].(string); key == "inject" {
			if text := v.(string); before != "" && strings.TrimSpace(text) != "" {
				v = strings.TrimRight(before, "\n") + "\n\n" + text
			} else if before != "" {
				v = before
			}
		}
		out[key] = v
	}
	return out, nil
}

// answerValue decodes an honoured value; it returns false if the type is wrong.
func answerValue(key string, raw json.RawMessage) (any, bool) {
	switch key {
	case "block", "delivered":
		var b bool
		err := json.Unmarshal(raw, &b)
		return b, err == nil
	case "contexts":
		var list []hook.Context
		err := json.Unmarshal(raw, &list)
		return list, err == nil
	case "arguments":
		var m map[string]json.RawMessage
		err := json.Unmarshal(raw, &m)
		return raw, err == nil
	default:
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil && (key != "prompt" || strings.TrimSpace(s) != "")
	}
}

func honouredBy(point hook.Point) []string {
	docs := hook.Points()
	if i := slices.IndexFunc(docs, func(d hook.Doc) bool { return d.Point == point }); i >= 0 {
		return docs[i].Answer
	}
	return nil
}
