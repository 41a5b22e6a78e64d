// Package executor is the command fika executor. Read first: [New].
package executor
