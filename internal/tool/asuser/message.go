package asuser

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"io"
	"io/fs"

	"fika"
	"fika/internal/tool"
	"fika/internal/tool/file"
)

// request is what the process of a call is to do.
type request struct {
	Tool string
	Hash bool // only the state of what the call would change

	Step, CallID, Context, Workspace string
	Args                             json.RawMessage
	Agent                            fika.AgentName
	Request                          fika.RequestID

	Options  file.Options // without what only the process that sends it can do
	Pictures bool         // it keeps pictures
	Keep     bool         // it is asked before a change
}

// message is what that process says: one of the fields is set.
type message struct {
	Change  *change
	Old     *piece // of the file that the last change replaces
	Begin   []byte // of a file: may it be kept as a picture?
	Picture *picture
	Done    *outcome
}

// answer is what it is answered, but after Done.
type answer struct {
	More  bool // the next piece of the old content is wanted
	Yes   bool
	Kept  fika.Attachment
	Fault *fault
}

type change struct {
	Path    string
	Existed bool
	Size    int64
	Mode    fs.FileMode
	New     []byte
	Made    []string
}

type piece struct {
	Data []byte
	End  bool
}

type picture struct {
	Name string
	Data []byte
}

type outcome struct {
	Result tool.Result
	Hash   string
	Fault  *fault
}

// fault is an error on its way to the other process.
type fault struct {
	Kind    fika.Kind
	Op, Msg string
}

func faultOf(err error) *fault {
	var known *fika.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known) && known.Err == nil:
		return &fault{known.Kind, known.Op, known.Msg}
	case errors.As(err, &known):
		return &fault{known.Kind, "", known.Error()}
	}
	return &fault{fika.Failed, "", err.Error()}
}

func (f *fault) err() error {
	if f == nil {
		return nil
	}
	return fika.Errorf(f.Kind, f.Op, "%s", f.Msg)
}

// talk carries messages of one sort each way.
type talk struct {
	in  *gob.Decoder
	out *gob.Encoder
}

func newTalk(in io.Reader, out io.Writer) talk {
	return talk{gob.NewDecoder(in), gob.NewEncoder(out)}
}
