package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	pageSize      = 4096
	immutableFlag = 0x10 // FS_IMMUTABLE_FL
)

// sysCachestat is the same on all architectures (Linux 6.5).
const sysCachestat = 451

type cachestatRange struct{ off, len uint64 }

type cachestat struct{ cached, dirty, writeback, evicted, recent uint64 }

// unsynced returns the offset of the part of a file that is not on disk yet, that is,
// its first page that is dirty or being written. It fails if this kernel or file
// system cannot tell.
func unsynced(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	for off := int64(0); off < st.Size(); off += pageSize {
		r := cachestatRange{uint64(off), pageSize}
		var c cachestat
		_, _, errno := unix.Syscall6(sysCachestat, f.Fd(), uintptr(unsafe.Pointer(&r)), uintptr(unsafe.Pointer(&c)), 0, 0, 0)
		if errno != 0 {
			return 0, errno
		}
		if c.dirty+c.writeback > 0 {
			return off, nil
		}
	}
	return st.Size(), nil
}

// tells reports whether dirty pages can be told from clean ones in a folder: a page
// just written is dirty, and clean after a sync.
func tells(dir string) bool {
	f, err := os.CreateTemp(dir, "probe-*")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name())
	defer f.Close()
	_, err = f.WriteString("x")
	before, err1 := unsynced(f.Name())
	err2 := f.Sync()
	after, err3 := unsynced(f.Name())
	return errors.Join(err, err1, err2, err3) == nil && before == 0 && after == 1
}

// loseUnsynced does to the files of a folder what a power failure would: it removes
// what is not on disk. It only cuts files that grow at their end. In the database's
// log the first unsafe page may begin with the end of a safe commit, so it is kept
// whole, as a disk may have it too.
func loseUnsynced(dir string, which func(name string) bool) (lost int, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !which(d.Name()) {
			return err
		}
		at, err := unsynced(path)
		if err != nil {
			return err
		}
		st, err := os.Stat(path)
		if strings.HasSuffix(path, "-wal") {
			at += pageSize
		}
		if err == nil && at < st.Size() {
			lost++
			err = os.Truncate(path, at)
		}
		return err
	})
	return lost, err
}

// immutable makes files unwritable for everybody, including root and open descriptors,
// or writable again.
func immutable(files []string, on bool) error {
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		if err == nil {
			flags &^= immutableFlag
			if on {
				flags |= immutableFlag
			}
			err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// sizeLimit limits the size of every file that a process writes; 0 removes the limit.
func sizeLimit(pid int, bytes uint64) error {
	var old unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &old); err != nil {
		return err
	}
	next := unix.Rlimit{Cur: bytes, Max: old.Max}
	if bytes == 0 {
		next.Cur = old.Max
	}
	return unix.Prlimit(pid, unix.RLIMIT_FSIZE, &next, nil)
}

// powerBus cuts the power when the stream has acknowledged requests that have not been
// read yet: the hub cannot store them, because the database is busy.
func powerBus(r *run) int {
	if !tells(r.root) {
		return notHere
	}
	if !r.start() {
		return 0
	}
	r.ask("ask", "arya", "read")
	r.settle()
	release := r.lock()
	if release == nil {
		return 0
	}
	url := r.fika("status", "--show-bus").stdout
	for range 5 {
		j := r.new("wire", hop{"gendry", nil})
		j.request = "power-" + words(j.plan) + string(rune('a'+j.id))
		j.accepted = r.publishTo(url, "gendry", wireBody("ask_request", "gendry", j))
	}
	r.signal("", syscall.SIGKILL) // before the database is free
	wait(5*time.Second, func() bool { return len(r.processes("")) == 0 })
	release()
	r.dark(func() {
		if _, err := loseUnsynced(filepath.Join(r.root, "run", "jetstream"), func(string) bool { return true }); err != nil {
			r.bad("%v", err)
		}
	})
	r.settle()
	return 1
}

// powerStore cuts the power in the middle of everything: whatever the program has
// confirmed is on disk. A server loses what it has not written out; that its disk
// keeps what was synced is the server's own promise.
func powerStore(r *run) int {
	if !tells(r.root) {
		return notHere
	}
	return r.meanwhile(6, func() (n int) {
		for range 2 {
			wait(patience/4, func() bool { // there is something to lose
				open, err := r.number(`SELECT count(*) FROM requests WHERE finished_at = 0`)
				return err == nil && open > 0
			})
			r.pause(300 * time.Millisecond)
			n += r.dark(func() {
				r.restartServer()
				_, err := loseUnsynced(r.root, func(name string) bool {
					return name == "fika.db-wal" || strings.HasSuffix(name, ".blk") || strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".md")
				})
				if err != nil {
					r.bad("%v", err)
				}
			})
			r.start()
		}
		return n
	})
}

// smallDisk mounts a small disk; it returns errNotHere where that is not allowed.
func smallDisk() (dir string, unmount func(), err error) {
	if dir, err = os.MkdirTemp("", "fika-disk-"); err != nil {
		return "", nil, err
	}
	if syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=192m,mode=1777") != nil {
		return "", nil, errors.Join(errNotHere, os.Remove(dir))
	}
	return dir, func() { _ = errors.Join(syscall.Unmount(dir, syscall.MNT_DETACH), os.Remove(dir)) }, nil
}
