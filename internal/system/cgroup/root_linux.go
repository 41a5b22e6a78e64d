package cgroup

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fika"
	"fika/internal/text/hint"
)

// restName is the folder for processes that are in the way: a group that is divided may
// hold none itself.
const restName = "fika.rest"

// howToGet says what a person can do to have limits.
func howToGet() string {
	return "start the hub with systemd-run --user --scope -p Delegate=yes " + hint.Up.With() + ", or by a unit with Delegate=yes"
}

// Root is a folder of control groups that this user may divide.
type Root struct {
	dir         string
	controllers []string
}

// Dir returns the path of the folder.
func (r *Root) Dir() string { return r.dir }

// FindRoot finds a folder that this user may divide: dir if it is given, otherwise the
// group of this process if systemd delegated it, otherwise, for root, the top of the
// hierarchy. Error kind: NotFound, with a message that says why there is none.
func FindRoot(dir string) (*Root, error) {
	mount, err := mountPoint("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	if missing := without([]string{"memory", "cpu", "pids"}, controllersOf(mount)); len(missing) == 3 {
		return nil, fika.Errorf(fika.NotFound, "", "the control groups at %s have none of the controllers memory, cpu and pids: this machine still uses those of version 1; its kernel has to be booted with systemd.unified_cgroup_hierarchy=1", mount)
	}
	if dir != "" {
		return divide(dir, true)
	}
	own, err := ownGroup("/proc/self/cgroup", mount)
	if err != nil {
		return nil, err
	}
	r, err := divide(own, own == mount || isDelegated(own))
	if err != nil && os.Geteuid() == 0 && own != mount {
		if top, failed := divide(mount, true); failed == nil {
			return top, nil
		}
	}
	return r, err
}

// mountPoint returns where the version 2 hierarchy is mounted, according to mountinfo
// (proc(5)): fields, a dash, and the type of the file system.
func mountPoint(mountinfo string) (string, error) {
	f, err := os.Open(mountinfo)
	if err != nil {
		return "", fika.Wrap(fika.NotFound, "", err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		before, after, ok := strings.Cut(s.Text(), " - ")
		fields := strings.Fields(before)
		if ok && strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			return fields[4], nil
		}
	}
	return "", fika.Errorf(fika.NotFound, "", "no control groups of version 2 are mounted on this machine: its kernel has to be booted with systemd.unified_cgroup_hierarchy=1")
}

// ownGroup returns the folder of this process's group, or its parent if an earlier fika
// process moved this one aside.
func ownGroup(file, mount string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fika.Wrap(fika.NotFound, "", err)
	}
	for line := range strings.Lines(string(data)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			dir := filepath.Join(mount, path)
			if filepath.Base(dir) == restName {
				dir = filepath.Dir(dir)
			}
			if _, err := os.Stat(dir); err != nil {
				return "", fika.Errorf(fika.NotFound, "", "the control group of this process, %s, cannot be seen here", dir)
			}
			return dir, nil
		}
	}
	return "", fika.Errorf(fika.NotFound, "", "this process is in no control group of version 2")
}

// isDelegated reports whether systemd has delegated a folder.
func isDelegated(dir string) bool {
	var b [1]byte
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		if n, err := unix.Getxattr(dir, name, b[:]); err == nil && n == 1 && b[0] == '1' {
			return true
		}
	}
	return false
}

// divide prepares a folder so that groups with limits can be made in it. If the folder is
// ours, processes in it are moved aside.
func divide(dir string, ours bool) (*Root, error) {
	r := &Root{dir: dir, controllers: intersection([]string{"memory", "cpu", "pids"}, controllersOf(dir))}
	if len(r.controllers) == 0 {
		return nil, fika.Errorf(fika.NotFound, "", "the control group %s has no controllers to give: %s", dir, howToGet())
	}
	err := enable(dir, r.controllers)
	if errors.Is(err, syscall.EBUSY) && ours {
		if err = moveAside(dir); err == nil {
			err = enable(dir, r.controllers)
		}
	}
	if err == nil {
		var probe string
		if probe, err = os.MkdirTemp(dir, "fika.try-"); err == nil {
			err = os.Remove(probe)
		}
	}
	switch {
	case err == nil:
		return r, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EBUSY):
		return nil, fika.Errorf(fika.NotFound, "", "the control group %s is not this user's to divide: %s", dir, howToGet())
	}
	return nil, fika.Errorf(fika.NotFound, "", "the control group %s cannot be divided: %v", dir, err)
}

// enable enables the controllers for the groups below dir.
func enable(dir string, controllers []string) error {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	for _, c := range without(controllers, strings.Fields(string(data))) {
		if err := set(dir, "cgroup.subtree_control", "+"+c); err != nil {
			return err
		}
	}
	return nil
}

// moveAside moves all processes of a group into a subgroup without limits. Processes that
// are started meanwhile are moved in the next round, of which there are at most 20.
func moveAside(dir string) error {
	rest := filepath.Join(dir, restName)
	if err := os.Mkdir(rest, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for range 20 {
		data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil || len(strings.TrimSpace(string(data))) == 0 {
			return err
		}
		for line := range strings.Lines(string(data)) {
			if err := set(rest, "cgroup.procs", strings.TrimSpace(line)); err != nil && !errors.Is(err, syscall.ESRCH) {
				return err
			}
		}
	}
	return syscall.EBUSY
}

func controllersOf(dir string) []string {
	data, _ := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	return strings.Fields(string(data))
}

func intersection(a, b []string) []string {
	return slices.DeleteFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// set writes one of the files of a group. It never creates the file: a file that is
// missing belongs to a controller that is missing.
func set(dir, file, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
