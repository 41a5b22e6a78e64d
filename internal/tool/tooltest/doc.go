// Package tooltest is the suite that every implementation of tool.Tool must pass: wrong
// arguments give results and not errors, results are valid UTF-8 within limits, and the
// end of a context ends the call at once and leaves no process.
//
// It is for tests only. Read first: [Case], [Run], [NoProcess].
package tooltest
