package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"fika"
	"fika/internal/bus"
)

// Damage is a JetStream folder that could not be used and was set aside. Requests in it
// that no hub had read are not worked on; their senders may send them again under the
// same ids.
type Damage struct {
	Path string
	At   time.Time
	Why  string
}

const (
	asideMark = ".damaged-"
	asideTime = "20060102-150405.000"
	asideWhy  = "why.txt"
	toldAgain = 5 * time.Second
	asideKept = 3 // the newest of them, so that a disk that breaks every folder does not fill up
)

// DamagedStreams lists the folders in runDir that were set aside and still exist, oldest
// first. A folder is reported until it is removed.
func DamagedStreams(runDir string) []Damage {
	paths, _ := filepath.Glob(filepath.Join(runDir, "*"+asideMark+"*"))
	var out []Damage
	for _, path := range paths {
		_, stamp, _ := strings.Cut(filepath.Base(path), asideMark)
		at, err := time.Parse(asideTime, stamp)
		if err != nil {
			continue
		}
		why, _ := os.ReadFile(filepath.Join(path, asideWhy))
		out = append(out, Damage{Path: path, At: at, Why: strings.TrimSpace(string(why))})
	}
	slices.SortFunc(out, func(a, b Damage) int { return cmp.Compare(a.At.UnixNano(), b.At.UnixNano()) })
	return out
}

// DamageWarnings says what a person has to do about requests that were lost, and about
// each folder in runDir that was set aside and still exists.
func DamageWarnings(runDir string) []string {
	out := lostWarnings(runDir)
	for _, d := range DamagedStreams(runDir) {
		out = append(out, fmt.Sprintf("the stream of requests of other programs was damaged (%s) and set aside on %s: requests in it that were not read yet must be sent again, the same ids are safe (remove %s once that is done)",
			d.Why, d.At.Local().Format("2006-01-02 15:04"), d.Path))
	}
	return out
}

// SetAside replaces a stream that cannot be used: it stops the server, moves its folder
// out of the way and starts it with an empty one. Clients reconnect by themselves.
func (s *Server) SetAside(ctx context.Context, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stopServer(ctx); err != nil {
		return err
	}
	if _, err := s.moveAside(why); err != nil {
		return err
	}
	return s.startOn(ctx)
}

// moveAside renames the folder, or whatever is in its place, and notes the reason. undo
// moves it back.
func (s *Server) moveAside(why error) (undo func(), err error) {
	const op = "set damaged stream aside"
	to := s.opts.Dir + asideMark + time.Now().UTC().Format(asideTime)
	if err := os.Rename(s.opts.Dir, to); err != nil {
		return nil, fika.Wrap(fika.Storage, op, err)
	}
	s.log.Error("the stream of foreign requests is damaged: it was set aside and a new one is used; requests in it that were not read have to be sent again",
		"folder", to, "err", why)
	old := DamagedStreams(filepath.Dir(s.opts.Dir))
	for _, d := range old[:max(0, len(old)-asideKept)] {
		_ = os.RemoveAll(d.Path)
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() { // otherwise a file stood there, which takes no note
		_ = os.WriteFile(filepath.Join(to, asideWhy), []byte(why.Error()+"\n"), 0o600)
	}
	return func() { _ = os.Rename(to, s.opts.Dir) }, nil
}

// runOrRenew starts the server, with a new folder if the existing one cannot be used. If
// that does not help either, the old folder stays where it was.
func (s *Server) runOrRenew(ctx context.Context, port int) (*server.Server, error) {
	ns, err := s.runIn(ctx, port)
	if err == nil || ctx.Err() != nil || !fika.IsKind(err, fika.Storage) {
		return ns, err
	}
	if _, missing := os.Lstat(s.opts.Dir); errors.Is(missing, fs.ErrNotExist) {
		return ns, err
	}
	undo, asideErr := s.moveAside(err)
	if asideErr != nil {
		return ns, errors.Join(err, asideErr)
	}
	ns, again := s.runIn(ctx, port)
	if again != nil {
		_ = os.RemoveAll(s.opts.Dir)
		undo()
		return ns, err
	}
	return ns, nil
}

// runIn creates the folder and starts the server in it.
func (s *Server) runIn(ctx context.Context, port int) (*server.Server, error) {
	if err := os.MkdirAll(s.opts.Dir, 0o700); err != nil {
		return nil, fika.Wrap(fika.Storage, "start bus", err)
	}
	return s.runOn(ctx, port)
}

// OpenInbound makes sure that the server's stream and its durable consumer exist; b is a
// connection of [UserHub]. A stream that cannot be opened is set aside. Error kinds:
// Conflict when another stream has taken the name; Denied when the user may not open it;
// Storage when not even a new one can be opened.
func (s *Server) OpenInbound(ctx context.Context, b bus.Bus, o InboundOptions) (bus.Inbound, error) {
	in, err := s.openInbound(ctx, b, o)
	if err == nil || ctx.Err() != nil || !fika.IsKind(err, fika.Storage) {
		return in, err
	}
	if asideErr := s.SetAside(ctx, err); asideErr != nil {
		return nil, errors.Join(err, asideErr)
	}
	if err := b.Flush(ctx); err != nil { // once it has connected again
		return nil, err
	}
	return s.openInbound(ctx, b, o)
}

func (s *Server) openInbound(ctx context.Context, b bus.Bus, o InboundOptions) (bus.Inbound, error) {
	c, ok := b.(*conn)
	if !ok {
		return nil, &fika.Error{Kind: fika.NotFound, Op: "open inbound stream", Err: ErrNoJetStream}
	}
	in, err := newInbound(c, o)
	if err != nil {
		return nil, err
	}
	in.own = &ownStream{receipts: s.receipts, runDir: s.opts.RunDir, told: map[string]time.Time{}, wait: toldAgain}
	// Twice, because a stream that could be created may still fail to open again.
	for range 2 {
		if _, err = in.openConsumer(ctx); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// Heal restarts the server when its stream has stopped taking requests, and sets aside a
// stream that still cannot be used.
func (s *Server) Heal(ctx context.Context, b bus.Bus, o InboundOptions) error {
	if err := s.Restart(ctx); err != nil {
		return err
	}
	if err := b.Flush(ctx); err != nil {
		return err
	}
	_, err := s.OpenInbound(ctx, b, o)
	return err
}
