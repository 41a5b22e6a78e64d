// Package api is what every door asks of fika: who asks ([Principal]), what may be asked
// ([Verbs]), what has happened ([Event]), how something stands ([Status]) and why a call
// failed ([Error]). It holds nouns and codes alone, imports the standard library only,
// and neither reads nor decides anything: package service does.
//
// No text of this package is for a person. A door makes words, commands and buttons of
// the codes.
//
// Read first: [Principal], [Verb], [Event], [Status].
package api
