package hook

import "context"

// Point is a moment of a run at which hooks fire. The list is closed.
type Point string

// The hook points. [Points] has the payload of each and the answers that are honoured.
const (
	OnStart            Point = "on_start"
	OnEnd              Point = "on_end"
	PreMessage         Point = "pre_message"
	PostMessage        Point = "post_message"
	PreSystemPrompt    Point = "pre_system_prompt"
	PostSystemPrompt   Point = "post_system_prompt"
	PreTool            Point = "pre_tool"
	PostTool           Point = "post_tool"
	PreSendMessage     Point = "pre_send_message"
	PostSendMessage    Point = "post_send_message"
	OnContextSwitch    Point = "on_context_switch"
	PreClear           Point = "pre_clear"
	PostClear          Point = "post_clear"
	PreCompact         Point = "pre_compact"
	PostCompact        Point = "post_compact"
	PreRollingCompact  Point = "pre_rolling_compact"
	PostRollingCompact Point = "post_rolling_compact"
)

// Doc documents one point.
type Doc struct {
	Point   Point
	Payload []string // keys
	Answer  []string // keys of the answer that are honoured
	When    string
}

// Points lists every hook point with its payload and effect.
func Points() []Doc {
	system := []string{"context_name", "summary", "todos", "goals"}
	return []Doc{
		{OnStart, []string{"current_context", "verbose"}, []string{"contexts"}, "when a run, or an agent process, starts; contexts is a list of {name, system_prompt}, and missing ones are created"},
		{OnEnd, []string{"current_context"}, nil, "when the run, or the agent process, ends, even after an error"},
		{PreMessage, []string{"prompt", "context_name", "summary"}, []string{"prompt"}, "before work on a prompt begins; prompt replaces the prompt"},
		{PostMessage, []string{"prompt", "response", "context_name"}, nil, "after the final answer"},
		{PreSystemPrompt, system, []string{"inject"}, "before the system prompt is built; inject is put in front of it. Where it changes, the provider reads the whole conversation again"},
		{PostSystemPrompt, system, []string{"inject"}, "after the system prompt is built; inject is told at the end of the conversation, and again when it has changed"},
		{PreTool, []string{"tool_name", "arguments"}, []string{"arguments", "block", "message"}, "before a tool call; arguments replaces the arguments, block refuses the call with message"},
		{PostTool, []string{"tool_name", "arguments", "result"}, nil, "after a tool call, with the arguments it had"},
		{PreSendMessage, []string{"from", "to", "content", "context_name"}, []string{"delivered", "via"}, "before a message goes to a context; delivered says that the hook has delivered it"},
		{PostSendMessage, []string{"from", "to", "content", "context_name", "delivery_result"}, nil, "after delivery"},
		{OnContextSwitch, []string{"from_context", "to_context", "is_sub_context"}, nil, "when the current context has changed"},
		{PreClear, []string{"context_name", "message_count", "summary"}, nil, "before a context is cleared"},
		{PostClear, []string{"context_name"}, nil, "after a context is cleared"},
		{PreCompact, []string{"context_name", "message_count", "summary"}, nil, "before a full compaction"},
		{PostCompact, []string{"context_name", "message_count", "summary"}, nil, "after a full compaction"},
		{PreRollingCompact, []string{"context_name", "message_count", "non_system_count", "summary"}, nil, "before a rolling compaction"},
		{PostRollingCompact, []string{"context_name", "message_count", "summary", "messages_archived"}, nil, "after a rolling compaction"},
	}
}

// Payload is the data of one firing, as plugins see it in JSON.
type Payload map[string]any

// Context is one of the "contexts" that an answer to on_start asks for.
type Context struct {
	Name         string `json:"name"`
	SystemPrompt string `json:"system_prompt"` // of a context that nobody has used yet
}

// Runner fires hooks. It is safe for concurrent use.
type Runner interface {
	// Fire runs every hook of the point, in the order of plugin names; each sees the
	// payload as the previous one left it. The returned payload has the honoured answers
	// merged in ("inject" texts are joined by a blank line). The Runner reports a hook
	// that fails and skips it, unless its schema says on_failure = block: then the error
	// is of kind Denied.
	Fire(context.Context, Point, Payload) (Payload, error)
}

// None is a Runner without hooks.
type None struct{}

// Fire returns the payload unchanged.
func (None) Fire(_ context.Context, _ Point, p Payload) (Payload, error) { return p, nil }
