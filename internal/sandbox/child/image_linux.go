package child

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"fika"
)

// The layout of an image, and the addresses of its parts. launch_*.s knows headerAt and
// the layouts of the header and of a call.
const (
	codeAt   = 0x400000
	headerAt = 0x800000 + dataOffset
	// dataOffset is where the header begins in the file.
	dataOffset = 0x1000
	codeOffset = 0x100
	// dataStart is the address of the data that arguments point to.
	dataStart = headerAt + 8*headerWords
	// headerWords: where the address of the environment goes, the status of a child, the
	// address of the first call.
	headerWords = 3
	argsPerCall = 6
	// wordsPerCall: number, two places for the result, failure and its length, status,
	// whether it forks, arguments.
	wordsPerCall = 7 + argsPerCall
	maxUses      = 2       // of a result
	pageSize     = 0x10000 // the largest of any kernel for these machines
)

const execNumber = unix.SYS_EXECVE

// Image returns the executable that makes the calls. Error kind: Failed.
func (p *Program) Image() ([]byte, error) {
	code := code()
	if p.exec == 0 || p.exec != len(p.calls) || len(code) > dataOffset-codeOffset || len(code) == 0 {
		return nil, fika.Errorf(fika.Failed, "sandbox", "the program does not end with a command")
	}
	failures := make([]Word, len(p.calls))
	for i, c := range p.calls {
		if c.failure != "" {
			failures[i] = p.Bytes([]byte(failureText(c.failure)))
		}
	}
	first := p.Bytes(nil).value
	argument := func(at int) uint64 {
		return first + 8*uint64(at/argsPerCall*wordsPerCall+wordsPerCall-argsPerCall+at%argsPerCall)
	}
	var words []uint64
	for i, c := range p.calls {
		head := [wordsPerCall]uint64{0: c.number, 3: failures[i].value, 4: uint64(len(failureText(c.failure))), 5: c.status}
		if len(c.resultFor) > maxUses {
			return nil, fika.Errorf(fika.Failed, "sandbox", "the result of a call is used more than twice")
		}
		for k, at := range c.resultFor {
			head[1+k] = argument(at)
		}
		if c.forks {
			head[6] = 1
		}
		for k, w := range c.args {
			head[wordsPerCall-argsPerCall+k] = w.value
		}
		words = append(words, head[:]...)
	}
	data := binary.NativeEndian.AppendUint64(nil, argument(argsPerCall*(p.exec-1)+2))
	data = binary.NativeEndian.AppendUint64(data, 0)
	data = binary.NativeEndian.AppendUint64(data, first)
	data = append(data, p.data...)
	for _, w := range words {
		data = binary.NativeEndian.AppendUint64(data, w)
	}
	return executable(code, data), nil
}

// executable returns an ELF file with two segments: instructions, which cannot be
// written, and data, which cannot be executed.
func executable(code, data []byte) []byte {
	var out bytes.Buffer
	header := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Entry: codeAt + codeOffset, Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 3,
	}
	segments := []elf.Prog64{
		{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_X), Vaddr: codeAt, Filesz: uint64(codeOffset + len(code)), Memsz: uint64(codeOffset + len(code)), Align: pageSize},
		{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W), Off: dataOffset, Vaddr: headerAt, Filesz: uint64(len(data)), Memsz: uint64(len(data)), Align: pageSize},
		{Type: uint32(elf.PT_GNU_STACK), Flags: uint32(elf.PF_R | elf.PF_W)},
	}
	// Writing to memory does not fail, and these types have fixed sizes.
	_ = binary.Write(&out, binary.LittleEndian, header)
	_ = binary.Write(&out, binary.LittleEndian, segments)
	out.Write(make([]byte, codeOffset-out.Len()))
	out.Write(code)
	out.Write(make([]byte, dataOffset-out.Len()))
	out.Write(data)
	return out.Bytes()
}

// Open writes the image into an anonymous file. The process that has it as descriptor N
// can execute it as /proc/self/fd/N.
func (p *Program) Open() (*os.File, error) {
	image, err := p.Image()
	if err != nil {
		return nil, err
	}
	f, err := memory()
	if err != nil { // a system may forbid executing files in memory
		return onDisk(image)
	}
	if _, err := f.Write(image); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// memory creates an executable file in memory.
func memory() (*os.File, error) {
	fd, err := unix.MemfdCreate("confine", unix.MFD_CLOEXEC|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3, where all such files are executable
		fd, err = unix.MemfdCreate("confine", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "confine"), nil
}

// onDisk writes an image into a file whose name is removed before it returns.
func onDisk(image []byte) (*os.File, error) {
	// A file that is open for writing cannot be executed, and a process that is being
	// started at this moment would inherit the descriptor for a while.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	w, err := os.CreateTemp("", "fika-confine-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(w.Name())
	_, err = w.Write(image)
	if err = errors.Join(err, w.Chmod(0o700), w.Close()); err != nil {
		return nil, err
	}
	return os.Open(w.Name())
}
