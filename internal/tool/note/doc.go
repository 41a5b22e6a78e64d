// Package note holds the tools with which a model keeps its notes: todos, goals
// and reflection of its own context. Each call replaces a whole text.
//
// It does not know where notes are kept (see [Store]) and puts nothing into
// prompts; who builds the prompt tells the [Versions] what the model was shown.
//
// Read first: [Versions], [Tools], [Store]. Nothing a person wrote is overwritten
// unread: a text that is not what the model last saw is not written, the model
// is shown what it says now and asked again. A Versions may be used from many
// goroutines; it owns none.
package note
