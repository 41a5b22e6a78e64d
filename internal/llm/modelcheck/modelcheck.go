// Package modelcheck asks a model a few tiny questions, and says in plain words what
// works with it and its server. It stores nothing and opens nothing.
//
// Read first: [Run].
package modelcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"

	"fika"
	"fika/internal/llm"
)

// Finding says whether one thing works. Said is for people.
type Finding struct {
	Name  string
	Works bool
	Said  string
}

// Names are what can be checked, in the order in which it is.
var Names = []string{"text", "stream", "usage", "tools", "schema", "pictures", "caching"}

// Report is what was found out, and what that has cost.
type Report struct {
	Findings []Finding
	Calls    int
	Usage    fika.Usage
}

// Run checks what only names, or everything if it is empty. Something that does not work
// is a finding; the error, of the model's kind, says that the model cannot be asked at
// all, and comes with what was found and spent before.
func Run(ctx context.Context, m llm.Model, only []string) (Report, error) {
	c := check{model: m, only: only}
	for _, one := range []func(context.Context) error{c.answer, c.tools, c.schema, c.pictures, c.caching} {
		if err := one(ctx); err != nil {
			return c.report, err
		}
	}
	return c.report, nil
}

type check struct {
	model  llm.Model
	only   []string
	report Report
}

func (c *check) wants(name string) bool { return len(c.only) == 0 || slices.Contains(c.only, name) }

func (c *check) found(name string, works bool, format string, args ...any) {
	if c.wants(name) {
		c.report.Findings = append(c.report.Findings, Finding{name, works, fmt.Sprintf(format, args...)})
	}
}

// ask makes one call. refused holds the server's words if it understood the call and
// did not take it.
func (c *check) ask(ctx context.Context, r llm.Request) (resp llm.Response, pieces int, refused string, err error) {
	r.System = "You are being tested. Answer as briefly as you can."
	resp, err = c.model.Generate(ctx, r, func(e llm.Event) error {
		if e.Kind == llm.TextDelta {
			pieces++
		}
		return nil
	})
	c.report.Usage = c.report.Usage.Add(resp.Usage)
	var answered *llm.ProviderError
	called := errors.As(err, &answered)
	if err == nil || called || resp.Usage != (fika.Usage{}) { // else a budget had no room for it
		c.report.Calls++
	}
	if called && (answered.Status == 400 || answered.Status == 415 || answered.Status == 422 || answered.Status == 501) {
		return resp, pieces, answered.Error(), nil
	}
	return resp, pieces, "", err
}

func says(text string) llm.Message { return llm.Message{Role: llm.User, Text: text} }

// quoted is the beginning of an answer.
func quoted(text string) string {
	if r := []rune(strings.TrimSpace(text)); len(r) > 60 {
		text = string(r[:60]) + "…"
	}
	return fmt.Sprintf("%q", strings.TrimSpace(text))
}

// answer checks text, stream and usage by one call. It is made in any case but one: if
// only other things are asked for.
func (c *check) answer(ctx context.Context) error {
	if !c.wants("text") && !c.wants("stream") && !c.wants("usage") {
		return nil
	}
	resp, pieces, refused, err := c.ask(ctx, llm.Request{Messages: []llm.Message{says("Count from one to ten in English words, with spaces between them and nothing else.")}})
	if err != nil {
		return err
	}
	if refused != "" {
		return fika.Errorf(fika.Provider, "model check", "%s", refused)
	}
	lower := strings.ToLower(resp.Text)
	if one := strings.Index(lower, "one"); one >= 0 && strings.Contains(lower[one:], "ten") {
		c.found("text", true, "it answers")
	} else {
		c.found("text", false, "it answered %s", quoted(resp.Text))
	}
	switch {
	case pieces > 1:
		c.found("stream", true, "the answer came in %d pieces", pieces)
	default:
		c.found("stream", false, "the answer came in one piece: you see nothing until it is done")
	}
	if resp.Usage.Estimated || resp.Usage.Input == 0 {
		c.found("usage", false, "the server reports no tokens: what is spent is estimated from the size of the texts")
	} else {
		c.found("usage", true, "the server reports tokens: %d read, %d written", resp.Usage.Input, resp.Usage.Output)
	}
	return nil
}

func (c *check) tools(ctx context.Context) error {
	if !c.wants("tools") {
		return nil
	}
	resp, _, refused, err := c.ask(ctx, llm.Request{
		Messages: []llm.Message{says("Report the colour red with the tool.")},
		Tools: []llm.Tool{{Name: "report_colour", Description: "Reports a colour.", Parameters: json.RawMessage(
			`{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]}},"required":["colour"]}`)}},
	})
	if err != nil {
		return err
	}
	var args struct{ Colour string }
	switch {
	case refused != "":
		c.found("tools", false, "the server takes no tools: %s", refused)
	case len(resp.Calls) == 0:
		c.found("tools", false, "it made no call; it answered %s", quoted(resp.Text))
	case resp.Calls[0].Name != "report_colour" || json.Unmarshal([]byte(resp.Calls[0].Args), &args) != nil || args.Colour != "red":
		c.found("tools", false, "it called %s with %s instead of report_colour with red", quoted(resp.Calls[0].Name), quoted(resp.Calls[0].Args))
	default:
		c.found("tools", true, "it calls a tool with what it was told to")
	}
	return nil
}

func (c *check) schema(ctx context.Context) error {
	if !c.wants("schema") {
		return nil
	}
	resp, _, refused, err := c.ask(ctx, llm.Request{ // the form is in the schema alone
		Messages: []llm.Message{says("What is the capital of France?")},
		Schema:   json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`),
	})
	if err != nil {
		return err
	}
	var answer struct{ City *string }
	switch {
	case refused != "":
		c.found("schema", false, "the server takes no schema: %s", refused)
	case json.Unmarshal([]byte(resp.Text), &answer) != nil || answer.City == nil:
		c.found("schema", false, "the answer was not held to a schema; fika asks for the form in words, and checks it")
	default:
		c.found("schema", true, "answers are held to a schema")
	}
	return nil
}

func (c *check) pictures(ctx context.Context) error {
	if !c.wants("pictures") {
		return nil
	}
	picture := image.NewRGBA(image.Rect(0, 0, 32, 32))
	for i := range 32 * 32 {
		picture.Set(i%32, i/32, color.RGBA{R: 255, A: 255})
	}
	var data bytes.Buffer
	if err := png.Encode(&data, picture); err != nil {
		return fika.Wrap(fika.Failed, "model check", err)
	}
	resp, _, refused, err := c.ask(ctx, llm.Request{Messages: []llm.Message{{
		Role: llm.User, Text: "Which colour is this picture? Answer with one English word.", Images: []llm.Image{{MIME: "image/png", Data: data.Bytes()}},
	}}})
	if err != nil {
		return err
	}
	switch {
	case refused != "":
		c.found("pictures", false, "it takes no pictures: %s", refused)
	case strings.Contains(strings.ToLower(resp.Text), "red"):
		c.found("pictures", true, "it sees pictures")
	default:
		c.found("pictures", false, "it was sent a red picture and did not see that; it answered %s", quoted(resp.Text))
	}
	return nil
}

// paragraph is repeated until the prompt is longer than what any provider caches at
// least, which is some 4,000 tokens.
const paragraph = "This line is only here to make the beginning of the prompt long enough to be kept by the provider. "

func (c *check) caching(ctx context.Context) error {
	if !c.wants("caching") {
		return nil
	}
	long := llm.Request{Messages: []llm.Message{
		says(strings.Repeat(paragraph, 260) + "Say yes."), {Role: llm.Assistant, Text: "yes"}, says("Say it again."),
	}}
	var resp llm.Response
	for range 2 {
		var refused string
		var err error
		if resp, _, refused, err = c.ask(ctx, long); err != nil {
			return err
		}
		if refused != "" {
			c.found("caching", false, "a prompt of %d bytes was refused: %s", len(paragraph)*260, refused)
			return nil
		}
	}
	if resp.Usage.Cached > 0 {
		c.found("caching", true, "of the same prompt, sent twice, %d tokens were read from the cache", resp.Usage.Cached)
	} else {
		c.found("caching", false, "the same prompt of %d tokens, sent twice, was read again", resp.Usage.Input)
	}
	return nil
}
