package nats

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
)

// serverLog forwards the server's log lines. A fatal line does not end the process; the
// first one is kept so that the start can fail with it.
type serverLog struct {
	log *slog.Logger

	mu    sync.Mutex
	first string
}

func (l *serverLog) fatalError() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first
}

// Noticef implements the server's Logger; notices are logged at debug level.
func (l *serverLog) Noticef(format string, v ...any) { l.logLine(slog.LevelDebug, format, v) }

// Warnf implements the server's Logger.
func (l *serverLog) Warnf(format string, v ...any) { l.logLine(slog.LevelWarn, format, v) }

// Errorf implements the server's Logger.
func (l *serverLog) Errorf(format string, v ...any) { l.logLine(slog.LevelError, format, v) }

// Fatalf implements the server's Logger.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.mu.Lock()
	if l.first == "" {
		l.first = fmt.Sprintf(format, v...)
	}
	l.mu.Unlock()
	l.logLine(slog.LevelError, format, v)
}

// Debugf implements the server's Logger.
func (l *serverLog) Debugf(format string, v ...any) { l.logLine(slog.LevelDebug, format, v) }

// Tracef implements the server's Logger.
func (l *serverLog) Tracef(format string, v ...any) { l.logLine(slog.LevelDebug, format, v) }

func (l *serverLog) logLine(level slog.Level, format string, v []any) {
	if !l.log.Enabled(context.Background(), level) {
		return
	}
	l.log.Log(context.Background(), level, "bus server", "says", fmt.Sprintf(format, v...))
}
