// Package web is the fetch tool: one GET of a public page, as text.
//
// It is not a browser and not a way into the machine or its network: a name is resolved
// first, every address that is not public is refused, and the connection goes to the
// very address that was checked; each redirect is checked again. It uses no proxy,
// cookies or credentials.
//
// Read first: [New], [Options]. A [Tool] keeps no connection open and owns
// no goroutine between calls. A refusal by the server or the network is a result with
// IsError.
package web
