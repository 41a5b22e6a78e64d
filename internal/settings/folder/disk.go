package folder

import "fmt"

// FullDisk says that the disk of a home has less room than least bytes, or for no more
// files; empty: it has room, or that is not known.
func FullDisk(home string, least int64) string {
	free, files, ok := FreeSpace(home)
	switch {
	case !ok:
	case free < least:
		return fmt.Sprintf("the disk of %s is full (%d KiB free): answers that are finished wait until they can be stored; make room", home, free>>10)
	case files >= 0 && files < 10:
		return fmt.Sprintf("the disk of %s can take only %d more files (inodes), whatever space is free: remove files", home, files)
	}
	return ""
}
