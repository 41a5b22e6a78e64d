// Package mention finds who is addressed in a message: which agents, the person, or
// everybody.
//
// It decides what a mention is and nothing else: whether a mention notifies anybody,
// who joins, what @all expands to and whether agents may mention themselves is up to
// the caller.
//
// A mention is @name with no word character, '.', '/', '@' or '\' in front of the @,
// outside code, links, addresses and quotes as Markdown defines them. Case is
// ignored. An agent's name is ASCII, so every other character ends it; a person's
// name may have letters of any script. Of "@coder_x" the longest part that is a name
// counts, cut before '-' or '_'.
//
// Read first: [Parser], [Known], [Result]. A Parser holds no state between calls and
// is safe for concurrent use. No input is an error: text that is not Markdown is
// plain text.
package mention
