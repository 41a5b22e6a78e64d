// Package colleague words what an agent or a person is told about the agents of
// a home: who there is, what each is good at, and how they are now.
//
// It decides nothing and looks nowhere: who belongs to a team comes in as
// values, and out come texts that depend on those values alone, so that the
// block of a system prompt is the same, byte for byte, from turn to turn.
//
// Read first: [Colleague], [PromptParagraph] (for system prompts), [NotReady] (what
// changes from turn to turn), [KnownNames] (for the error about an unknown name).
package colleague
