package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pageRules are what the model knows of the page's picture: what needs a person, and an agent
// who is at work meanwhile.
const pageRules = `
[[rule]]
agent = "coder"
match = "ship it"
round = 1
tool_calls = [{name = "create", args = {path = "deploy.sh", content = "#!/bin/sh\nset -eu\nsh test.sh\ngit push origin main\nssh shop.example.org ./restart\n"}}]

[[rule]]
agent = "reviewer"
match = "what is left"
round = 1
reply = "Two things: a discount over **100** gives a negative total, and ` + "`cart.sh`" + ` has no tax. @maria shall I have both done?"

[[rule]]
agent = "tester"
match = "try them all"
round = 1
reply = "I go through every discount from 0 to 100, one after the other, and write down where the cents are lost: 0 gives 2997, 1 gives 2967, 2 gives 2937, 3 gives 2907, 4 gives 2877."
chunk = 2
chunk_delay = "900ms"
`

// page draws the page of a home in which work has been done, as a browser shows it in light
// and in dark.
func page(fika, home, out string) error {
	shop := filepath.Join(home, "shop")
	run := func(args ...string) (string, error) {
		cmd := exec.Command(fika, args...)
		cmd.Dir, cmd.Env = shop, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
		text, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("fika %s: %w", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	for _, args := range [][]string{
		{"chat", "create", "release"}, {"chat", "create", "cart"}, {"board", "add", "add the tax to cart.sh", "--capability", "tax"}, {"board", "add", "write the release notes", "--needs", "1"},
		{"chat", "send", "release", "@coder ship it"}, {"chat", "send", "cart", "@reviewer what is left?"}, {"chat", "send", "cart", "@tester try them all"},
	} {
		if _, err := run(args...); err != nil {
			return err
		}
	}
	for tries := 0; ; tries++ {
		asked, err := run("approve")
		if err != nil {
			return err
		}
		said, err := run("chat", "view", "cart")
		if err != nil {
			return err
		}
		if strings.Contains(asked, "deploy.sh") && strings.Contains(said, "Two things") {
			break
		}
		if tries == 300 {
			return fmt.Errorf("nothing needs the person: %s%s", asked, said)
		}
		time.Sleep(100 * time.Millisecond)
	}
	address, err := run("web", "--print")
	if err != nil {
		return err
	}
	b, err := openBrowser(filepath.Join(home, "browser"))
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1280, "height": 600, "deviceScaleFactor": 1, "mobile": false}, nil); err != nil {
		return err
	}
	if err := b.call("Page.navigate", map[string]any{"url": address}, nil); err != nil {
		return err
	}
	if err := b.shows("Two things"); err != nil {
		return err
	}
	if err := b.picture("light", out+".png"); err != nil {
		return err
	}
	return b.picture("dark", out+"-dark.png")
}
