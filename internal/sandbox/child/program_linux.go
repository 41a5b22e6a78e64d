package child

import (
	"encoding/binary"
	"fmt"
)

// Statuses of a process that has not become the command.
const (
	NotConfined = 126
	NotStarted  = 127
)

// Program is a list of system calls in the order in which they are made. The
// zero value is an empty one; a Program belongs to one goroutine.
type Program struct {
	data  []byte // what arguments point to, at dataStart
	calls []call
	exec  int // the call that executes the command, counted from 1; 0: none yet
}

// Word is an argument of a call.
type Word struct {
	value uint64
	from  int // the call whose result it is, counted from 1; 0: it is value
}

// call is one system call. The instructions know its layout in the image: see
// [Program.Image].
type call struct {
	number    uint64
	args      []Word
	failure   string // said on stderr when it fails; empty: it may fail
	status    uint64 // of the process then
	forks     bool   // a result above 0 is a child's id: wait for it, end as it does
	resultFor []int  // places that need the result: 6*call+argument
}

// Number is an argument that is a number.
func Number[N ~int | ~int32 | ~uint32 | ~uint64 | ~uintptr](n N) Word {
	return Word{value: uint64(n)}
}

// Bytes is an argument that points to a copy of some bytes, which the calls may
// change.
func (p *Program) Bytes(b []byte) Word {
	for len(p.data)%8 != 0 {
		p.data = append(p.data, 0)
	}
	at := dataStart + uint64(len(p.data))
	p.data = append(p.data, b...)
	return Word{value: at}
}

// Text is an argument that points to a text with a zero behind it.
func (p *Program) Text(s string) Word { return p.Bytes(append([]byte(s), 0)) }

// Words is an argument that points to an array of numbers and addresses. None of
// them can be a result.
func (p *Program) Words(words ...Word) Word {
	var b []byte
	for _, w := range words {
		b = binary.NativeEndian.AppendUint64(b, w.value)
	}
	return p.Bytes(b)
}

// Call adds a call that has to succeed, and gives its result for later ones; step
// says what it is for. A result can be used twice.
func (p *Program) Call(step string, number uintptr, args ...Word) Word {
	return p.add(call{number: uint64(number), args: args, failure: "the command was not started, because it could not be confined: " + step, status: NotConfined})
}

// Try adds a call that may fail.
func (p *Program) Try(number uintptr, args ...Word) {
	p.add(call{number: uint64(number), args: args})
}

// Fork adds a call that makes a child, as clone does. The child goes on with the
// next call; the process itself waits for it, reaps whatever else comes to it,
// and ends with its status, or with 128 and the number of the signal that ended it.
func (p *Program) Fork(step string, number uintptr, args ...Word) {
	p.Call(step, number, args...)
	p.calls[len(p.calls)-1].forks = true
}

// Exec adds the execution of the command with the environment of the process. It
// has to be the last call.
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
			c.args[i].value = ^uint64(0) // no descriptor, if that call has failed
			source := &p.calls[w.from-1]
			source.resultFor = append(source.resultFor, argsPerCall*len(p.calls)+i)
		}
	}
	p.calls = append(p.calls, c)
	return Word{from: len(p.calls)}
}

// failureText is what is written when a call fails. The number of the error goes
// into its last places before the line ends.
func failureText(what string) string { return fmt.Sprintf("fika: %s: error     \n", what) }
