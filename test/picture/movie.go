package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	movieRows = 30
	// glance is how often the screen is looked at, and longest how long a screen on which
	// nothing happens stays in the picture.
	glance  = 120 * time.Millisecond
	longest = 1600 * time.Millisecond
	// typing is how long a key takes.
	typing = 45 * time.Millisecond
)

// frame is a screen, and how long it is there.
type frame struct {
	rows []string
	time time.Duration
}

// act is what a person does in a moving picture once the screen shows something.
type act struct {
	seen  string
	typed string
	enter bool
}

// acts: a person writes while an agent works, answers a question, and kills the hub.
func acts() []act {
	return []act{
		{"/help", "the total of three items with a discount is wrong, fix it and have it reviewed and tested", true},
		{"I read it first", "keep it plain sh, please", true},
		{"a key above answers", "y", false},
		{"I looked at", "!pkill -9 -f \"fika up.*$HOME\"", true},
		{"As they should be", "", false},
	}
}

// movieRules are those of the picture, slower, so that one sees agents write.
func movieRules() string {
	slower := strings.NewReplacer(
		`chunk_delay = "5ms"`, `chunk_delay = "60ms"`,
		"All as they should be.", "As they should be.",
		`match = "discount is wrong"`+"\nround = 1\n", `match = "discount is wrong"`+"\nround = 1\nreply = \"I read it first, and run its test.\"\n",
		`reply = "Right: one division, at the end. A`, `reply = "I looked at the order of the operations: one division, at the end, is right. A`,
		`match = "discount is wrong"`+"\nround = 2", `match = "plain sh"`+"\nround = 1", // what was written meanwhile comes last
		`match = "discount is wrong"`+"\nround = 3", `match = "plain sh"`+"\nround = 2",
		`reply = "It divides before`, `reply = "Plain sh. It divides before`,
	)
	return slower.Replace(rules)
}

// movie draws a session as it happens, as an SVG whose frames follow each other for ever.
func movie(fika, out string, g ground) error {
	t, _, home, err := open(fika, movieRows, movieRules(), "edit")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	defer t.end()
	slow, err := os.OpenFile(filepath.Join(home, "shop/cart.sh"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = slow.WriteString("sleep 2\n") // time to write something while the tests run
	if err := errors.Join(err, slow.Close()); err != nil {
		return err
	}
	var frames []frame
	look := func() (string, error) {
		rows, err := t.screen("-e")
		if err != nil {
			return "", err
		}
		if n := len(frames); n > 0 && slices.Equal(frames[n-1].rows, rows) {
			frames[n-1].time = min(frames[n-1].time+glance, longest)
		} else {
			frames = append(frames, frame{rows, glance})
		}
		return style.ReplaceAllString(strings.Join(rows, "\n"), ""), nil
	}
	for _, a := range acts() {
		for i := 0; ; i++ {
			text, err := look()
			switch {
			case err != nil:
				return err
			case i > 600:
				return fmt.Errorf("there was no %q:\n%s", a.seen, text)
			}
			if strings.Contains(text, a.seen) {
				break
			}
			time.Sleep(glance)
		}
		for _, key := range a.typed {
			if _, err := t.tmux("send-keys", "-l", string(key)); err != nil {
				return err
			}
			time.Sleep(typing)
			if _, err := look(); err != nil {
				return err
			}
		}
		if a.enter {
			if _, err := t.tmux("send-keys", "Enter"); err != nil {
				return err
			}
		}
	}
	frames[len(frames)-1].time = 4 * time.Second
	_ = t.do("/quit", `\$ *$`)
	_ = t.do("fika down", `\$ *$`)
	return os.WriteFile(out, g.animate(frames), 0o644)
}

// animate makes a picture of frames. Each row is drawn once, and shown wherever it is. Who
// wants no motion sees the last frame.
func (g ground) animate(frames []frame) []byte {
	var total time.Duration
	for _, f := range frames {
		total += f.time
	}
	var rows, shown, times bytes.Buffer
	ids := map[string]int{}
	var at time.Duration
	percent := func(d time.Duration) float64 { return 100 * float64(d) / float64(total) }
	for n, f := range frames {
		fmt.Fprintf(&shown, `<g class="f" style="animation-name:f%d">`, n)
		for i, text := range g.texts(f.rows) {
			if strings.TrimSpace(text) == "" {
				continue
			}
			id, known := ids[text]
			if !known {
				id = len(ids)
				ids[text] = id
				fmt.Fprintf(&rows, `<text id="r%d" x="%d" fill="%s" xml:space="preserve">%s</text>`+"\n", id, margin, g.ink, text)
			}
			fmt.Fprintf(&shown, `<use href="#r%d" y="%d"/>`, id, margin+(i+1)*lineHeight-5)
		}
		shown.WriteString("</g>\n")
		fmt.Fprintf(&times, "@keyframes f%d{0%%{visibility:hidden}%.3f%%{visibility:visible}%.3f%%{visibility:hidden}}\n", n, percent(at), percent(at+f.time))
		at += f.time
	}
	var b bytes.Buffer
	width, height := columns*charWidth+2*margin, movieRows*lineHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="13.3">`+"\n", width, height)
	fmt.Fprintf(&b, "<style>\n.f{visibility:hidden;animation:%.2fs step-end infinite}\n%s@media (prefers-reduced-motion:reduce){.f{animation:none}.f:last-of-type{visibility:visible}}\n</style>\n", total.Seconds(), times.String())
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="%s"/>`+"\n<defs>\n%s</defs>\n%s</svg>\n", width, height, g.paper, rows.String(), shown.String())
	return b.Bytes()
}
