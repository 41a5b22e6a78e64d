package e2e

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// browser is Debian's chromium, driven through the pipe that it offers (its DevTools
// protocol, one JSON object after another, with a zero byte between them).
type browser struct {
	*testing.T
	to io.Writer

	mu      sync.Mutex
	id      int
	waiting map[int]chan reply
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// newBrowser starts a browser, or skips the test: it belongs to the long ones. With
// CI=true a missing chromium is a failure.
func newBrowser(t *testing.T) *browser {
	if testing.Short() {
		t.Skip("a browser takes its time: make check")
	}
	path, err := exec.LookPath("chromium")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip("no chromium")
	}
	in, out := pipe(t), pipe(t)
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{in[0], out[1]}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, _ = in[0].Close(), out[1].Close()
	b := &browser{T: t, to: in[1], waiting: map[int]chan reply{}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(out[0])
	}()
	t.Cleanup(func() {
		b.call("", "Browser.close", nil)
		_ = cmd.Wait()
		_ = in[1].Close()
		<-read
	})
	return b
}

func pipe(t *testing.T) [2]*os.File {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return [2]*os.File{r, w}
}

func (b *browser) read(from io.Reader) {
	in := bufio.NewReader(from)
	for {
		line, err := in.ReadBytes(0)
		if err != nil {
			break
		}
		var m struct {
			ID int
			reply
		}
		if json.Unmarshal(line[:len(line)-1], &m) != nil || m.ID == 0 {
			continue
		}
		b.mu.Lock()
		c := b.waiting[m.ID]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		if c != nil {
			c <- m.reply
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.waiting {
		c <- reply{Error: &struct{ Message string }{"the browser has ended"}}
	}
}

// call calls a method of the protocol, and fails the test if it fails.
func (b *browser) call(session, method string, params map[string]any) json.RawMessage {
	b.Helper()
	out, err := b.try(session, method, params)
	if err != nil {
		b.Fatalf("%s: %v", method, err)
	}
	return out
}

func (b *browser) try(session, method string, params map[string]any) (json.RawMessage, error) {
	c := make(chan reply, 1)
	b.mu.Lock()
	b.id++
	m := map[string]any{"id": b.id, "method": method, "params": params}
	if params == nil {
		m["params"] = map[string]any{}
	}
	if session != "" {
		m["sessionId"] = session
	}
	b.waiting[b.id] = c
	data, err := json.Marshal(m)
	if err == nil {
		_, err = b.to.Write(append(data, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case r := <-c:
		if r.Error != nil {
			return nil, errors.New(r.Error.Message)
		}
		return r.Result, nil
	case <-time.After(patience):
		return nil, errors.New("no answer")
	}
}

// tab is a page of the browser.
type tab struct {
	*browser
	session string
}

// open opens a page, at a width, in light or dark.
func (b *browser) open(url string, width int, scheme string) *tab {
	b.Helper()
	var made struct{ TargetID, SessionID string }
	_ = json.Unmarshal(b.call("", "Target.createTarget", map[string]any{"url": "about:blank", "newWindow": true}), &made)
	_ = json.Unmarshal(b.call("", "Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}), &made)
	p := &tab{b, made.SessionID}
	p.call(p.session, "Page.enable", nil)
	p.call(p.session, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600})
	p.call(p.session, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
	p.visit(url)
	return p
}

func (p *tab) visit(url string) {
	p.Helper()
	p.call(p.session, "Page.navigate", map[string]any{"url": url})
}

// eval returns the value of an expression, which may be a promise.
func (p *tab) eval(js string, into any) {
	p.Helper()
	if err := p.tryEval(js, into); err != nil {
		p.Fatalf("%s: %v", js, err)
	}
}

func (p *tab) tryEval(js string, into any) error {
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	out, err := p.try(p.session, "Runtime.evaluate", map[string]any{"expression": js, "awaitPromise": true, "returnByValue": true, "userGesture": true})
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err == nil && r.ExceptionDetails != nil {
		err = errors.New(r.ExceptionDetails.Text + " " + r.ExceptionDetails.Exception.Description)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(r.Result.Value, into)
	}
	return err
}

// until waits until an expression is true, of a page whose script has run. It survives that
// the page is loaded anew.
func (p *tab) until(js string) {
	p.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		var ok bool
		err := p.tryEval(fmt.Sprintf(`new Promise((done) => { const look = () => { try { return document.readyState === "complete" && !!(%s) } catch { return false } };
			const end = Date.now() + 500; const again = () => look() ? done(true) : Date.now() > end ? done(false) : setTimeout(again, 20); again() }).catch(() => false)`, js), &ok)
		if err == nil && ok {
			return
		}
	}
	var text string
	p.eval(`document.title + "\n" + document.body.innerText`, &text)
	p.Fatalf("never: %s; the page says:\n%s", js, text)
}

// shows waits until the page shows a text.
func (p *tab) shows(text string) {
	p.Helper()
	p.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// press presses a key, as in "Tab" or "Enter".
func (p *tab) press(key string, code int) {
	p.Helper()
	text := ""
	if key == "Enter" {
		text = "\r"
	}
	for _, kind := range []string{"keyDown", "keyUp"} {
		p.call(p.session, "Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text})
	}
}

// types types text where the focus is.
func (p *tab) types(text string) {
	p.Helper()
	for _, r := range text {
		p.call(p.session, "Input.insertText", map[string]any{"text": string(r)})
	}
}

// picture stores what the tab shows, if FIKA_PICTURES names a folder.
func (p *tab) picture(name string) {
	p.Helper()
	dir := os.Getenv("FIKA_PICTURES")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	_ = json.Unmarshal(p.call(p.session, "Page.captureScreenshot", map[string]any{"format": "png"}), &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(dir+"/"+strings.ReplaceAll(name, " ", "-")+".png", data, 0o600)
	}
	if err != nil {
		p.Error(err)
	}
}
