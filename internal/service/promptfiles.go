package service

import (
	"path/filepath"
	"strings"

	"fika"
	"fika/internal/app"
	"fika/internal/chat/attachment"
	"fika/internal/chat/mention"
	"fika/internal/worker"
)

// NamedFiles are the paths of files that go with a prompt because a person named them.
// Nothing in a text names a file.
type NamedFiles struct {
	Files  []string // texts or pictures
	Images []string // pictures only
}

// PromptFiles makes files that a person has named part of a prompt. It needs no store.
type PromptFiles struct{ app *app.App }

// PromptFilesOf returns a PromptFiles for the home that an App has opened.
func PromptFilesOf(a *app.App) *PromptFiles { return &PromptFiles{a} }

// maxPictures is the most pictures that one prompt may have.
const maxPictures = 10

// Attach reads the files that go with a prompt: texts become part of it, pictures are
// stored, and a line of the prompt describes each. Files hidden from tools (keys, homes
// of fika) are sent only if a person agrees: see [PromptFiles.LoadFile]. Error kinds:
// NotFound, Invalid, Denied, Storage; then nothing is sent.
func (p *PromptFiles) Attach(prompt string, n NamedFiles, agree func(why error) error) (string, []fika.Attachment, error) {
	var files []attachment.File
	for i, path := range append(append([]string{}, n.Files...), n.Images...) {
		f, err := p.LoadFile(path, agree)
		if err != nil {
			return "", nil, err
		}
		if i >= len(n.Files) && !f.Picture {
			return "", nil, fika.Errorf(fika.Invalid, "", "%s is not a picture (PNG, JPEG, GIF and WebP are): --file sends text", path)
		}
		files = append(files, f)
	}
	return p.Join(prompt, files)
}

// Join makes files that have been read part of a prompt, as [PromptFiles.Attach] does.
// It also returns Invalid for a prompt with an open code block, because the block of
// the file would close it instead of opening its own.
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

// probe is an agent name that no home has.
const probe = "probe-of-files"

// speaks reports whether a text mentions the probe.
func speaks(text string) bool {
	return len(mention.Parse(text, mention.Known{Agents: []fika.AgentName{probe}}).Agents) > 0
}

// LoadFile reads a file that a person has named. If the file is hidden from tools, the
// person is asked: agree returns nil if the file may be read all the same. If agree is
// nil there is no person at a terminal, and a hidden file is refused with Denied.
func (p *PromptFiles) LoadFile(path string, agree func(why error) error) (attachment.File, error) {
	real, err := attachment.RealPath(path)
	if err != nil {
		return attachment.File{}, err
	}
	if why := p.whyHidden(real); why != nil {
		if agree == nil {
			return attachment.File{}, fika.Errorf(fika.Denied, "", "%v; only a person at a terminal can send it all the same", why)
		}
		if err := agree(why); err != nil {
			return attachment.File{}, err
		}
	}
	return attachment.Load(path)
}

// whyHidden says why tools do not see a file, given without links; nil if they may.
func (p *PromptFiles) whyHidden(real string) error {
	root, err := p.app.Root()
	if err != nil {
		return err
	}
	return worker.KnownPlaces(root, p.app.Getenv).Look(real)
}

// include returns what a file adds to a prompt: its text, or the line that describes a
// picture, which it stores.
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

// pictureName returns the last part of a path without characters that would end the
// line that describes the picture.
func pictureName(path string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '[' || r == ']' || r == '@' || r == 0x7f {
			return '_'
		}
		return r
	}, filepath.Base(path))
}
