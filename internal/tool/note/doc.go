// Package note holds the tools with which a model keeps the notes of its own context:
// todos, goals and reflection. Each call replaces a whole text.
//
// It does not know where notes are kept (see [Store]) and puts nothing into prompts; the
// builder of the prompt tells the [Versions] what the model was shown.
//
// Read first: [Versions], [Tools], [Store]. Nothing a person wrote is overwritten
// unread: if a note is no longer what the model last saw, it is not replaced; the model
// is shown its current text and asked again. A Versions is safe for concurrent use; it
// owns no goroutine.
package note
