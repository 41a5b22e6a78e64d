package workflow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"fika"
	"fika/internal/settings/toml"
)

// The most that a definition may ask for. The numbers bound a run's cost and the
// damage of a mistake.
const (
	MaxSteps    = 200       // of one definition
	MaxItems    = 10_000    // of one for_each
	MaxParallel = 100       // items worked at once
	MaxRounds   = 100       // of one repeat
	MaxAttempts = 10        // of one step, retries included
	MaxNesting  = 8         // workflows inside workflows
	MaxPrompt   = 256 << 10 // bytes of one prompt as sent
	MaxText     = 32 << 10  // bytes of a text output that go into a prompt whole
	MaxJSON     = 256 << 10 // bytes of a JSON output
	MaxList     = 8 << 20   // bytes of all outputs of one for_each that are read at once
)

// Definition is a workflow as written in a file, or built from an address. Obtain one
// with [Load], [Address.Definition] or [Thaw]; it has been checked then and does not
// change afterwards. A run keeps its JSON.
type Definition struct {
	Name        string                 `json:"name,omitempty"` // empty: built from an address
	File        string                 `json:"file,omitempty"`
	Source      string                 `json:"source,omitempty"` // the text of the file, for comparisons
	Description string                 `json:"description,omitempty"`
	Contexts    []fika.AgentName       `json:"contexts,omitempty"` // where agents meet: a run creates those that are missing
	Inputs      []Input                `json:"inputs,omitempty"`
	Limits      Limits                 `json:"limits,omitzero"`
	Steps       []Step                 `json:"steps"`
	Result      []string               `json:"result,omitempty"` // ids of the steps whose outputs are the run's
	Nested      map[string]*Definition `json:"nested,omitempty"` // by name, on the outermost only

	src *toml.Source // nil if it does not come from a file
	at  map[string]int
}

// The types of inputs.
const (
	TypeText    = "text"
	TypeNumber  = "number"
	TypeBoolean = "boolean"
	TypeList    = "list"
	TypeAgent   = "agent" // the name of an agent, checked when a run starts
)

// Input is a value that a run is given when it starts.
type Input struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Type        string `json:"type"`
	Default     any    `json:"default,omitempty"` // nil: it must be given
	// Fallback are agents of which the first that exists takes the place of a Default that
	// does not.
	Fallback []string `json:"fallback,omitempty"`

	at int
}

// Limits bounds what a whole run may use; a zero field sets no limit.
type Limits struct {
	Cost   float64       `json:"max_cost,omitempty"` // US dollars
	Tokens int64         `json:"max_tokens,omitempty"`
	Turns  int           `json:"max_turns,omitempty"` // requests of all its steps
	Time   time.Duration `json:"max_time,omitempty"`
}

// Spent is what a run has used so far.
type Spent struct {
	Cost   float64 // US dollars
	Tokens int64
	Turns  int
	Time   time.Duration // since it began
}

// The names of the limits.
const (
	LimitCost   = "max_cost"
	LimitTokens = "max_tokens"
	LimitTurns  = "max_turns"
	LimitTime   = "max_time"
)

// Reached returns the name of the first limit that a run has reached, and its value as
// people read it; the name is empty if it has reached none.
func (l Limits) Reached(s Spent) (name, value string) {
	switch {
	case l.Cost > 0 && s.Cost >= l.Cost:
		return LimitCost, fmt.Sprintf("%.2f", l.Cost)
	case l.Tokens > 0 && s.Tokens >= l.Tokens:
		return LimitTokens, strconv.FormatInt(l.Tokens, 10)
	case l.Turns > 0 && s.Turns >= l.Turns:
		return LimitTurns, strconv.Itoa(l.Turns)
	case l.Time > 0 && s.Time >= l.Time:
		return LimitTime, l.Time.String()
	}
	return "", ""
}

// The ways in which a step waits for the steps that it needs.
const (
	JoinAll   = "all"   // all are done; one that failed blocks it
	JoinAny   = "any"   // the first is done; the others are cancelled
	JoinEnded = "ended" // all have ended, and there is something done among several
)

// The kinds of outputs.
const (
	OutputText = "text"
	OutputJSON = "json"
)

// AnswerText means that a person answers with a text of their own.
const AnswerText = "text"

// Step is one step of a definition: an agent that is asked, a question to a person, a
// discussion, a message in a chat, or another workflow.
type Step struct {
	ID          string            `json:"id"`
	Agent       string            `json:"agent,omitempty"` // a name, or a template that makes one
	Capability  string            `json:"capability,omitempty"`
	Prompt      string            `json:"prompt,omitempty"`
	Needs       []string          `json:"needs,omitempty"`
	When        string            `json:"when,omitempty"`
	ForEach     string            `json:"for_each,omitempty"`
	MaxParallel int               `json:"max_parallel,omitempty"`
	Join        string            `json:"join,omitempty"`
	Repeat      *Repeat           `json:"repeat,omitempty"`
	Retry       Retry             `json:"retry,omitzero"`
	Timeout     time.Duration     `json:"timeout,omitempty"`
	Output      string            `json:"output,omitempty"`
	Schema      json.RawMessage   `json:"schema,omitempty"`
	Approve     bool              `json:"approve,omitempty"`
	Choice      []string          `json:"choice,omitempty"` // what a person may answer
	Answer      string            `json:"answer,omitempty"` // what else a person answers with: AnswerText
	Workflow    string            `json:"workflow,omitempty"`
	Inputs      map[string]string `json:"inputs,omitempty"` // of the nested workflow: templates
	Chat        *Chat             `json:"chat,omitempty"`
	Post        string            `json:"post,omitempty"` // the chat in which the prompt is posted: a name, or a template

	values map[string]toml.Value // by key, as written
	keys   map[string]int        // where each key is written
	at     int
	code   stepCode
}

// stepCode holds a step's compiled texts.
type stepCode struct {
	who     []*template // the names of [Step.agents]
	prompt  *template
	topic   *template
	post    *template
	inputs  map[string]*template
	when    *condition
	forEach *condition
	until   *condition
	over    *condition // of a chat
}

// Repeat repeats a step until a condition holds. The step fails if it has been done
// Max times and the condition still does not hold.
type Repeat struct {
	Until string `json:"until"`
	Max   int    `json:"max"`
}

// Retry repeats a failed step up to Max times. Backoff is the first pause; each
// further one is twice as long, up to an hour.
type Retry struct {
	Max     int           `json:"max,omitempty"`
	Backoff time.Duration `json:"backoff,omitempty"`
}

// Chat is a discussion as a step. It is over when Until holds, when nobody has
// anything left to answer, or after Max messages.
type Chat struct {
	Agents []string `json:"agents"`
	Topic  string   `json:"topic"`
	Until  string   `json:"until,omitempty"`
	Max    int      `json:"max"`
}

// The kinds of steps that [Step.Kind] returns.
const (
	KindAgent    = "agent"
	KindApproval = "approval"
	KindChat     = "chat"
	KindPost     = "post"
	KindWorkflow = "workflow"
)

// Kind returns what a step does when its turn has come.
func (s *Step) Kind() string {
	switch {
	case s.Workflow != "":
		return KindWorkflow
	case s.Chat != nil:
		return KindChat
	case s.Post != "":
		return KindPost
	case s.Agent != "" || s.Capability != "":
		return KindAgent
	}
	return KindApproval
}

// agents returns the names of the agents that work a step, as they are written.
func (s *Step) agents() []string {
	switch {
	case s.Chat != nil:
		return s.Chat.Agents
	case s.Agent != "":
		return []string{s.Agent}
	}
	return nil
}

// Step returns the step with an id, or nil if there is none.
func (d *Definition) Step(id string) *Step {
	for i := range d.Steps {
		if d.Steps[i].ID == id {
			return &d.Steps[i]
		}
	}
	return nil
}

// results returns the ids of the steps whose outputs are those of the workflow: those
// that it names, or all that no other step needs.
func (d *Definition) results() []string {
	if len(d.Result) > 0 {
		return d.Result
	}
	needed := map[string]bool{}
	for i := range d.Steps {
		for _, n := range d.Steps[i].Needs {
			needed[n] = true
		}
	}
	var out []string
	for i := range d.Steps {
		if id := d.Steps[i].ID; !needed[id] {
			out = append(out, id)
		}
	}
	return out
}

// input returns the input with a name, or nil if there is none.
func (d *Definition) input(name string) *Input {
	for i := range d.Inputs {
		if d.Inputs[i].Name == name {
			return &d.Inputs[i]
		}
	}
	return nil
}

func (d *Definition) inputNames() []string {
	names := make([]string, 0, len(d.Inputs))
	for i := range d.Inputs {
		names = append(names, d.Inputs[i].Name)
	}
	return names
}

func (d *Definition) stepIDs() []string {
	ids := make([]string, 0, len(d.Steps))
	for i := range d.Steps {
		ids = append(ids, d.Steps[i].ID)
	}
	return ids
}

// ancestors returns the ids of the steps that have ended whenever the step with the
// given id runs.
func (d *Definition) ancestors(id string) map[string]bool {
	seen := map[string]bool{}
	var walk func(string)
	walk = func(id string) {
		s := d.Step(id)
		if s == nil {
			return
		}
		for _, n := range s.Needs {
			if !seen[n] {
				seen[n] = true
				walk(n)
			}
		}
	}
	walk(id)
	return seen
}

// MeetingContexts returns the contexts of a workflow and of those nested in it.
func (d *Definition) MeetingContexts() []fika.AgentName {
	all := slices.Clone(d.Contexts)
	for _, n := range d.Nested {
		all = append(all, n.Contexts...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
