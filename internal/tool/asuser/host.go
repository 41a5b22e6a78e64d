package asuser

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"fika"
	"fika/internal/system/process"
	"fika/internal/tool"
	"fika/internal/tool/file"
	"fika/internal/tool/proc"
)

// maxComplaint bounds what is kept of the stderr of a call's process, in bytes.
const maxComplaint = 2 << 10

// Host starts the processes of calls. It is safe for concurrent use.
type Host struct {
	User     *process.User
	Children *process.Children // among which they are started; may be nil
}

// Tools returns the file tools with the options given, whose functions are called in this
// process.
func (h Host) Tools(o file.Options) []tool.Tool {
	var list []tool.Tool
	for _, t := range file.Tools(o) {
		r := remote{t, h, o}
		if _, ok := tool.VerifierOf(t); ok {
			list = append(list, verifiable{r})
			continue
		}
		list = append(list, r)
	}
	return list
}

// remote is a tool whose calls are made in a process of their own.
type remote struct {
	tool tool.Tool
	host Host
	opts file.Options
}

// verifiable is a remote tool that is a [tool.Verifier].
type verifiable struct{ remote }

// Spec implements [tool.Tool].
func (t remote) Spec() tool.Spec { return t.tool.Spec() }

// Call implements [tool.Tool].
func (t remote) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	done, err := t.do(ctx, c, false)
	switch {
	case err == nil:
		return done.Result, done.Fault.err()
	case fika.IsKind(err, fika.Interrupted):
		return tool.Result{}, err
	case fika.IsKind(err, fika.Lost):
		r := tool.Refusal(err)
		r.Unknown = t.Spec().Effect != fika.Pure
		return r, nil
	}
	return tool.Refusal(err), nil
}

// Hash implements [tool.Verifier].
func (t verifiable) Hash(ctx context.Context, c tool.Call) (string, error) {
	c.Started = nil
	done, err := t.do(ctx, c, true)
	if err == nil {
		err = done.Fault.err()
	}
	return done.Hash, err
}

// do makes a call. Error kinds: Interrupted when ctx ended, Denied when the call could not
// begin, Lost when its process ended in the middle.
func (t remote) do(ctx context.Context, c tool.Call, hash bool) (outcome, error) {
	name := t.tool.Spec().Name
	r := request{
		Tool: name, Hash: hash, Step: c.Step, CallID: c.CallID, Context: c.Context, Workspace: c.Workspace, Args: c.Args, Agent: c.Agent, Request: c.Request,
		Options: t.opts, Pictures: t.opts.Pictures != nil, Keep: t.opts.Keep != nil,
	}
	r.Options.Pictures, r.Options.Keep, r.Options.Obeyed, r.Options.Homes = nil, nil, nil, file.Identify(t.opts.Paths.Homes)
	if t.opts.Obeyed != nil && t.Spec().Effect != fika.Pure {
		r.Options.Paths.Obeyed = slices.Concat(t.opts.Paths.Obeyed, t.opts.Obeyed(c.Workspace))
	}
	stdin, fromHere, err := os.Pipe()
	if err != nil {
		return outcome{}, fika.Wrap(fika.Failed, "", err)
	}
	fromCall, toHere := io.Pipe()
	said := make(chan *outcome, 1)
	go func() {
		done := (&hosted{newTalk(fromCall, fromHere), t.opts, c}).serve(r)
		_ = fromHere.Close() // its process ends at the end of its input
		_, _ = io.Copy(io.Discard, fromCall)
		said <- done
	}()
	var complaint bytes.Buffer
	exit, err := proc.Run(ctx, proc.Cmd{
		Path: self(), Args: command(), Dir: "/", Env: []string{}, Step: c.Step, Children: t.host.Children, Confine: user{t.host.User},
		Stdin: stdin, Stderr: &limited{&complaint, maxComplaint}, Progress: func(p []byte) { _, _ = toHere.Write(p) },
		Started: func(p fika.Process) {
			_ = stdin.Close() // a process that is gone reads nothing: no write may wait for it
			if c.Started != nil {
				c.Started(p)
			}
		},
	})
	_ = stdin.Close()
	_ = toHere.Close()
	done := <-said
	switch {
	case done != nil:
		return *done, nil
	case fika.IsKind(err, fika.Interrupted):
		return outcome{}, err
	case err != nil:
		return outcome{}, fika.Errorf(fika.Denied, "", "not done: %s cannot be run as %s here: %v", name, t.host.name(), err)
	}
	return outcome{}, fika.Errorf(fika.Lost, "", "the process that did it as %s ended in the middle (exit status %d) %s", t.host.name(), exit.Code, strings.TrimSpace(complaint.String()))
}

func (h Host) name() string {
	if h.User == nil {
		return "another user"
	}
	return "the user " + h.User.Name
}

// self returns the path of this program, which the other user need not be able to enter.
func self() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// user is a confinement that is a user and nothing else.
type user struct{ as *process.User }

// Confine implements [tool.Confinement].
func (u user) Confine(path string, args []string) (tool.Confined, error) {
	return tool.Confined{Path: path, Args: args, User: u.as.Credential()}, nil
}

// Temp implements [tool.Confinement].
func (user) Temp() (dir, seen string) { return "", "" }

// Tier implements [tool.Confinement].
func (user) Tier() string { return "" }

// Network implements [tool.Confinement].
func (user) Network() bool { return true }

// limited keeps the beginning of what is written.
type limited struct {
	to   *bytes.Buffer
	left int
}

// Write implements [io.Writer].
func (w *limited) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	_, _ = w.to.Write(p[:n])
	return len(p), nil
}

// hosted answers what the process of one call asks.
type hosted struct {
	talk
	opts file.Options
	call tool.Call
}

// serve sends a request, and answers until the call is done; nil: its process is gone.
func (h *hosted) serve(r request) *outcome {
	for err := h.out.Encode(r); err == nil; {
		var m message
		if h.in.Decode(&m) != nil || m.Done != nil {
			return m.Done
		}
		err = h.out.Encode(h.answer(m))
	}
	return nil
}

func (h *hosted) answer(m message) (a answer) {
	var err error
	switch {
	case m.Change != nil && h.opts.Keep != nil:
		x := file.Change{Path: m.Change.Path, Size: m.Change.Size, Mode: m.Change.Mode, New: m.Change.New, Made: m.Change.Made}
		if m.Change.Existed {
			x.Old = &old{talk: h.talk}
		}
		err = h.opts.Keep(h.call, x)
	case m.Begin != nil && h.opts.Pictures != nil:
		a.Yes = h.opts.Pictures.Takes(m.Begin)
	case m.Picture != nil && h.opts.Pictures != nil:
		a.Kept, err = h.opts.Pictures.Put(m.Picture.Name, m.Picture.Data)
	default:
		err = fika.Errorf(fika.Invalid, "", "the process of the call asks for what it may not have")
	}
	a.Fault = faultOf(err)
	return a
}

// old reads, from the process of a call, the content that is about to be replaced.
type old struct {
	talk
	have []byte
	end  bool
}

// Read implements [io.Reader].
func (o *old) Read(p []byte) (int, error) {
	for len(o.have) == 0 {
		if o.end {
			return 0, io.EOF
		}
		var m message
		if err := errors.Join(o.out.Encode(answer{More: true}), o.in.Decode(&m)); err != nil {
			return 0, err
		}
		if m.Old == nil {
			return 0, fmt.Errorf("the process of the call sent something else than the content of the file")
		}
		o.have, o.end = m.Old.Data, m.Old.End
	}
	n := copy(p, o.have)
	o.have = o.have[n:]
	return n, nil
}
