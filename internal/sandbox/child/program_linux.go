package child

import (
	"encoding/binary"
	"fmt"
)

// Exit statuses of a process that has not become the command.
const (
	NotConfined = 126
	NotStarted  = 127
)

// Program is a list of system calls in the order in which they are made. The zero value
// is empty. A Program is not safe for concurrent use.
type Program struct {
	data  []byte // data that arguments point to, at dataStart
	calls []call
	exec  int // call that executes the command, counted from 1; 0: none yet
}

// Word is an argument of a call.
type Word struct {
	value uint64
	from  int // call whose result this is, counted from 1; 0: it is value
}

// call is one system call. The instructions depend on its layout in the image: see
// [Program.Image].
type call struct {
	number    uint64
	args      []Word
	failure   string // written to stderr when it fails; empty if it may fail
	status    uint64 // exit status then
	forks     bool   // a result above 0 is a child's id: wait for the child and end as it does
	resultFor []int  // places that need the result: 6*call+argument
}

// Number returns an argument that is a number.
func Number[N ~int | ~int32 | ~uint32 | ~uint64 | ~uintptr](n N) Word {
	return Word{value: uint64(n)}
}

// Bytes returns an argument that points to a copy of b, which the calls may change.
func (p *Program) Bytes(b []byte) Word {
	for len(p.data)%8 != 0 {
		p.data = append(p.data, 0)
	}
	at := dataStart + uint64(len(p.data))
	p.data = append(p.data, b...)
	return Word{value: at}
}

// Text returns an argument that points to a zero-terminated string.
func (p *Program) Text(s string) Word { return p.Bytes(append([]byte(s), 0)) }

// Words returns an argument that points to an array of numbers and addresses. None of
// them may be the result of a call.
func (p *Program) Words(words ...Word) Word {
	var b []byte
	for _, w := range words {
		b = binary.NativeEndian.AppendUint64(b, w.value)
	}
	return p.Bytes(b)
}

// Call adds a call that must succeed, and returns its result for later calls; step says
// what it is for. A result can be used at most twice.
func (p *Program) Call(step string, number uintptr, args ...Word) Word {
	return p.add(call{number: uint64(number), args: args, failure: "the command was not started, because it could not be confined: " + step, status: NotConfined})
}

// Try adds a call that may fail.
func (p *Program) Try(number uintptr, args ...Word) {
	p.add(call{number: uint64(number), args: args})
}

// Fork adds a call that makes a child, as clone does. The child continues with the next
// call; the process itself waits for it, reaps any other child it gets, and ends with its
// status, or with 128 plus the number of the signal that ended it.
func (p *Program) Fork(step string, number uintptr, args ...Word) {
	p.Call(step, number, args...)
	p.calls[len(p.calls)-1].forks = true
}

// Exec adds the execution of the command with the environment of the process. It must be
// the last call.
func (p *Program) Exec(path string, args []string) {
	argv := make([]Word, 0, len(args)+1)
	for _, a := range args {
		argv = append(argv, p.Text(a))
	}
	p.add(call{number: execNumber, args: []Word{p.Text(path), p.Words(append(argv, Word{})...)}, failure: path + " cannot be started", status: NotStarted})
	p.exec = len(p.calls)
}

func (p *Program) add(c call) Word {
	for i, w := range c.args {
		if w.from > 0 {
			c.args[i].value = ^uint64(0) // an invalid descriptor, if that call has failed
			source := &p.calls[w.from-1]
			source.resultFor = append(source.resultFor, argsPerCall*len(p.calls)+i)
		}
	}
	p.calls = append(p.calls, c)
	return Word{from: len(p.calls)}
}

// failureText returns what is written when a call fails. The error number goes into the
// last characters before the line ends.
func failureText(what string) string { return fmt.Sprintf("fika: %s: error     \n", what) }
