package command

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/attachment"
	"fika/internal/mention"
	"fika/internal/worker"
)

// NamedFiles are the files that go with a prompt because a person named them, by
// --file and --image. No text names a file.
type NamedFiles struct{ files, images []string }

// Flags gives a command --file and --image.
func (n *NamedFiles) Flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&n.files, "file", nil, "a file that goes with the prompt: text, or a picture; more than once for several")
	c.Flags().StringArrayVar(&n.images, "image", nil, "a picture (PNG, JPEG, GIF, WebP) that goes with the prompt")
}

// Pictures reports whether --image was given.
func (n *NamedFiles) Pictures() bool { return len(n.images) > 0 }

// maxPictures bounds the pictures of one prompt.
const maxPictures = 10

// AttachFiles reads the files that go with a prompt: texts become part of it, pictures
// are stored, and a line of the prompt tells of each. What tools do not see (keys,
// homes of fika) is sent only if a person at the terminal says so. Error kinds:
// NotFound, Invalid, Denied, Storage; then nothing is sent.
func (e *Env) AttachFiles(n NamedFiles, prompt string) (string, []fika.Attachment, error) {
	var files []attachment.File
	for i, path := range append(append([]string{}, n.files...), n.images...) {
		f, err := e.LoadFileIf(path, func(why error) error {
			return e.Confirm(fmt.Sprintf("%v. Send it to the model all the same", why))
		})
		if err != nil {
			return "", nil, err
		}
		if i >= len(n.files) && !f.Picture {
			return "", nil, fika.Errorf(fika.Invalid, "", "%s is no picture (PNG, JPEG, GIF and WebP are): --file sends text", path)
		}
		files = append(files, f)
	}
	return e.JoinFiles(files, prompt)
}

// JoinFiles makes files part of a prompt, as [Env.AttachFiles] does. Invalid also for a
// prompt in which a block of code is open, which the file would close, and be no
// block of its own.
func (e *Env) JoinFiles(files []attachment.File, prompt string) (string, []fika.Attachment, error) {
	var pictures []fika.Attachment
	for _, f := range files {
		if !f.Picture && speaks(prompt+"\n\n"+f.TextWith("@"+probe)) {
			return "", nil, fika.Errorf(fika.Invalid, "", "the text leaves a block of code open: end it, so that what is in %s stays apart from it", f.Path)
		}
		text, a, err := e.IncludeFile(f)
		if err != nil {
			return "", nil, err
		}
		if a != nil {
			pictures = append(pictures, *a)
		}
		prompt += "\n\n" + text
	}
	if len(pictures) > maxPictures {
		return "", nil, UsageError("%d pictures are too many for one prompt: %d are what providers take", len(pictures), maxPictures)
	}
	return prompt, pictures, nil
}

// probe is an agent of no home.
const probe = "probe-of-files"

// speaks reports whether a text mentions the probe.
func speaks(text string) bool {
	return len(mention.Parse(text, mention.Known{Agents: []fika.AgentName{probe}}).Agents) > 0
}

// LoadFileIf reads a file that a person has named. About one that is hidden from
// tools the person is asked: agree returns nil if it is to be read all the same.
func (e *Env) LoadFileIf(path string, agree func(why error) error) (attachment.File, error) {
	real, err := attachment.RealPath(path)
	if err != nil {
		return attachment.File{}, err
	}
	if why := e.WhyHidden(real); why != nil {
		c, err := e.App().Caller()
		switch {
		case err != nil:
			return attachment.File{}, err
		case c.InsideTool() || !e.InTTY:
			return attachment.File{}, fika.Errorf(fika.Denied, "", "%v; only a person at a terminal can send it all the same", why)
		}
		if err := agree(why); err != nil {
			return attachment.File{}, err
		}
	}
	return attachment.Load(path)
}

// WhyHidden says why tools do not see a file, which is named without links; nil when
// they may.
func (e *Env) WhyHidden(real string) error {
	root, err := e.App().Root()
	if err != nil {
		return err
	}
	return worker.KnownPlaces(root, e.Getenv).Look(real)
}

// IncludeFile makes a file part of a prompt: its text, or the line that tells of a
// picture, which is stored.
func (e *Env) IncludeFile(f attachment.File) (text string, picture *fika.Attachment, err error) {
	if !f.Picture {
		return f.Text(), nil, nil
	}
	h, err := e.App().Home()
	if err != nil {
		return "", nil, err
	}
	a, err := attachment.StoreIn(h.Root).Put(pictureName(f.Path), f.Data)
	if err != nil {
		return "", nil, err
	}
	return a.TextLine(), &a, nil
}

// pictureName is the last part of a path without what would end the line that
// tells of it.
func pictureName(path string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '[' || r == ']' || r == '@' || r == 0x7f {
			return '_'
		}
		return r
	}, filepath.Base(path))
}
