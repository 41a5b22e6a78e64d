package plugin

import (
	"context"
	"io"
	"sync"

	"fika"
)

// person is the person at the terminal. Only one plugin at a time can ask; what is typed
// after a plugin has ended waits for the next.
type person struct {
	in   io.Reader
	turn chan struct{} // capacity 1: held by whoever may read the terminal

	mu      sync.Mutex // guards the fields below
	reading bool
	left    []byte
	err     error
	typed   chan struct{} // capacity 1: signals that input arrived
}

func newPerson(in io.Reader) *person {
	return &person{in: in, turn: make(chan struct{}, 1), typed: make(chan struct{}, 1)}
}

// lendTerminal blocks until nobody else is using the terminal, or ctx ends. The caller
// must give the loan back.
func (p *person) lendTerminal(ctx context.Context) (*loan, error) {
	select {
	case p.turn <- struct{}{}:
		return &loan{person: p, over: make(chan struct{})}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Listen lends the person's terminal to fika itself until the reader is closed; it
// returns nil if nobody is there. Input typed before is dropped: it was not meant for a
// question that had not been asked. Error kind: Interrupted when ctx ends first.
func (p *Plugins) Listen(ctx context.Context) (io.ReadCloser, error) {
	if p.person == nil {
		return nil, nil
	}
	loan, err := p.person.lendTerminal(ctx)
	if err != nil {
		return nil, fika.Wrap(fika.Interrupted, "ask at the terminal", err)
	}
	p.person.mu.Lock()
	p.person.left = nil
	p.person.mu.Unlock()
	return loan, nil
}

// Close ends the loan.
func (l *loan) Close() error {
	l.giveBack()
	return nil
}

// loan lends the terminal to one process: a reader that ends when the loan does, even
// while nothing is typed.
type loan struct {
	person *person
	over   chan struct{}
	once   sync.Once
}

func (l *loan) giveBack() {
	l.once.Do(func() {
		close(l.over)
		<-l.person.turn
	})
}

// Read returns what was typed, or io.EOF when the loan is over.
func (l *loan) Read(b []byte) (int, error) {
	p := l.person
	for {
		select {
		case <-l.over:
			return 0, io.EOF
		default:
		}
		if n, err, ok := p.takePiece(b); ok {
			return n, err
		}
		select {
		case <-l.over:
			return 0, io.EOF
		case <-p.typed:
		}
	}
}

// takePiece returns input that is already there, and starts reading if there is none.
func (p *person) takePiece(b []byte) (int, error, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.left) > 0 {
		n := copy(b, p.left)
		p.left = p.left[n:]
		return n, nil, true
	}
	if p.err != nil {
		return 0, p.err, true
	}
	if !p.reading {
		p.reading = true
		go p.readPiece()
	}
	return 0, nil, false
}

// readPiece reads one piece of input. Only the terminal can wake it: it ends with the
// input, or with the program.
func (p *person) readPiece() {
	buf := make([]byte, 4<<10)
	n, err := p.in.Read(buf)
	p.mu.Lock()
	p.left, p.err, p.reading = buf[:n], err, false
	p.mu.Unlock()
	select {
	case p.typed <- struct{}{}:
	default:
	}
}
