package asuser

import (
	"context"
	"errors"
	"io"
	"slices"

	"fika"
	"fika/internal/system/process"
	"fika/internal/tool"
	"fika/internal/tool/file"
)

// pieceSize is how much of an old content is in one message, in bytes.
const pieceSize = 256 << 10

// command returns the arguments with which this program becomes the process of a call.
func command() []string { return []string{"executor", "--file-tool"} }

// Serves reports whether the arguments of this program, without its name, ask for [Serve].
func Serves(args []string) bool { return slices.Equal(args, command()) }

// Serve does the one call that it reads, and returns the exit status of the process.
func Serve(in io.Reader, out io.Writer) int {
	_ = process.MakePrivate() // what runs as the same user must not take it over
	s := &served{newTalk(in, out)}
	var r request
	if err := s.in.Decode(&r); err != nil {
		return 2
	}
	if s.out.Encode(message{Done: s.do(context.Background(), r)}) != nil {
		return 1
	}
	return 0
}

// served is the process of one call, which does one thing at a time.
type served struct{ talk }

func (s *served) do(ctx context.Context, r request) *outcome {
	o := r.Options
	if o.Homes == nil {
		o.Homes = []file.FileID{} // gob does not tell an empty list from none
	}
	if r.Pictures {
		o.Pictures = pictures{s}
	}
	if r.Keep {
		o.Keep = s.keep
	}
	c := tool.Call{
		Step: r.Step, CallID: r.CallID, Name: r.Tool, Args: r.Args, Agent: r.Agent, Context: r.Context, Request: r.Request, Workspace: r.Workspace,
	}
	for _, t := range file.Tools(o) {
		if t.Spec().Name != r.Tool {
			continue
		}
		if v, ok := tool.VerifierOf(t); ok && r.Hash {
			hash, err := v.Hash(ctx, c)
			return &outcome{Hash: hash, Fault: faultOf(err)}
		}
		result, err := t.Call(ctx, c)
		return &outcome{Result: result, Fault: faultOf(err)}
	}
	return &outcome{Fault: faultOf(fika.Errorf(fika.Invalid, "", "%s is not a file tool", r.Tool))}
}

// ask sends a message and returns the answer, which may be an error.
func (s *served) ask(m message) (answer, error) {
	var a answer
	if err := errors.Join(s.out.Encode(m), s.in.Decode(&a)); err != nil {
		return a, err
	}
	return a, a.Fault.err()
}

// keep asks whether a change may be made, and sends what it replaces if that is wanted.
func (s *served) keep(_ tool.Call, x file.Change) error {
	a, err := s.ask(message{Change: &change{x.Path, x.Old != nil, x.Size, x.Mode, x.New, x.Made}})
	for err == nil && a.More {
		p := piece{Data: make([]byte, pieceSize)}
		n, failed := io.ReadFull(x.Old, p.Data)
		p.Data = p.Data[:n]
		switch {
		case errors.Is(failed, io.EOF), errors.Is(failed, io.ErrUnexpectedEOF):
			p.End = true
		case failed != nil:
			return failed
		}
		a, err = s.ask(message{Old: &p})
	}
	return err
}

// pictures is a [tool.Keeper] in the process that has started this one.
type pictures struct{ *served }

// Takes implements [tool.Keeper].
func (p pictures) Takes(begin []byte) bool {
	const enough = 512 // bytes
	a, err := p.ask(message{Begin: begin[:min(len(begin), enough)]})
	return err == nil && a.Yes
}

// Put implements [tool.Keeper].
func (p pictures) Put(name string, data []byte) (fika.Attachment, error) {
	a, err := p.ask(message{Picture: &picture{name, data}})
	return a.Kept, err
}
