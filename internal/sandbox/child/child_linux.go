package child

import (
	"runtime"
	"syscall"
	"unsafe"
)

func init() {
	if _, ok := syscall.Getenv(Variable); ok {
		become()
	}
}

// become turns this process into the command of the spec on descriptor 3. It
// never returns.
func become() {
	runtime.LockOSThread() // the domain, the filter and exec belong to one thread
	s, step, err := confine()
	if err != nil {
		quit(126, "the command was not started, because it could not be confined: "+step+": "+err.Error())
	}
	err = syscall.Exec(s.Path, s.Args, environment())
	quit(127, s.Path+" cannot be started: "+err.Error())
}

func quit(status int, why string) {
	_, _ = syscall.Write(2, []byte("fika: "+why+"\n"))
	syscall.Exit(status)
}

// environment is that of the command.
func environment() []string {
	var out []string
	for _, one := range syscall.Environ() {
		if len(one) <= len(Variable) || one[:len(Variable)+1] != Variable+"=" {
			out = append(out, one)
		}
	}
	return out
}

// What package syscall does not name; the numbers are the same on all
// architectures (linux/prctl.h, linux/close_range.h, asm-generic/unistd.h).
const (
	prSetNoNewPrivs       = 38
	seccompModeFilter     = 2
	sysCloseRange         = 436
	closeRangeCloexec     = 4
	sysLandlockRestrict   = 446
	bytesOfOneInstruction = 8
)

// confine takes rights away from this thread. step is what failed.
func confine() (s Spec, step string, err error) {
	data, err := readSpec()
	if err != nil {
		return s, "read the spec", err
	}
	s, ok := decode(data)
	if !ok {
		return s, "read the spec", syscall.EINVAL
	}
	// Not closed here: among them are those that the runtime of Go waits on.
	if err := call(sysCloseRange, specDescriptor, uintptr(^uint32(0)), closeRangeCloexec); err != nil {
		return s, "close descriptors", err
	}
	if err := dropCapabilities(); err != nil {
		return s, "drop capabilities", err
	}
	if err := call(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0); err != nil {
		return s, "no new privileges", err
	}
	if err := call(sysLandlockRestrict, rulesetDescriptor, 0, 0); err != nil {
		return s, "landlock", err
	}
	program := syscall.SockFprog{Len: uint16(len(s.Filter) / bytesOfOneInstruction), Filter: (*syscall.SockFilter)(unsafe.Pointer(&s.Filter[0]))}
	err = call(syscall.SYS_PRCTL, syscall.PR_SET_SECCOMP, seccompModeFilter, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(s.Filter)
	return s, "seccomp", err
}

func call(number, a, b, c uintptr) error {
	if _, _, errno := syscall.RawSyscall6(number, a, b, c, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// readSpec reads descriptor 3 to its end.
func readSpec() ([]byte, error) {
	var out []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := syscall.Read(specDescriptor, buf)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return nil, err
		case n == 0:
			return out, nil
		default:
			out = append(out, buf[:n]...)
		}
	}
}

// dropCapabilities empties the bounding set, so that root executes the command
// without any. Who has no capability has nothing to drop.
func dropCapabilities() error {
	for c := uintptr(0); ; c++ {
		switch err := call(syscall.SYS_PRCTL, syscall.PR_CAPBSET_DROP, c, 0); err {
		case nil:
		case syscall.EINVAL, syscall.EPERM: // beyond the last one this kernel knows; not ours to drop
			return nil
		default:
			return err
		}
	}
}
