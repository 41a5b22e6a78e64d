// Package web is the listener for browsers and programs on this machine, and the page: it
// shows a person what needs them, what everybody does and what it cost, and takes their
// answers. It is a door: it translates between HTTP and package api, decides nothing about
// who may do what, and keeps no state but open streams.
//
// Every request passes the same gates, in this order: it was sent to a name that belongs
// to this listener (so no other site's page reaches it under a name of its own), it does
// not come from a page of another origin, and it carries the cookie of a session. The host
// name is secret, because browsers send a cookie to every port of its host. The page is
// HTML from templates with one stylesheet and one script of its own; its policy lets it
// load nothing else.
//
// A view is a template. While it is shown, the server sends the parts of it that have
// changed ([live.go]); the script puts them in place without disturbing what a person has
// selected or typed.
//
// Read first: [Start], site.handler, live.
package web
