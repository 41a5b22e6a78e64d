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

// Emit passes on text or, with Alive and KeepAlive, anything else. An error of the
// listener ends the call.
func (c *Call) Emit(kind llm.EventKind, text string) error {
	if text == "" && kind != llm.Alive && kind != llm.KeepAlive {
		return nil
	}
	c.fail.Visible = c.fail.Visible || kind == llm.TextDelta
	if err := c.emit(llm.Event{Kind: kind, Text: text}); err != nil {
		return c.Halt(err)
	}
	return nil
}
