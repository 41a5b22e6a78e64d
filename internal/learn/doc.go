// Package learn proposes what an agent's own notes or its prompt should say after
// what has happened to it: it writes down what has, asks a model, and reads the
// answer. A proposal changes nothing; whether it is taken is a person's to say.
//
// It reads no store and no files. Read first: [Case], [AskModel], [Proposal].
//
// How it fails: an answer of the model that is not of the form asked for is told to
// the model, twice; then the error has kind Provider. Text from outside, which
// [FirstTainted] finds, may not come near a prompt: who has some asks nobody.
package learn
