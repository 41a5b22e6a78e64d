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
	Checked     bool            // that it is one, without white space, was seen: when it was kept, or by a test for the program's own
	Effect      fika.Effect
	Timeout     time.Duration // of one call; 0: the caller's default
	Always      bool          // offered whatever tool_permissions says (update_*, send_message, …)
	ByName      bool          // offered only where tool_permissions names it: it changes things, reaches out or looks far back
	Hidden      bool          // not offered; a call is answered with why it cannot be made here
	Extra       bool          // takes arguments that its parameters do not list, as JSON Schema allows
	Parallel    bool          // may run beside other such calls although it is not pure
}

// Tool does one thing for a model. Call may be called from many goroutines.
type Tool interface {
	Spec() Spec
	// Call runs the tool. What goes wrong inside the tool is a Result with
	// IsError (the model reads it); an error means that the call could not be
	// carried through (context ended: kind Interrupted).
	Call(context.Context, Call) (Result, error)
}

// Func is a tool made of what it is and one function, which is given the
// arguments of a call as an A with json tags: checked against the parameters, and
// read over the defaults. Without Parameters it takes none, and A is struct{}.
type Func[A any] struct {
	About    Spec
	Defaults A
	Do       func(ctx context.Context, c Call, args A) (Result, error)
}

// noArguments is the schema of a tool that takes none.
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

// Verifier is implemented by verifiable tools: Hash tells the state of what
// the call would change, before and after alike.
type Verifier interface {
	Hash(ctx context.Context, c Call) (string, error)
}

// Call is one invocation.
type Call struct {
	Step      string // request/n, unique; goes into FIKA_STEP
	CallID    string
	Name      string
	Args      json.RawMessage // an object; already checked to be JSON
	Agent     fika.AgentName
	Context   string // folder name of the agent's context
	Request   fika.RequestID
	Chain     fika.RequestID
	Depth     int
	Workspace string // root of file tools, absolute
	Username  string
	// Rights are those that go with what the call causes others to do; nil: there
	// is no bound. Taint says what text from outside the turn has read.
	Rights *fika.Rights
	Taint  string
	// Started is told the process as soon as it runs; may be nil.
	Started func(fika.Process)
	// Progress is told output as it comes; may be nil. It must not block.
	Progress func([]byte)
	// Stdin is what the person's terminal gives, or nil for none.
	Stdin io.Reader
	// Confine limits the processes of the call; nil: nothing does.
	Confine Confinement
}

// Result is what a call gave.
type Result struct {
	Text    string // for the model: valid UTF-8, within limits
	IsError bool
	File    string // what it touched, for displays
	Denied  bool   // refused by permissions or a hook
	Spool   string // file that holds the whole output when Text is shortened
	// Unknown: it may or may not have happened.
	Unknown bool
	Offline bool   // it failed for want of the network, as far as its words show it
	Taint   string // what text from outside it brings, as in "fetch example.org"; empty: none
	Tier    string // how its processes were confined; empty: there were none, or nothing confined them
}

// WithLines adds lines of fika's own after the output, where they are read last, and
// makes the result an error; no lines leave it as it is.
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

// Errorf makes an error result.
func Errorf(text string) Result { return Result{Text: text, IsError: true} }
