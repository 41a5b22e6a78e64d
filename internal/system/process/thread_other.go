//go:build unix && !linux

package process

// Thread is a thread of this process. On this platform priorities belong to processes,
// and a thread has none of its own.
type Thread struct{}

// OwnThread does nothing.
func OwnThread() Thread { return Thread{} }

// Yield does nothing.
func (Thread) Yield() {}
