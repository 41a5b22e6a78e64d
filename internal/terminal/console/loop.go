package console

import (
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"fika"
	"fika/internal/system/term"
)

// run starts the goroutines of a console on a terminal.
func (c *Console) run() {
	chunks := c.startReading(c.in)
	c.wg.Go(func() { c.act(chunks) })
	c.wg.Go(c.callBack)
}

// startReading starts the goroutine that reads, and returns what it reads.
func (c *Console) startReading(in io.Reader) <-chan []byte {
	chunks := make(chan []byte)
	c.wg.Go(func() { c.read(in, chunks) })
	return chunks
}

// read passes on what the terminal sends until it goes away or is no longer read.
func (c *Console) read(in io.Reader, chunks chan<- []byte) {
	defer close(chunks)
	buf := make([]byte, 32<<10)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			select {
			case chunks <- append([]byte(nil), buf[:n]...):
			case <-c.quit:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// callBack calls OnInterrupt, OnEscape and the Answer of questions, one call at a time.
func (c *Console) callBack() {
	for {
		select {
		case f := <-c.calls:
			f()
		case <-c.quit:
			return
		}
	}
}

// call has f called by callBack; false: another call waits, and f is not called.
func (c *Console) call(f func()) bool {
	select {
	case c.calls <- f:
		return true
	default:
		return false
	}
}

// actor owns the keys: it decodes them and does what they ask for.
type actor struct {
	*Console
	chunks    <-chan []byte // what the person types; closed: the terminal is gone
	keys      decoder
	last      time.Time // time of the ctrl-c just before; zero: there was none
	suspended bool
}

// act is the goroutine that owns the line being edited: it alone changes the line (under
// mu, because others draw it).
func (c *Console) act(chunks <-chan []byte) {
	a := actor{Console: c, chunks: chunks}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, terminalSignals()...)
	defer signal.Stop(signals)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	arm := time.NewTimer(time.Hour)
	defer arm.Stop()
	for {
		select {
		case p, ok := <-a.chunks:
			if !ok {
				c.change(func() { c.view.reading = false })
				c.end(io.EOF)
				return
			}
			if a.suspended {
				a.resume()
			}
			a.handle(a.keys.feed(p))
			if a.keys.waiting() {
				timer.Reset(a.patience())
			}
		case <-timer.C:
			if a.keys.waiting() {
				a.handle(a.keys.flush())
			}
		case <-c.asked:
			arm.Reset(a.opts.readingTime)
		case <-arm.C:
			c.change(c.ask.arm)
		case s := <-signals:
			if isContinue(s) {
				a.resume()
			}
			c.change(func() {}) // the size may have changed
		case <-c.quit:
			return
		}
	}
}

func (a *actor) patience() time.Duration {
	switch {
	case a.keys.pasting:
		return pasteWait
	case a.keys.prefixed():
		return prefixWait
	}
	return a.opts.escapeWait
}

func (a *actor) handle(keys []key) {
	if a.keys.cut && !a.keys.pasting { // once the rest has come, too
		a.keys.cut = false
		a.Print(a.view.style.Yellow("the paste was too long: only its first 8 MiB are in the line"))
	}
	for i, k := range keys {
		a.actOnKey(k, i == len(keys)-1)
	}
}

// actOnKey acts on one key; show says that the outcome is to be drawn, which is not
// necessary between the keys of one chunk.
func (a *actor) actOnKey(k key, show bool) {
	if a.answer(k) || a.search(k) {
		return
	}
	switch k.action {
	case actTab, actBackTab:
		a.complete(k.action)
		return
	case actInterrupt:
		a.interrupted()
		return
	case actEscape:
		a.escaped()
		return
	case actSuspend:
		a.suspend()
		return
	case actEdit:
		a.editOutside()
		return
	case actQuit:
		a.abort()
		return
	case actUp:
		if a.takeBack() {
			return
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.menu.clear()
	a.hint = ""
	a.last = time.Time{} // the next ctrl-c counts as a first one again
	text := ""
	switch k.action {
	case actInsert:
		a.insert(k)
	case actNewline:
		a.finishWord()
		a.edit.apply(actNewline)
	case actEnter:
		a.finishWord()
		text, show = a.enter(), true
	case actEOF:
		if a.edit.text != "" {
			a.edit.apply(actDelete)
			break
		}
		a.view.reading, show = false, true
		a.end(io.EOF)
	case actRedraw:
		text, show = "\x1b[H\x1b[2J", true
	case actUp:
		a.recall(a.edit.up(), a.older)
	case actDown:
		a.recall(a.edit.down(), a.hist.newer)
	default:
		a.edit.apply(k.action)
	}
	a.askAgain()
	if show {
		a.redraw(text)
	}
}

// insert puts typed or pasted text into the line. The caller holds mu.
func (a *actor) insert(k key) {
	if k.pasted {
		text := typed(k.text)
		if a.opts.Paste != nil {
			if label := a.opts.Paste(text); label != "" {
				text = asChip(term.CleanLine(label))
			}
		}
		a.edit.insert(text)
		return
	}
	for word := range strings.SplitAfterSeq(typed(k.text), " ") {
		word, space := strings.CutSuffix(word, " ")
		a.edit.typeText(word)
		if space {
			a.finishWord()
			a.edit.typeText(" ")
		}
	}
}

// finishWord turns the word before the cursor into a chip, if it was typed and stands for
// something. The caller holds mu.
func (a *actor) finishWord() {
	if a.opts.Chip == nil {
		return
	}
	if word := a.edit.typedWord(); word != "" {
		if n := a.opts.Chip(word); n > 0 && n <= len(word) {
			a.edit.makeChip(n)
		}
	}
}

// takeBack puts a text that was entered, and has had no effect, into an empty line.
func (a *actor) takeBack() bool {
	if a.opts.TakeBack == nil || a.edit.text != "" { // only this goroutine changes it
		return false
	}
	line, ok := a.opts.TakeBack()
	if ok {
		a.change(func() { a.edit.set(encode(line)) })
	}
	return ok
}

// recall puts a history entry into the line, unless the cursor moved inside the line.
func (a *actor) recall(moved bool, entry func() (string, bool)) {
	if moved {
		return
	}
	if text, ok := entry(); ok {
		a.edit.set(text)
	}
}

func (a *actor) older() (string, bool) { return a.hist.older(a.edit.text) }

// enter passes the line to ReadLine and returns what remains of it on the screen. The
// caller holds mu.
func (a *actor) enter() string {
	line := a.edit.text
	if a.over() || a.catch(line) {
		return ""
	}
	if a.edit.pos == len(line) && strings.HasSuffix(line, `\`) { // the line goes on
		a.edit.replace(len(line)-1, "\n")
		return ""
	}
	select {
	case a.lines <- line:
	default:
		a.hint = "busy: the line is kept, press enter again in a moment"
		return ""
	}
	a.edit.set("")
	echo := a.view.prompt + plain(line)
	if a.opts.Echo != nil {
		echo = a.opts.Echo(plain(line))
	}
	text := ""
	if echo != "" {
		text = printed(echo)
	}
	if err := a.hist.add(line); err != nil {
		text += printed(a.view.style.Dim("the history is not kept: " + err.Error()))
	}
	return text
}

// interrupted handles ctrl-c.
func (a *actor) interrupted() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.menu.clear()
	a.hint = ""
	now := a.opts.now()
	switch {
	case a.edit.text != "" && !a.ask.armed():
		a.edit.killed = a.edit.text
		a.edit.set("")
		a.hist.reset()
		a.last = time.Time{}
	case !a.last.IsZero() && now.Sub(a.last) < interruptGap:
		a.view.reading = false
		a.end(&fika.Error{Kind: fika.Interrupted, Op: "read a line", Msg: "left with ctrl-c", Err: io.EOF})
	default:
		a.last = now
		a.hint = "press ctrl-c again to leave"
		if a.opts.OnInterrupt != nil {
			a.hint = ""
			a.call(a.opts.OnInterrupt)
		}
	}
	if !a.closed {
		a.redraw("")
	}
}

// escaped handles the escape key.
func (a *actor) escaped() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = time.Time{}
	if len(a.menu.items) > 0 {
		a.menu.clear()
		a.redraw("")
	} else if a.opts.OnEscape != nil {
		a.call(a.opts.OnEscape)
	}
}

// complete handles the tab key: the first press asks for completions, the next ones
// choose.
func (a *actor) complete(k action) {
	steps := 1
	if k == actBackTab {
		steps = -1
	}
	if len(a.menu.items) > 0 { // only this goroutine changes it
		a.change(func() { a.menu.choose(&a.edit, steps) })
		return
	}
	if k == actBackTab && a.opts.OnBackTab != nil {
		a.call(a.opts.OnBackTab)
	}
	if a.opts.Complete == nil || k == actBackTab {
		return
	}
	items := a.opts.Complete(plain(a.edit.text), len(plain(a.edit.text[:a.edit.pos])))
	a.change(func() {
		if !a.menu.offer(&a.edit, items) {
			a.hint = "nothing to complete"
		}
	})
}

// suspend gives the terminal back and stops the process, as ctrl-z should.
func (a *actor) suspend() {
	a.suspended = true
	a.giveBack()
	stopSelf()
}

// giveBack leaves the terminal in the state that other programs expect.
func (a *actor) giveBack() {
	a.mu.Lock()
	defer a.mu.Unlock()
	width, _ := a.tty.size()
	a.screen.update(pasteNo, block{}, width)
	a.away = true
	_ = a.tty.restore() // it fails only when the terminal is gone
}

// resume takes the terminal back.
func (a *actor) resume() {
	a.suspended = false
	if err := a.tty.raw(); err != nil {
		a.end(err)
		return
	}
	a.write(pasteOn)
	a.mu.Lock()
	defer a.mu.Unlock()
	held := a.held
	a.away, a.held = false, ""
	if !a.closed {
		a.redraw(held)
	}
}

// abort handles ctrl-\: it gives the terminal back, then quits with a stack dump.
func (a *actor) abort() {
	a.giveBack()
	quitSelf()
}
