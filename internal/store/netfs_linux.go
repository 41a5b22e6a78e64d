package store

import "golang.org/x/sys/unix"

// networkFS returns the name of the network file system that dir is on, or "" if it
// is local. SQLite's locks and shared memory do not work across machines.
func networkFS(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "" // opening will say what is wrong
	}
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.SMB_SUPER_MAGIC, 0xff534d42, 0xfe534d42:
		return "SMB"
	case unix.V9FS_MAGIC:
		return "9P"
	case unix.AFS_SUPER_MAGIC, 0x6b414653:
		return "AFS"
	case unix.CODA_SUPER_MAGIC:
		return "Coda"
	case 0x00c36400:
		return "Ceph"
	case 0x0bd00bd0:
		return "Lustre"
	case 0x01161970:
		return "GFS2"
	case unix.OCFS2_SUPER_MAGIC:
		return "OCFS2"
	}
	return ""
}
