// Package join makes a home one of several that share a database and a bus: it tries both
// servers, says all that is missing at once, and only then writes their addresses into the
// settings. It does not start a hub.
//
// Read first: [Join], [Invitation].
package join
