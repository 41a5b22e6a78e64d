package fika

import (
	"encoding/json"
	"time"
)

// StepKind says what a step does.
type StepKind string

// The kinds of step.
const (
	ModelStep      StepKind = "model"
	ToolStep       StepKind = "tool"
	CompactionStep StepKind = "compaction"
	FailedStep     StepKind = "failed" // a model call that came to nothing; Choice says why
)

// StepState is the state of a step.
type StepState string

// The step states.
const (
	StepPlanned     StepState = "planned"
	StepStarted     StepState = "started"
	StepDone        StepState = "done"
	StepInterrupted StepState = "interrupted"
)

// Effect says what running a tool twice would do. An undeclared effect counts as
// Unsafe.
type Effect string

// The effects.
const (
	Pure       Effect = "pure"       // reads only: may be repeated and run in parallel
	Idempotent Effect = "idempotent" // may be repeated
	Verifiable Effect = "verifiable" // hashes taken before and after show whether it happened
	Unsafe     Effect = "unsafe"     // never repeated by fika itself
)

// Process identifies an operating-system process, so that a reused pid can be told
// apart.
type Process struct {
	PID    int
	Start  int64  // start time in clock ticks since boot (/proc/PID/stat field 22), 0 if unknown
	BootID string // of the machine's current boot
}

// Step is one durable piece of a turn. N counts from 1 within its request;
// Round counts model calls from 1.
type Step struct {
	Request    RequestID
	N          int
	Round      int
	Kind       StepKind
	CallID     string // the provider's id of a tool call
	Tool       string
	ArgsHash   string
	Effect     Effect
	Model      string // of a model step: the model called, as usage reports name it
	Choice     string // of a model step: why this one of several models; empty for the first
	State      StepState
	Entry      EntryID         // the entry it produced: message, or tool_result
	CallEntry  EntryID         // of a tool step: its tool_call entry
	Blob       json.RawMessage // the provider's raw message of a model step
	PreHash    string
	PostHash   string
	Proc       Process
	StartedAt  time.Time
	FinishedAt time.Time
}
