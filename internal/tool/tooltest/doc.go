// Package tooltest is the suite that every implementation of tool.Tool must
// pass: arguments that are wrong are results and not errors, results are valid
// UTF-8 within limits, and a context that ends ends the call at once and
// leaves no process.
//
// It is for tests only. Read first: [Case], [Run], [NoProcess].
package tooltest
