// Package turn works one request: model steps and tool steps until a final
// text, every step committed before and after it has an effect.
//
// It names no technology: the store, the model, the tools, the hooks and the
// system prompt come in as small contracts, so the same code runs in a
// one-shot prompt, in an agent process and in a test.
//
// Read first: [Engine.Run], [Config], [Event] and, unexported, attempt, which lists the
// parts of a turn in the order in which they use each other. All parts share the
// assignment and its progress; everything else belongs to one part. A turn owns no
// goroutine except while it runs parallel tool calls, which it joins before it goes on.
// Killing the process may end a turn at any moment; [Engine.Run], called again for the
// same request after a new claim, goes on from the last committed step.
//
// How it fails: a turn that ends in a failed outcome returns a nil error, and the
// [Result] says so; an error means that the outcome could not be committed, and that the
// next owner will find the request as it was.
package turn
