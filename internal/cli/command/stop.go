package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"fika"
	"fika/internal/system/process"
)

// StopManner returns how to stop, according to the flags.
func StopManner(finish, now bool) (fika.Desired, error) {
	switch {
	case finish && now:
		return "", UsageError("--finish and --now cannot be used together")
	case finish:
		return fika.DesiredFinish, nil
	case now:
		return fika.DesiredNow, nil
	}
	return fika.DesiredStopped, nil
}

// CountRequests returns a number of requests with a verb: "1 request is".
func CountRequests(n int) string {
	if n == 1 {
		return "1 request is"
	}
	return fmt.Sprintf("%d requests are", n)
}

// StopPatience returns how long a command waits for a process to end.
func StopPatience(how fika.Desired) time.Duration {
	if how == fika.DesiredFinish {
		return 24 * time.Hour
	}
	return 45 * time.Second
}

// EndOnSignals lets the signals of [process.StopSignal] end a process, beside those
// that end every command. It calls give with a function that takes what the signals
// then call; until that has been set they end ctx. release stops listening.
func EndOnSignals(ctx context.Context, give func(take func(func(fika.Desired)))) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	var mu sync.Mutex
	end := func(fika.Desired) { cancel() }
	give(func(f func(fika.Desired)) {
		mu.Lock()
		defer mu.Unlock()
		end = f
	})
	ways := map[os.Signal]fika.Desired{}
	signals := make(chan os.Signal, 4)
	for _, how := range []fika.Desired{fika.DesiredFinish, fika.DesiredNow} {
		ways[process.StopSignal(how)] = how
		signal.Notify(signals, process.StopSignal(how))
	}
	done := make(chan struct{})
	go func() { // joined by release
		defer close(done)
		for s := range signals {
			mu.Lock()
			f := end
			mu.Unlock()
			f(ways[s])
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		<-done
		cancel()
	}
}

// OutliveReader makes a write to stdout fail where its reader has left, instead of ending
// the program, which has something to put in order.
func OutliveReader() { signal.Ignore(syscall.SIGPIPE) }
