// Package learn proposes what an agent's own notes or its prompt should say after what
// has happened to it: it describes the events, asks a model, and reads the answer. A
// proposal changes nothing; a person decides whether it is taken.
//
// It reads no store and no files. Read first: [Case], [AskModel], [Proposal].
//
// How it fails: a model that answers in the wrong form is told so, twice; then the
// error has kind Provider. Text from outside must not come near a prompt: a caller
// that finds some with [FirstTainted] asks no model.
package learn
