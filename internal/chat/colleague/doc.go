// Package colleague writes what an agent or a person is told about the agents of a
// home: who they are, what each is good at, and what state they are in.
//
// It decides nothing and looks nothing up: the members of a team are passed in as
// values, and the texts depend on those values alone, so that this block of a system
// prompt is the same, byte for byte, from turn to turn.
//
// Read first: [Colleague], [PromptParagraph] (for system prompts), [NotReady] (what
// changes from turn to turn), [KnownNames] (for the error about an unknown name).
package colleague
