package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"fika"
	"fika/internal/service"
)

// NamedFiles holds the files that a person attached to a prompt with --file and
// --image.
type NamedFiles struct{ paths service.NamedFiles }

// Flags adds --file and --image to a command.
func (n *NamedFiles) Flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&n.paths.Files, "file", nil, "attach a file to the prompt: text, or a picture (repeat for several)")
	c.Flags().StringArrayVar(&n.paths.Images, "image", nil, "attach a picture (PNG, JPEG, GIF, WebP) to the prompt")
}

// AttachFiles makes files part of a prompt, as [service.PromptFiles.Attach] does. On a
// terminal it asks before it sends files that tools cannot see.
func (e *Env) AttachFiles(n NamedFiles, prompt string) (string, []fika.Attachment, error) {
	var agree func(error) error
	if e.InTTY && !e.InsideTool() {
		agree = func(why error) error { return e.Confirm(fmt.Sprintf("%v. Send it to the model all the same", why)) }
	}
	return service.PromptFilesOf(e.App()).Attach(prompt, n.paths, agree)
}
