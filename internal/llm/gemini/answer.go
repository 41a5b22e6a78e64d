package gemini

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"fika"
	"fika/internal/llm"
	"fika/internal/llm/wire"
)

// chunk is one piece of a streamed answer, or a whole one: GenerateContentResponse.
type chunk struct {
	Candidates []struct {
		Index   int `json:"index"`
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		Finish  string    `json:"finishReason"`
		Message wire.Text `json:"finishMessage"`
	} `json:"candidates"`
	Feedback struct {
		Reason  string    `json:"blockReason"`
		Message wire.Text `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage *usage          `json:"usageMetadata"`
	Error json.RawMessage `json:"error"`
}

// usage is GenerateContentResponseUsageMetadata; every chunk has the totals so far.
type usage struct {
	Prompt     wire.Count `json:"promptTokenCount"`
	ToolPrompt wire.Count `json:"toolUsePromptTokenCount"`
	Cached     wire.Count `json:"cachedContentTokenCount"`
	Candidates wire.Count `json:"candidatesTokenCount"`
	Thoughts   wire.Count `json:"thoughtsTokenCount"`
}

// received is what is read of a part.
type received struct {
	Text      wire.Text `json:"text"`
	Thought   bool      `json:"thought"`
	Signature string    `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// answer gathers one streamed answer.
type answer struct {
	*wire.Call
	text, reasoning wire.Joiner
	calls           []llm.Call
	parts           []json.RawMessage // as they go back
	pending         strings.Builder   // text without a signature that the last parts made
	usage           *usage
	finished        string
	why             string
	limit           int64
	size            int
}

// Complete reports whether the reason for the end has come.
func (a *answer) Complete() bool { return a.finished != "" }

// Take handles one event of the stream.
func (a *answer) Take(_ string, data []byte) error {
	if data == nil {
		return a.Emit(llm.KeepAlive, "")
	}
	data = bytes.TrimSpace(data)
	if list := []json.RawMessage(nil); bytes.HasPrefix(data, []byte("[")) && json.Unmarshal(data, &list) == nil && len(list) > 0 {
		for _, one := range list { // a server that does not stream events
			if err := a.takeChunk(one); err != nil {
				return err
			}
		}
		return nil
	}
	return a.takeChunk(data)
}

func (a *answer) takeChunk(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		if a.finished != "" || bytes.HasPrefix(data, []byte("[DONE]")) {
			return wire.ErrDone
		}
		return a.Halt(a.Failure().Broken("sent something that is not an answer: %.80q", data))
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return a.Halt(a.Failure().Stated(statusOf(c.Error), c.Error))
	}
	if c.Usage != nil {
		a.usage = c.Usage
	}
	if c.Feedback.Reason != "" && a.finished == "" {
		a.finished, a.why = "PROMPT_BLOCKED", string(c.Feedback.Message)
	}
	for _, one := range c.Candidates {
		if one.Index != 0 {
			continue
		}
		for _, raw := range one.Content.Parts {
			if err := a.takePart(raw); err != nil {
				return err
			}
		}
		if one.Finish != "" && one.Finish != "FINISH_REASON_UNSPECIFIED" {
			a.finished, a.why = one.Finish, string(one.Message)
		}
	}
	if a.finished != "" {
		a.Arm()
	}
	return a.Alive(0)
}

// takePart adds one part. Parts that are signed go back as they are; plain text is joined.
func (a *answer) takePart(raw json.RawMessage) error {
	var p received
	if err := json.Unmarshal(raw, &p); err != nil {
		return a.Halt(a.Failure().Broken("sent a part that cannot be read"))
	}
	if a.size += len(raw); a.size > wire.MaxAnswer {
		return a.Halt(fika.Errorf(fika.Limit, wire.Op, "the answer is larger than %d MiB and was cut off", wire.MaxAnswer>>20))
	}
	if p.Call != nil {
		args := "{}"
		if wire.IsObject(p.Call.Args) {
			args = string(p.Call.Args)
		} else if s := ""; json.Unmarshal(p.Call.Args, &s) == nil && s != "" {
			args = s
		}
		call := llm.Call{ID: p.Call.ID, Name: p.Call.Name, Args: args}
		if call.ID != "" && slices.Contains(a.calls, call) {
			return a.Alive(0) // some proxies send the last chunk again
		}
		a.calls = append(a.calls, call)
	}
	if p.Call != nil || p.Signature != "" {
		if err := a.Alive(len(raw) - len(p.Text)); err != nil {
			return err
		}
	}
	kind, shown := llm.TextDelta, ""
	if p.Thought {
		kind, shown = llm.ReasoningDelta, a.reasoning.Add(p.Text)
	} else {
		shown = a.text.Add(p.Text)
	}
	switch {
	case p.Signature == "" && p.Call == nil && !p.Thought:
		a.pending.WriteString(shown)
	case p.Signature != "" || p.Call != nil:
		a.flushText()
		a.parts = append(a.parts, bytes.Clone(raw))
	}
	return a.Emit(kind, shown)
}

// flushText makes one part of the text that has come without a signature.
func (a *answer) flushText() {
	if a.pending.Len() > 0 {
		text := a.pending.String()
		a.parts = append(a.parts, part{Text: &text}.raw())
		a.pending.Reset()
	}
}

// Finish returns the response of a complete answer.
func (a *answer) Finish() (llm.Response, error) {
	if a.finished == "" {
		return llm.Response{}, a.Failure().Broken("the stream ended before the answer was complete")
	}
	if err := a.Emit(llm.ReasoningDelta, a.reasoning.Close()); err != nil {
		return llm.Response{}, err
	}
	rest := a.text.Close()
	a.pending.WriteString(rest)
	if err := a.Emit(llm.TextDelta, rest); err != nil {
		return llm.Response{}, err
	}
	a.flushText()
	r := llm.Response{Text: a.text.String(), Reasoning: a.reasoning.String(), MaxTokens: a.limit}
	r.Stop, r.StopText = stopOf(a.finished, a.why)
	r.Calls, r.Blob = a.namedCalls()
	r.Usage = a.Usage(a.Reported(), r)
	return r, nil
}

// Reported implements [wire.Answer].
func (a *answer) Reported() wire.Report {
	u := a.usage
	if u == nil {
		return wire.Report{}
	}
	return wire.Report{Input: u.Prompt.Plus(u.ToolPrompt), Output: u.Candidates.Plus(u.Thoughts), Cached: u.Cached, Reasoning: u.Thoughts}
}

// namedCalls gives every call an id of its own. The blob keeps those of the API, so it is
// void if one of them was replaced. An id that the API has not given differs from those of
// other answers: in a window with two calls of one id the later blob would be void.
func (a *answer) namedCalls() ([]llm.Call, json.RawMessage) {
	used, own := map[string]bool{}, true
	for i := range a.calls {
		c := &a.calls[i]
		given := c.ID
		if c.ID == "" || used[c.ID] {
			c.ID = "call_" + strings.ToLower(rand.Text()[:12])
		}
		used[c.ID] = true
		own = own && (given == "" || given == c.ID)
	}
	if len(a.parts) == 0 || !own {
		return a.calls, nil
	}
	raw, err := json.Marshal(content{Role: "model", Parts: a.parts})
	if err != nil {
		return a.calls, nil
	}
	return a.calls, raw
}

// stopOf returns why an answer ended: FinishReason.
func stopOf(reason, why string) (llm.Stop, string) {
	switch reason {
	case "STOP":
		return llm.StopEnd, ""
	case "MAX_TOKENS", "CONTINUATION":
		return llm.StopLength, ""
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "PROMPT_BLOCKED",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return llm.StopFilter, why
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL":
		return llm.StopBadCall, why
	case "TOO_MANY_TOOL_CALLS":
		return llm.StopFlood, "too many tools in a row"
	case "OTHER", "NO_IMAGE", "IMAGE_OTHER": // known, and nothing follows from them
	}
	return llm.StopUnknown, reason
}

// statusOf returns the HTTP status of an error in a stream: its code, or that of its status.
func statusOf(raw json.RawMessage) int {
	var e struct {
		Code   wire.Count `json:"code"`
		Status string     `json:"status"`
	}
	_ = json.Unmarshal(raw, &e)
	if e.Code.N >= 400 && e.Code.N <= 599 {
		return int(e.Code.N)
	}
	switch e.Status {
	case "INVALID_ARGUMENT", "FAILED_PRECONDITION":
		return 400
	case "UNAUTHENTICATED":
		return 401
	case "PERMISSION_DENIED":
		return 403
	case "NOT_FOUND":
		return 404
	case "RESOURCE_EXHAUSTED":
		return 429
	case "UNAVAILABLE":
		return 503
	case "DEADLINE_EXCEEDED":
		return 504
	}
	return 500
}
