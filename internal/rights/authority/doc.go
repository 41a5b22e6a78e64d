// Package authority decides what a principal may do: which of the verbs of package api,
// to an object that is its own, that it may see, or that it may not see. The decision is
// pure. What a principal may see, and whom an agent lets call it, is for others to say.
//
// Read first: [Check], [Relation]. docs/reference/authority.md is the whole table.
package authority
