// Package prompt builds the system prompt, in one fixed and documented order.
//
// Read first: [Parts], [Assemble], [Section], [Assembler]. It decides wording and order and reads
// nothing itself: texts come from a [Source], injected text comes from the hook runner.
//
// The order of the system text: hook injections before, base (or the context's own
// prompt), who the agent is and who speaks; then what may change while a conversation
// goes on: who takes part in the chat, colleagues, skills, AGENTS.md of a trusted workspace, where
// the agent works and on which day. Then,
// apart from it because it changes while the agent works: goals, todos, which colleagues
// are not ready, reflection, hook injections after. A summary begins the conversation.
// Empty sections leave no trace.
package prompt
