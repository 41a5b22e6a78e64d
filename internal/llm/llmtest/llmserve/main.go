// Command llmserve is a stand-in for a provider in a process of its own: it answers chat
// completions or messages on loopback from a rules file (see internal/llm/scripted), and
// prints its base URL.
//
//	go run ./internal/llm/llmtest/llmserve -wire openai -addr 127.0.0.1:8099 -rules rules.toml
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"fika/internal/llm"
	"fika/internal/llm/llmtest"
	"fika/internal/llm/scripted"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "llmserve:", err)
		os.Exit(1)
	}
}

func run() error {
	wire := flag.String("wire", "openai", "protocol: openai or anthropic")
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	rules := flag.String("rules", "", "rules file; without one every prompt gets the default answer")
	flag.Parse()
	if w := llmtest.Wire(*wire); w != llmtest.OpenAI && w != llmtest.Anthropic {
		return fmt.Errorf("-wire is openai or anthropic, not %q", *wire)
	}
	model, err := load(*rules)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	srv, err := llmtest.Listen(*addr, llmtest.Wire(*wire), llmtest.FromModel(model))
	if err != nil {
		return err
	}
	fmt.Println(srv.URL())
	<-ctx.Done()
	return srv.Close()
}

func load(file string) (llm.Model, error) {
	if file == "" {
		return scripted.Default(), nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return scripted.New(scripted.Options{Rules: data, File: file})
}
