package console

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/muesli/cancelreader"

	"fika"
	"fika/internal/system/term"
)

// Completion is one way to complete the text at the cursor: Text replaces what is between
// the byte offset Start and the cursor; with Chip it becomes a chip followed by a space.
// Label is shown in the list of several completions; if it is empty, Text is.
type Completion struct {
	Start int
	Text  string
	Label string
	Chip  bool
}

// Options configures a console. Only Streams is required.
type Options struct {
	Streams *term.Streams

	// Prompt is shown before the line being typed. It may contain styles; it is one row,
	// and is truncated if it takes too much of it.
	Prompt string

	// HistoryFile stores entered lines; if it is empty, they are kept only in memory.
	HistoryFile string

	// Complete handles the tab key. pos is the byte offset of the cursor in line. It is
	// called in the console's own goroutine: keys wait for it.
	Complete func(line string, pos int) []Completion

	// Chip returns how many bytes at the beginning of a typed word stand for something
	// and become a chip: the line shows them as one, and [Console.Read] reports them. It
	// is called when the word is complete, never for pasted or recalled text, with the
	// console locked, and must not use it. nil: no word does.
	Chip func(word string) int

	// Paste returns what stands for a pasted text in the line, as a chip; "": the text
	// itself is inserted. It is called with the console locked, and must not use it. nil:
	// pasted text is inserted.
	Paste func(text string) string

	// OnInterrupt is called when ctrl-c is pressed on an empty line. (On a line with
	// text, ctrl-c clears the line; ctrl-y brings it back.) A second ctrl-c within two
	// seconds, with no other key in between, ends the input whatever OnInterrupt does. It
	// runs in a goroutine of its own, one call at a time, and may use the console, but
	// must not call Close. nil: the console shows how to leave.
	OnInterrupt func()

	// OnEscape is called when the escape key is pressed and no list of completions is
	// shown, which it would close. The line stays as it is. It runs in the goroutine of
	// OnInterrupt, with the same rules. nil: nothing happens.
	OnEscape func()

	// OnBackTab is called when shift-tab is pressed and no list of completions is shown, in
	// which it would choose. It runs in the goroutine of OnInterrupt, with the same rules.
	// nil: nothing happens.
	OnBackTab func()

	// TakeBack is called when the up key is pressed in an empty line. It returns a line that
	// was entered before and has had no effect, and that is edited again; false: there is none,
	// and the key recalls the history. It is called in the console's own goroutine, as
	// Complete is. nil: the key recalls the history.
	TakeBack func() (Line, bool)

	// Edit changes the line on ctrl-x ctrl-e in a program of its own: meanwhile the console
	// neither reads from the terminal nor draws on it. When ctx ends, the program must, too. It
	// is called in the console's own goroutine. nil: the keys do nothing.
	Edit func(ctx context.Context, text string) (string, error)

	// Echo returns what remains on the screen of an entered line; "" for nothing. nil:
	// prompt and line, as in a shell.
	Echo func(line string) string

	now        func() time.Time // nil: time.Now
	escapeWait time.Duration    // zero: escapeWait

	readingTime time.Duration // how long nothing may be typed before a key answers; zero: readingTime
}

// Console is a line editor whose output appears above the line. All methods are safe for
// concurrent use, except that only one ReadLine may run at a time.
type Console struct {
	opts Options
	tty  *tty // nil if there is no terminal: lines in and lines out

	lines   chan string   // entered lines that ReadLine has not taken
	calls   chan func()   // callbacks that wait for their goroutine; if full, the newest is dropped
	asked   chan struct{} // capacity 1: the question has changed, or a key delays it
	quit    chan struct{} // closed by Close
	ended   chan struct{} // closed when no more lines can come; see endErr
	endOnce sync.Once
	endErr  error // the reason; written before ended is closed

	reading sync.Mutex // held by ReadLine
	start   sync.Once  // starts the goroutine that reads lines without a terminal
	close   sync.Once
	wg      sync.WaitGroup

	mu     sync.Mutex                // guards the fields below and everything written to Out
	in     cancelreader.CancelReader // input of the reading goroutine
	closed bool
	away   bool   // another program has the terminal
	held   string // what is printed when it comes back
	screen screen
	view   view
	title  string                           // of the window; empty if it was not set
	live   func(width, height int) []string // passed to Show; nil: none
	edit   editor
	hist   *history
	menu   menu
	hint   string // shown in place of the status until the next key
	ask    asking
	find   searching
}

const (
	maxWaiting   = 256 // entered lines that wait for ReadLine
	interruptGap = 2 * time.Second
	escapeWait   = 50 * time.Millisecond // after this, ESC was the key
	prefixWait   = 3 * time.Second       // after this, ctrl-x was a key of its own
	pasteWait    = 5 * time.Second       // after this, a paste is complete without its end
	readingTime  = 700 * time.Millisecond
)

// New returns a console. On a terminal (in and out, and not plain) it switches to
// raw mode at once, until Close. Error kinds: Invalid without streams, Failed when the
// terminal cannot be set up.
func New(o Options) (*Console, error) {
	if o.Streams == nil || o.Streams.In == nil || o.Streams.Out == nil {
		return nil, fika.Errorf(fika.Invalid, "open console", "no streams were given")
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.escapeWait == 0 {
		o.escapeWait = escapeWait
	}
	if o.readingTime == 0 {
		o.readingTime = readingTime
	}
	c := &Console{
		opts: o, lines: make(chan string, maxWaiting),
		calls: make(chan func(), 1), asked: make(chan struct{}, 1),
		quit: make(chan struct{}), ended: make(chan struct{}),
		screen: screen{w: o.Streams.Out},
	}
	c.view = view{prompt: oneRow(o.Prompt), chosen: -1, style: o.Streams.OutStyle()}
	var err error
	if c.in, err = openInput(o.Streams.In); err != nil {
		return nil, err
	}
	if c.tty, err = openTTY(o.Streams); err != nil {
		return nil, errors.Join(err, c.in.Close())
	}
	if c.tty == nil {
		c.lines = make(chan string) // nothing is read ahead of ReadLine except one line
		return c, nil
	}
	return c, c.begin()
}

func (c *Console) begin() error {
	var troubles error
	c.hist, troubles = loadHistory(c.opts.HistoryFile)
	c.write(pasteOn)
	if troubles != nil {
		c.Print(c.view.style.Dim("the history is not kept: " + term.CleanLine(troubles.Error())))
	}
	c.run()
	return nil
}

// Interactive reports whether a person is typing at a terminal.
func (c *Console) Interactive() bool { return c.tty != nil }

// Width returns the current number of columns.
func (c *Console) Width() int {
	if c.tty == nil {
		return max(c.opts.Streams.Width, term.DefaultWidth)
	}
	width, _ := c.tty.size()
	return width
}

func oneRow(s string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(term.CleanStyled(s))
}

// Print writes text above the line being typed, adding a newline at its end if there is
// none. Escape sequences other than styles are removed; callers must pass foreign text
// through [term.Clean] first. Print returns when the text has been written. After Close
// it writes without a line to preserve.
func (c *Console) Print(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tty == nil || c.closed {
		_, err := io.WriteString(c.opts.Streams.Out, strings.TrimSuffix(term.CleanStyled(text), "\n")+"\n")
		c.screen.err = errors.Join(c.screen.err, err)
		return
	}
	c.redraw(printed(text))
}

// Writer returns a writer whose complete lines are printed above the line being typed,
// for logs and streams. Text without a newline is held back, and printed by Close.
func (c *Console) Writer() io.WriteCloser { return &lineWriter{print: c.Print} }

// Status shows one line below the line being typed ("arya is thinking…"); the empty text
// removes it. Without a terminal it does nothing.
func (c *Console) Status(text string) { c.change(func() { c.view.status = oneRow(text) }) }

// SetPrompt changes the prompt.
func (c *Console) SetPrompt(prompt string) { c.change(func() { c.view.prompt = oneRow(prompt) }) }

// Show prints text (if any) as Print does, and from then on shows unfinished output: rows
// that still change, above the line being typed, and a status below it. rows is called
// whenever they are drawn, with the current numbers of columns and rows; the last few of
// the rows it returns are shown. It is called while the console is locked and must not
// use it. nil: no such rows. Everything changes in one write, so that finished output is
// never seen twice. Links, which Print removes, stay in text (see [term.CleanLinked]).
//
// Without a terminal, or after Close, only the text is written.
func (c *Console) Show(text string, rows func(width, height int) []string, status string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tty == nil || c.closed {
		if text != "" {
			_, err := io.WriteString(c.opts.Streams.Out, strings.TrimSuffix(term.CleanStyled(text), "\n")+"\n")
			c.screen.err = errors.Join(c.screen.err, err)
		}
		return
	}
	c.live, c.view.status = rows, oneRow(status)
	if text != "" {
		text = printedLinked(text)
	}
	c.redraw(text)
}

// Tell sets the title of the terminal's window and, unless notice is empty, sends the
// terminal a notification and a bell, for a person who is looking elsewhere. Close
// restores the previous title. Without a terminal it does nothing.
func (c *Console) Tell(title, notice string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tty == nil || c.closed || c.screen.err != nil {
		return
	}
	text := ""
	if title = oneRow(title); title != c.title {
		if c.title == "" {
			text += titlePush
		}
		c.title = title
		text += titleSet + title + stringEnd
	}
	if notice = oneRow(notice); notice != "" {
		text += notify + notice + stringEnd + bell
	}
	if text != "" {
		_, c.screen.err = io.WriteString(c.opts.Streams.Out, text)
	}
}

// change calls f and redraws.
func (c *Console) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	if c.tty != nil && !c.closed {
		c.redraw("")
	}
}

// redraw writes text above the block and draws the block in its present state. The caller
// holds mu.
func (c *Console) redraw(text string) {
	if c.away {
		c.held += text
		return
	}
	v := c.view
	v.width, v.height = c.tty.size()
	if c.live != nil {
		v.live = c.live(v.width, v.height)
	}
	v.text, v.pos = c.edit.text, c.edit.pos
	v.menu, v.chosen = c.menu.labels(), c.menu.chosen
	c.ask.show(&v)
	c.find.show(&v)
	if c.hint != "" {
		v.status = c.hint
	}
	c.screen.update(text, layout(v), v.width)
	if c.screen.err != nil {
		c.end(fika.Wrap(fika.Failed, "write to the terminal", c.screen.err))
	}
}

func (c *Console) write(s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.screen.err == nil {
		_, c.screen.err = io.WriteString(c.opts.Streams.Out, s)
	}
}

// end says that no more lines will come; the first reason is kept.
func (c *Console) end(err error) {
	c.endOnce.Do(func() {
		c.endErr = err
		close(c.ended)
	})
}

// ReadLine returns the next entered line, without its newline; a pasted text or one
// written with alt-enter contains newlines. The prompt is shown from the first call on,
// and what is typed between two calls is kept for the next.
//
// At the end of input (ctrl-d on an empty line, or the input is exhausted) it returns
// io.EOF. After a second ctrl-c the error is of kind [fika.Interrupted] and also io.EOF
// for errors.Is. If ctx ends first, the error wraps ctx.Err() and nothing that was typed
// is lost.
func (c *Console) ReadLine(ctx context.Context) (string, error) {
	line, err := c.Read(ctx)
	return line.Text, err
}

// Read is [Console.ReadLine] for callers that need to know which parts of the line are
// chips.
func (c *Console) Read(ctx context.Context) (Line, error) {
	line, err := c.next(ctx)
	return decode(line), err
}

// next returns the next entered line in the editor's form.
func (c *Console) next(ctx context.Context) (string, error) {
	if !c.reading.TryLock() {
		return "", fika.Errorf(fika.Invalid, "read a line", "somebody else is reading from this console")
	}
	defer c.reading.Unlock()
	if c.tty == nil {
		c.start.Do(c.runPiped)
	} else {
		c.change(func() { c.view.reading = !c.over() })
	}
	if err := ctx.Err(); err != nil {
		return "", fika.Wrap(fika.Interrupted, "read a line", err)
	}
	select {
	case line := <-c.lines:
		return line, nil
	case <-ctx.Done():
		return "", fika.Wrap(fika.Interrupted, "read a line", ctx.Err())
	case <-c.quit:
		return "", io.EOF
	case <-c.ended:
	}
	if !fika.IsKind(c.endErr, fika.Interrupted) {
		select {
		case line := <-c.lines: // entered before the end
			return line, nil
		default:
		}
	}
	return "", c.endErr
}

func (c *Console) over() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// Close removes the prompt, restores the terminal and waits for the console's goroutines
// (at most a second if OnInterrupt hangs; not at all for a reader that is not a file and
// cannot be woken). A waiting ReadLine returns io.EOF. Close may be called again.
func (c *Console) Close() error {
	var err error
	c.close.Do(func() {
		close(c.quit)
		c.mu.Lock()
		in := c.in
		c.mu.Unlock()
		awake := in.Cancel()
		if c.tty != nil {
			err = c.tty.restore() // first, because it works even if writing hangs
			c.leave()
		}
		if awake || c.tty != nil {
			c.join()
		}
		err = errors.Join(err, in.Close())
	})
	return fika.Wrap(fika.Failed, "close console", err)
}

// leave erases the block for good.
func (c *Console) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	width, _ := c.tty.size()
	end := pasteNo
	if c.title != "" {
		end += titlePop
	}
	c.screen.update(end, block{}, width)
}

func (c *Console) join() {
	done := make(chan struct{})
	go func() {
		c.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

// lineWriter prints complete lines.
type lineWriter struct {
	mu    sync.Mutex
	rest  []byte
	print func(string)
}

const maxPartial = 1 << 20 // bytes without a newline that are held back

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	end := strings.LastIndexByte(string(w.rest), '\n') + 1
	if end == 0 && len(w.rest) > maxPartial {
		end = len(w.rest)
	}
	if end > 0 {
		w.print(string(w.rest[:end]))
		w.rest = append([]byte(nil), w.rest[end:]...)
	}
	return len(p), nil
}

func (w *lineWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		w.print(string(w.rest))
		w.rest = nil
	}
	return nil
}

// file returns the file behind a stream, if there is one.
func file(stream any) (*os.File, bool) {
	if wrapped, ok := stream.(interface{ Unwrap() io.Writer }); ok {
		stream = wrapped.Unwrap()
	}
	f, ok := stream.(*os.File)
	return f, ok
}
