package sandbox

import (
	"bytes"
	"encoding/binary"
	"os"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"fika"
)

// Offsets into struct seccomp_data (linux/seccomp.h): the number of the call, the
// architecture, and the low halves of its arguments.
const (
	offNumber = 0
	offArch   = 4
	offArg0   = 16
	offArg1   = 24
)

// The return values of the program (linux/seccomp.h), with the error number in the low
// bits.
const (
	allow     = 0x7fff0000
	errno     = 0x00050000
	kill      = 0x80000000
	x32Bit    = 0x40000000
	cloneNS   = unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	afAlg     = unix.AF_ALG
	afPacket  = unix.AF_PACKET
	afVsock   = unix.AF_VSOCK
	tiocsti   = unix.TIOCSTI
	tioclinux = unix.TIOCLINUX
)

// refused lists system calls that no tool needs and that lead out of a sandbox or into
// less tested parts of the kernel.
var refused = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_SETNS, unix.SYS_UNSHARE,
	unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_MOUNT_SETATTR,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_REBOOT, unix.SYS_SWAPON,
}

// sockets says which kinds of socket a call may open.
type sockets struct {
	unix bool // path-based and abstract; socketpair is always allowed
	inet bool
}

// filter returns the seccomp program for calls that may open the allowed sockets. Each
// program is compiled once.
func (s *Sandbox) filter(allowed sockets) ([]byte, error) {
	if known, ok := s.filters.Load(allowed); ok {
		return known.([]byte), nil
	}
	arch, err := machine()
	if err != nil {
		return nil, err
	}
	program, err := compile(arch, allowed)
	if err != nil {
		return nil, fika.Wrap(fika.Failed, "sandbox", err)
	}
	s.filters.Store(allowed, program)
	return program, nil
}

// compile returns a seccomp program in the kernel's format.
func compile(arch uint32, s sockets) ([]byte, error) {
	var p program
	p.load(offArch)
	p.unless(arch, kill)
	p.load(offNumber)
	p.add(bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32Bit, SkipFalse: 1}, bpf.RetConstant{Val: kill})
	for _, n := range refused {
		p.when(n, errno|uint32(unix.EPERM))
	}
	p.when(unix.SYS_CLONE3, errno|uint32(unix.ENOSYS)) // its flags cannot be inspected; callers fall back to clone
	p.argument(unix.SYS_CLONE, offArg0, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: cloneNS, SkipFalse: 1})
	for _, request := range []uint32{tiocsti, tioclinux} {
		p.argument(unix.SYS_IOCTL, offArg1, bpf.JumpIf{Cond: bpf.JumpEqual, Val: request, SkipFalse: 1})
	}
	families := []uint32{afPacket, afVsock, afAlg}
	if !s.unix {
		families = append(families, unix.AF_UNIX)
	}
	if !s.inet {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	for _, family := range families {
		p.argument(unix.SYS_SOCKET, offArg0, bpf.JumpIf{Cond: bpf.JumpEqual, Val: family, SkipFalse: 1})
	}
	p.add(bpf.RetConstant{Val: allow})
	return p.bytes()
}

// program collects instructions. Between any two of its methods the accumulator holds the
// number of the call.
type program []bpf.Instruction

func (p *program) add(i ...bpf.Instruction) { *p = append(*p, i...) }

func (p *program) load(off uint32) { p.add(bpf.LoadAbsolute{Off: off, Size: 4}) }

// unless returns ret if the accumulator is not val.
func (p *program) unless(val, ret uint32) {
	p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: val, SkipTrue: 1}, bpf.RetConstant{Val: ret})
}

// when returns ret if the accumulator is val.
func (p *program) when(val, ret uint32) {
	p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: val, SkipFalse: 1}, bpf.RetConstant{Val: ret})
}

// argument refuses a call whose argument passes the test.
func (p *program) argument(number, off uint32, test bpf.JumpIf) {
	p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipFalse: 4})
	p.load(off)
	p.add(test, bpf.RetConstant{Val: errno | uint32(unix.EPERM)})
	p.load(offNumber)
}

// bytes encodes the program as an array of struct sock_filter in the machine's byte
// order, which is little-endian on the architectures fika is built for.
func (p program) bytes() ([]byte, error) {
	raw, err := bpf.Assemble(p)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, i := range raw {
		_ = binary.Write(&out, binary.NativeEndian, i)
	}
	return out.Bytes(), nil
}

// memory writes data into an anonymous file, positioned at its start.
func memory(data []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("filter", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "filter")
	if _, err := f.WriteAt(data, 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
