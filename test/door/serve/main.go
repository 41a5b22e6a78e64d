// Command serve opens the service of a home ($FIKA_HOME) and hands it to the door, for the
// person of that home: whoever has the token ($DOOR_TOKEN) is that person. It prints where
// it listens, and goes on until its input ends.
package main

import (
	"context"
	"crypto/subtle"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"fika/internal/api"
	"fika/internal/app"
	"fika/internal/service"
	"fika/test/door"
)

func main() {
	if err := serve(context.Background(), os.Getenv("DOOR_TOKEN")); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, token string) error {
	a := app.New(app.Options{})
	defer a.Close()
	a.StayOpen()
	a.FollowConfig(func(text string) { fmt.Fprintln(os.Stderr, text) })
	conf, err := a.Config()
	if err != nil {
		return err
	}
	subjects, err := a.Subjects()
	if err != nil {
		return err
	}
	b, err := a.ListenerBus(ctx) // the hub may come and go
	if err != nil {
		return err
	}
	c, err := service.OnBus(ctx, a, api.Principal{Kind: api.Person, Name: conf.Username, Door: api.DoorPage}, b, subjects)
	if err != nil {
		return err
	}
	person := service.Door(c)
	h := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: door.Handler(func(r *http.Request) (api.Service, bool) {
		ok := token != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+token)) == 1
		return person, ok
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	go func() { // ends with the input, and then the process does
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = h.Close()
	}()
	if err := h.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}
