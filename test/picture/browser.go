package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// browser is a chromium without a screen, driven through the pipe that it offers: one JSON
// object after another, with a zero byte behind each.
type browser struct {
	cmd  *exec.Cmd
	to   io.WriteCloser
	from *bufio.Reader
	id   int
	tab  string // the session of its only tab
}

func openBrowser(profile string) (*browser, error) {
	in, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b := &browser{to: to, from: bufio.NewReader(from)}
	b.cmd = exec.Command("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	b.cmd.ExtraFiles = []*os.File{in, out}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	_, _ = in.Close(), out.Close()
	var made struct{ TargetID, SessionID string }
	if err = b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &made); err == nil {
		err = b.call("Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &made)
	}
	b.tab = made.SessionID
	return b, err
}

func (b *browser) close() {
	b.tab = ""
	_ = b.call("Browser.close", map[string]any{}, nil)
	_ = b.to.Close()
	_ = b.cmd.Wait()
}

// call calls a method, and reads on to its answer.
func (b *browser) call(method string, params map[string]any, into any) error {
	b.id++
	m := map[string]any{"id": b.id, "method": method, "params": params}
	if b.tab != "" {
		m["sessionId"] = b.tab
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if _, err := b.to.Write(append(data, 0)); err != nil {
		return err
	}
	for {
		line, err := b.from.ReadBytes(0)
		if err != nil {
			return err
		}
		var r struct {
			ID     int
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(line[:len(line)-1], &r); err != nil {
			return err
		}
		switch {
		case r.ID != b.id:
			continue
		case r.Error != nil:
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		case into == nil:
			return nil
		}
		return json.Unmarshal(r.Result, into)
	}
}

// shows waits until the page says a text.
func (b *browser) shows(text string) error {
	said := ""
	for range 300 {
		var r struct{ Result struct{ Value string } }
		if err := b.call("Runtime.evaluate", map[string]any{"expression": "document.body ? document.body.innerText : ''"}, &r); err != nil {
			return err
		}
		if said = r.Result.Value; strings.Contains(said, text) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("the page never says %q, but %s", text, said)
}

// picture stores what the tab shows in light or dark.
func (b *browser) picture(scheme, path string) error {
	if err := b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil); err != nil {
		return err
	}
	var shot struct{ Data string }
	if err := b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot); err != nil {
		return err
	}
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
