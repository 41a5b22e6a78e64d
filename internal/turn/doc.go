// Package turn works one request: model steps and tool steps until a final
// text, every step committed before and after it has an effect.
//
// It names no technology: the store, the model, the tools, the hooks and the
// system prompt come in as small contracts, so the same code runs in a
// one-shot prompt, in an agent process and in a test.
//
// Read first: [Engine.Run], [Config], [Event] and, unexported, attempt: the parts
// of a turn in the order in which they use each other. What all of them see is
// the assignment and its progress; the rest each has to itself. A turn owns no goroutine except
// while it runs parallel tool calls, which it joins before it goes on. It may
// be ended at any moment by killing the process; [Engine.Run] on the same
// request, claimed again, goes on from the last committed step.
//
// How it fails: an outcome that says so is still a nil error (the [Result]
// tells); an error means that the outcome could not be committed, and that the
// next owner will find the request as it was.
package turn
