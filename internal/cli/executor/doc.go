// Package executor is the command fika executor.
package executor
