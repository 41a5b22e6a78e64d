package client

import (
	"path/filepath"
	"strings"

	"fika"
	"fika/internal/app"
	"fika/internal/attachment"
	"fika/internal/mention"
	"fika/internal/worker"
)

// NamedFiles are the paths of files that go with a prompt because a person named
// them. No text names a file.
type NamedFiles struct {
	Files  []string // texts or pictures
	Images []string // pictures, and nothing else
}

// PromptFiles makes files that a person has named part of a prompt. It needs no
// store.
type PromptFiles struct{ app *app.App }

// PromptFilesOf makes files part of prompts in the home that an App has opened.
func PromptFilesOf(a *app.App) *PromptFiles { return &PromptFiles{a} }

// maxPictures bounds the pictures of one prompt.
const maxPictures = 10

// Attach reads the files that go with a prompt: texts become part of it, pictures
// are stored, and a line of the prompt tells of each. What tools do not see (keys,
// homes of fika) is sent only if a person says so: see [PromptFiles.LoadFile]. Error kinds:
// NotFound, Invalid, Denied, Storage; then nothing is sent.
func (p *PromptFiles) Attach(prompt string, n NamedFiles, agree func(why error) error) (string, []fika.Attachment, error) {
	var files []attachment.File
	for i, path := range append(append([]string{}, n.Files...), n.Images...) {
		f, err := p.LoadFile(path, agree)
		if err != nil {
			return "", nil, err
		}
		if i >= len(n.Files) && !f.Picture {
			return "", nil, fika.Errorf(fika.Invalid, "", "%s is no picture (PNG, JPEG, GIF and WebP are): --file sends text", path)
		}
		files = append(files, f)
	}
	return p.Join(prompt, files)
}

// Join makes files that have been read part of a prompt, as [PromptFiles.Attach] does.
// Invalid also for a prompt in which a block of code is open, which the file would
// close, and be no block of its own.
func (p *PromptFiles) Join(prompt string, files []attachment.File) (string, []fika.Attachment, error) {
	var pictures []fika.Attachment
	for _, f := range files {
		if !f.Picture && speaks(prompt+"\n\n"+f.TextWith("@"+probe)) {
			return "", nil, fika.Errorf(fika.Invalid, "", "the text leaves a block of code open: end it, so that what is in %s stays apart from it", f.Path)
		}
		text, a, err := p.include(f)
		if err != nil {
			return "", nil, err
		}
		if a != nil {
			pictures = append(pictures, *a)
		}
		prompt += "\n\n" + text
	}
	if len(pictures) > maxPictures {
		return "", nil, fika.Errorf(fika.Invalid, "", "%d pictures are too many for one prompt: %d are what providers take", len(pictures), maxPictures)
	}
	return prompt, pictures, nil
}

// probe is an agent of no home.
const probe = "probe-of-files"

// speaks reports whether a text mentions the probe.
func speaks(text string) bool {
	return len(mention.Parse(text, mention.Known{Agents: []fika.AgentName{probe}}).Agents) > 0
}

// LoadFile reads a file that a person has named. About one that is hidden from tools the
// person is asked: agree returns nil if it is to be read all the same. Without agree
// there is no person at a terminal, and such a file is refused (Denied), as it is
// inside a tool.
func (p *PromptFiles) LoadFile(path string, agree func(why error) error) (attachment.File, error) {
	real, err := attachment.RealPath(path)
	if err != nil {
		return attachment.File{}, err
	}
	if why := p.whyHidden(real); why != nil {
		c, err := p.app.Caller()
		switch {
		case err != nil:
			return attachment.File{}, err
		case c.InsideTool() || agree == nil:
			return attachment.File{}, fika.Errorf(fika.Denied, "", "%v; only a person at a terminal can send it all the same", why)
		}
		if err := agree(why); err != nil {
			return attachment.File{}, err
		}
	}
	return attachment.Load(path)
}

// whyHidden says why tools do not see a file, which is named without links; nil when
// they may.
func (p *PromptFiles) whyHidden(real string) error {
	root, err := p.app.Root()
	if err != nil {
		return err
	}
	return worker.KnownPlaces(root, p.app.Getenv).Look(real)
}

// include makes a file part of a prompt: its text, or the line that tells of a
// picture, which is stored.
func (p *PromptFiles) include(f attachment.File) (text string, picture *fika.Attachment, err error) {
	if !f.Picture {
		return f.Text(), nil, nil
	}
	h, err := p.app.Home()
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
