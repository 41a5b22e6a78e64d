package plugin

import (
	"context"
	"io"
	"sync"

	"fika"
)

// person is whoever sits at the terminal. Only one plugin at a time can ask;
// what is typed after a plugin has ended waits for the next.
type person struct {
	in   io.Reader
	turn chan struct{} // one place: who holds it has the person's ear

	mu      sync.Mutex // of what follows
	reading bool
	left    []byte
	err     error
	typed   chan struct{} // one place: something came
}

func newPerson(in io.Reader) *person {
	return &person{in: in, turn: make(chan struct{}, 1), typed: make(chan struct{}, 1)}
}

// lendTerminal waits until nobody else has the person's ear. Close what it gives.
func (p *person) lendTerminal(ctx context.Context) (*loan, error) {
	select {
	case p.turn <- struct{}{}:
		return &loan{person: p, over: make(chan struct{})}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Listen lends the person's terminal to fika itself until the reader is closed;
// nil when nobody is there. What was typed before is dropped: it was not meant
// for a question that was not asked yet. Interrupted when ctx ends first.
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

// loan is the person's ear for one process: a reader that ends when the loan
// does, even while nothing is typed.
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

// Read gives what was typed; io.EOF when the loan is over.
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

// takePiece gives what is there already, and begins to read when nothing is.
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

// readPiece takes one piece of what is typed. Nothing can wake it but the terminal:
// it ends with the input, or with the program.
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
