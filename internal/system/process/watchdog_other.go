//go:build unix && !linux

package process

import "time"

// watchdog does not exist on this platform: nothing ends the children of a stopped
// process.
type watchdog struct{}

// Boottime returns 0: how long the machine has run is not known on this platform.
func Boottime() time.Duration { return 0 }

// Until does nothing on this platform.
func (c *Children) Until(time.Duration) {}

// Rest does nothing on this platform.
func (c *Children) Rest() {}

func (c *Children) beforeStart(child) error { return nil }
func (c *Children) afterStart(int, child)   {}
func (c *Children) afterEnd(int, child)     {}

// IsWatchdog returns false: there is none on this platform.
func IsWatchdog([]string) bool { return false }

// Watch does nothing on this platform.
func Watch() int { return 1 }
