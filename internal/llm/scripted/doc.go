// Package scripted is a language model that answers from a rules file, so that
// everything runs offline: in tests, in the demo, and on a machine without any
// provider. It is clearly labelled as such and is no model.
//
// # Rules
//
// A rules file is TOML. The first rule whose conditions all hold answers:
//
//	[[rule]]
//	match = '(?i)^hello,? i am (?P<who>\w+)'
//	reply = "Hello {{.Group.who}}! @gendry, say hello too."
//
//	[[rule]]
//	agent = "gendry"
//	match = "list the files"
//	tool_calls = [{name = "list", args = {path = "."}}]
//
//	[[rule]]
//	agent      = "gendry"
//	after_tool = "list"
//	reply      = "I see:\n{{.Result}}"
//
//	[[rule]]
//	match = "are you there"
//	nth   = 1
//	error = {status = 429, message = "too many requests", retry_after = "2s"}
//
// Conditions (all optional):
//
//	agent       the agent's name; * and ? stand for any characters
//	from        regexp on who speaks in the last user message ("[name] text"); "" for the user
//	match       regexp on the last user message, without its speaker
//	after_tool  regexp on the name of a tool that has just answered
//	result      regexp on that tool's result
//	round       which model call of the turn this is, from 1
//	nth         how many messages (or, with after_tool, tool results) of this
//	            conversation have met from and match (after_tool and result), this one included
//
// A rule with neither after_tool nor round answers the first call of a turn
// only: what a tool says is never mistaken for what the user said.
//
// What is answered:
//
//	reply       the text, a Go text/template
//	reasoning   the same, streamed before as reasoning
//	tool_calls  [{name, args}]: strings within args are templates too
//	refusal     the words of a refusal
//	truncated   true: as if cut off at the output limit
//	stop        why the answer ends: max_tokens, context_window, refusal, content_filter,
//	            pause, malformed_call, too_many_calls, unknown
//	error       {status, message, retry_after}: after reply, if there is one; status 0: no answer
//	stall       true: after all that, nothing more until the call is cancelled
//	delay       before anything, e.g. "200ms"
//	chunk       characters per piece (default: one word)
//	chunk_delay between pieces
//	usage       {input, output, cached, reasoning, cost}; estimated if missing
//	name        shown in errors
//
// delay, chunk, chunk_delay and fallback (the text when no rule matches) may
// also stand at the top of the file, for all rules.
//
// Templates know .Agent .From .Last (the user's text) .Tool .Result .N (for
// nth) .Round .Messages (how many) .Match (all groups, 0 is the whole) and
// .Group (named groups); functions upper, lower, trim, json, first (first N
// characters: {{first 40 .Result}}), lines, add.
//
// Nothing is remembered between calls: an answer follows from the request
// alone, so a repeated call gets the same answer.
//
// Read first: [New], [Options], [Parse]. Mistakes in a rules file are errors of
// kind Invalid that begin with file:line:column. A Model owns no goroutine and
// may be used by many at once.
package scripted
