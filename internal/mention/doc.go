// Package mention finds who is addressed in a message: which agents, the
// person, or everybody.
//
// It decides what a mention is and nothing else: whether a mention notifies
// anybody, who joins, what @all expands to and whether somebody may mention
// himself are the caller's affair.
//
// A mention is @name where no word character, '.', '/', '@' or '\' stands in
// front of the @, outside code, links, addresses and quotes as Markdown has
// them. Case is ignored. Names are ASCII, so every other character ends them;
// of "@coder_x" the longest part that is a name counts, cut before '-' or '_'.
//
// Read first: [Parser], [Known], [Result]. A Parser holds no state between
// calls and may be used from many goroutines. No input is an error: text that
// is no Markdown is text.
package mention
