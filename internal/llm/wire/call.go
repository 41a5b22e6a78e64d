package wire

import "fika/internal/llm"

// Call is what the answers of all providers share: passing on what arrives, and the
// error that ends the call.
type Call struct {
	*Deadline
	request llm.Request
	fail    Failure
	emit    func(llm.Event) error
	halted  error
	arrived int // bytes of the answer
}

// Failure returns how an error is to be reported now, depending on whether text was
// shown.
func (c *Call) Failure() Failure { return c.fail }

// Halted returns the error that ends the call as it is; nil: none.
func (c *Call) Halted() error { return c.halted }

// Halt remembers err as the error that ends the call, and returns it.
func (c *Call) Halt(err error) error {
	c.halted = err
	return err
}

// Emit passes on text, or with KeepAlive that the provider is there. An error of the
// listener ends the call.
func (c *Call) Emit(kind llm.EventKind, text string) error {
	if text == "" && kind != llm.KeepAlive {
		return nil
	}
	c.fail.Visible = c.fail.Visible || kind == llm.TextDelta
	return c.pass(llm.Event{Kind: kind, Text: text})
}

// Alive passes on that something arrived that is not shown, and how many bytes of it are
// kept, so that the bound of an answer holds for it, too.
func (c *Call) Alive(kept int) error { return c.pass(llm.Event{Kind: llm.Alive, Size: kept}) }

func (c *Call) pass(e llm.Event) error {
	c.arrived += len(e.Text) + e.Size
	if err := c.emit(e); err != nil {
		return c.Halt(err)
	}
	return nil
}
