package tool

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"

	"fika"
)

// Spec describes a tool to the model and to the turn.
type Spec struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of an object
	Checked     bool            // Parameters are known to be one, without white space: seen when they were kept or, for built-in tools, by a test
	Effect      fika.Effect
	Timeout     time.Duration // for one call; 0: the caller's default
	Always      bool          // offered whatever tool_permissions says (update_*, send_message, …)
	ByName      bool          // offered only if tool_permissions names it: it changes things, reaches out or looks far back
	Hidden      bool          // not offered; a call is answered with the reason why it cannot be made here
	Deferred    bool          // not offered until a search has found it; a call works all the same
	Extra       bool          // accepts arguments that Parameters do not list, as JSON Schema allows
	Parallel    bool          // may run in parallel with other such calls although it is not pure
}

// Tool does one thing for a model. It is safe for concurrent use.
type Tool interface {
	Spec() Spec
	// Call runs the tool. A failure inside the tool is a Result with IsError, which the
	// model reads; an error means that the call could not be carried through (kind
	// Interrupted when the context ended).
	Call(context.Context, Call) (Result, error)
}

// Starter is implemented by tools that take long to get ready. Start makes ready what a
// call needs, and has no other effect. It reports no error, because the call will.
type Starter interface {
	Start(context.Context, Call)
}

// StarterOf returns the [Starter] of a tool, looking through its decorators.
func StarterOf(t Tool) (Starter, bool) { return unwrappedAs[Starter](t) }

// Func is a tool made of a description and one function. The function gets the arguments
// of a call as an A, a struct with json tags: validated against the parameters and
// decoded over Defaults. Without Parameters the tool takes no arguments, and A is
// struct{}.
type Func[A any] struct {
	About    Spec
	Defaults A
	Do       func(ctx context.Context, c Call, args A) (Result, error)
}

// noArguments is the schema of a tool without arguments.
const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// Spec implements [Tool].
func (f Func[A]) Spec() Spec {
	if f.About.Parameters == nil {
		f.About.Parameters = json.RawMessage(noArguments)
	}
	return f.About
}

// Call implements [Tool].
func (f Func[A]) Call(ctx context.Context, c Call) (Result, error) {
	args := f.Defaults
	if err := Decode(f.Spec(), c, &args); err != nil {
		return Refusal(err), nil
	}
	return f.Do(ctx, c, args)
}

// Verifier is implemented by verifiable tools. Hash returns the state of what the call
// would change; it can be taken before the call and after it.
type Verifier interface {
	Hash(ctx context.Context, c Call) (string, error)
}

// Call is one invocation.
type Call struct {
	Step    string // request/n, unique; the value of FIKA_STEP
	CallID  string
	Name    string
	Args    json.RawMessage // an object; already known to be valid JSON
	Agent   fika.AgentName
	Context string // folder name of the agent's context
	Request fika.RequestID
	// Conversation is that of the request; empty if the call is no turn's.
	Conversation fika.ConversationID
	Chain        fika.RequestID
	Depth        int
	Workspace    string // root of file tools, absolute
	Username     string
	// Rights go with the requests that the call causes; nil: unbounded. Taint says what
	// text from outside the turn has read.
	Rights *fika.Rights
	Taint  string
	Mode   fika.Mode // that bounds the turn
	// Skills are those that the turn has loaded with [SkillName] before this call.
	Skills []string
	// Started is called with the process as soon as it runs; may be nil.
	Started func(fika.Process)
	// Progress is called with output as it comes; may be nil. It must not block.
	Progress func([]byte)
	// Stdin reads from the person's terminal; nil: there is none.
	Stdin io.Reader
	// Confine limits the processes of the call; nil: nothing limits them.
	Confine Confinement
}

// Result is the result of a call.
type Result struct {
	Text    string // for the model: valid UTF-8, within limits
	IsError bool
	File    string // the file it touched, for displays
	Denied  bool   // refused by permissions or a hook
	Spool   string // file with the whole output when Text is shortened
	// Unknown means that the call may or may not have taken effect.
	Unknown bool
	Offline bool   // it failed for want of the network, as far as its output shows
	Taint   string // the text from outside that it brings in, as in "fetch example.org"; empty: none
	// Attachments are pictures and documents that the model is shown besides Text, which
	// describes them. Their bytes are on disk.
	Attachments []fika.Attachment
	Tier        string // how its processes were confined; empty: there were none, or they were not confined
}

// MaxAttachments is the most pictures and documents that one result may have.
const MaxAttachments = 10

// Keeper keeps the pictures and documents of results. It is safe for concurrent use.
type Keeper interface {
	// Takes reports whether data that begins so, in at least 16 bytes, may be kept.
	Takes(begin []byte) bool
	// Put stores data, which is on disk when it returns. It fails with Invalid if the data
	// is not what its beginning promised, or is too large for a provider.
	Put(name string, data []byte) (fika.Attachment, error)
}

// WithLines returns the result with lines of fika's own after the output, where they are
// read last, and with IsError set. Without lines it returns r unchanged.
func (r Result) WithLines(lines []string) Result {
	if len(lines) == 0 {
		return r
	}
	if r.Text != "" && !strings.HasSuffix(r.Text, "\n") {
		r.Text += "\n"
	}
	r.Text += strings.Join(lines, "\n")
	r.IsError = true
	return r
}

// Errorf returns an error result with the given text, which is not a format.
func Errorf(text string) Result { return Result{Text: text, IsError: true} }
