package process

import (
	"os"
	"os/user"
	"strconv"
	"syscall"

	"fika"
)

// User is a user of this machine as whom processes are started.
type User struct {
	Name   string
	Home   string
	UID    uint32
	GID    uint32
	Groups []uint32
}

// FindUser finds a user by name. Error kinds: NotFound when there is none, Denied when
// this process may not start anything as that user.
func FindUser(name string) (*User, error) {
	const op = "user"
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fika.Errorf(fika.NotFound, op, "this machine has no user %q: name one that there is, or make it with useradd --system %s", name, name)
	}
	out := &User{Name: u.Username, Home: u.HomeDir}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, fika.Wrap(fika.Failed, op, err)
	}
	for i, text := range append([]string{u.Uid, u.Gid}, ids...) {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fika.Wrap(fika.Failed, op, err)
		}
		switch i {
		case 0:
			out.UID = uint32(id)
		case 1:
			out.GID = uint32(id)
		default:
			out.Groups = append(out.Groups, uint32(id))
		}
	}
	if os.Geteuid() != 0 && int(out.UID) != os.Geteuid() {
		return nil, fika.Errorf(fika.Denied, op, "only root can start tools as %s: start it as root, or leave user out", name)
	}
	return out, nil
}

// StartAs makes a process begin as a user, or as the caller if c is nil.
func StartAs(attr *syscall.SysProcAttr, c *syscall.Credential) *syscall.SysProcAttr {
	attr.Credential = c
	return attr
}

// Credential returns what a process of this user is started with. It is nil if u is nil
// or this process is not root's: then processes start as its own user.
func (u *User) Credential() *syscall.Credential {
	if u == nil || os.Geteuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
}
