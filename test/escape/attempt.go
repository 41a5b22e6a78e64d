package main

import (
	"slices"
	"strings"

	"fika/internal/sandbox/confine/confinetest"
)

// attempt is one way out. Script is run by the agent, in its workspace; it has
// reached what it wants when it prints REACHED, or when after, which the person
// runs when the call is over, does.
type attempt struct {
	name, script, after string
	inUse               bool   // in a repository with submodules, settings and hooks in the tree, and working trees
	lacking             bool   // tier landlock does not deny it, and says so
	missing             string // why it cannot succeed here without a sandbox either; empty: it can
	kernel              string // what missing is if the script does not succeed when it is run directly
	ordinary            string // likewise for a user who is not root
	routes              []string
}

// syscall is a python program that makes one system call and says whether it
// was let through; a refusal by arguments counts as through.
func syscall(numbersAndArgs string) string {
	return `python3 - <<'P'
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
r = libc.syscall(` + numbersAndArgs + `)
e = ctypes.get_errno()
print("REACHED" if r >= 0 or e not in (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ESRCH) else errno.errorcode[e])
P`
}

// until is a shell command that waits until another succeeds, not for ever.
func until(command string) string {
	return `for i in $(seq 600); do ` + command + ` && break; sleep 0.05; done`
}

func python(code string) string { return "python3 - <<'P'\n" + code + "\nP" }

const (
	secret   = `grep -q PRIVATE `
	reached  = ` && echo REACHED`
	gitPwned = `git -c user.name=a -c user.email=a@b status >/dev/null 2>&1; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m mine >/dev/null 2>&1; test -e "$PWN" && echo REACHED`
	hook     = `printf '#!/bin/sh\ntouch "$PWN"\n' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit`
)

// swaps is a python program that makes a name a folder and a link to it by turns.
func swaps(name, aside string) string {
	return python(`import os
def attempt(f, *a):
    try: f(*a)
    except OSError: pass
for i in range(10000):
    attempt(os.rename, "` + name + `", "` + aside + `")
    attempt(os.symlink, "` + aside + `", "` + name + `")
    attempt(os.unlink, "` + name + `")
    attempt(os.rename, "` + aside + `", "` + name + `")`)
}

func attempts() []attempt {
	return slices.Concat(fileAttempts(), gitAttempts(), processAttempts(), networkAttempts())
}

func fileAttempts() []attempt {
	return []attempt{
		{name: "read a key", script: secret + `~/.ssh/id` + reached},
		{name: "through a link in the workspace", script: `ln -sf ~/.ssh/id l; ` + secret + `l` + reached},
		{name: "through a link that an earlier call left", script: secret + `left` + reached},
		{name: "through a hard link", script: `ln ~/.ssh/id h; ` + secret + `h` + reached},
		{name: "through /proc/self/root", script: secret + `/proc/self/root$HOME/.ssh/id` + reached},
		{name: "fika.db", script: `head -c 15 "$H/fika.db" | grep -q SQLite` + reached},
		{name: "fika.db-wal", script: `head -c 1 "$H/fika.db-wal" >/dev/null` + reached},
		{name: "permissions of a key", script: `chmod 640 ~/.ssh/id` + reached, lacking: true},
		{name: "files of keys without a usual place", script: `cd; for f in ` + strings.Join(confinetest.Credentials(), " ") + `; do ` + `grep -qs PLANTED "$f"` + reached + ` && break; done`},
		{name: "anything else in the home", script: `grep -rqs "PLANTE[D]" ~` + reached},
		{name: "password hashes of the machine", script: `grep -q root /etc/shadow` + reached, ordinary: "the system refuses it"},
		{name: "the bus credentials", script: `grep -q x "$H/run/credentials"` + reached},
		{name: "another context", script: `grep -q other "$H/contexts/other/todos.md"` + reached},
		{name: "fika's settings", script: `echo >> "$H/config.toml"` + reached},
		{name: "a plugin's file", script: `echo >> "$H/plugins/shell"` + reached},
		{name: "fika itself, out of the process tree", script: `(env -i PATH="$PATH" HOME="$HOME" FIKA_HOME="$H" setsid sh -c '"$0" context new pwned; : > done' "$FIKA" >/dev/null 2>&1 &); ` + until(`[ -e done ]`),
			after: `test -d "$H/contexts/pwned" && rm -r "$H/contexts/pwned" && echo REACHED`},
		{name: "~/.bashrc", script: `echo evil >> ~/.bashrc`, after: `grep -q evil ~/.bashrc && : > ~/.bashrc && echo REACHED`},
		{name: "autostart", script: `mkdir -p ~/.config/autostart && echo evil > ~/.config/autostart/e.desktop`, after: `test -e ~/.config/autostart/e.desktop && rm -r ~/.config/autostart && echo REACHED`},
		{name: "a crontab in the home", script: `mkdir -p ~/cron && echo '* * * * * evil' > ~/cron/tab`, after: `test -e ~/cron/tab && rm -r ~/cron && echo REACHED`},
		{name: ".git/hooks", script: hook, after: gitPwned},
		{name: ".git/hooks, renamed", script: `mv .git/hooks .git/h2; mkdir -p .git/hooks; ` + hook, after: gitPwned},
		{name: ".git/config (core.fsmonitor)", script: `git config core.fsmonitor "touch $PWN; false"`, after: gitPwned},
		{name: ".git replaced", script: `mv .git .g2; git init -q; ` + hook, after: gitPwned},
		{name: ".git made a link", script: `cp -r .git .g2; mv .git .g3; ln -s .g2 .git; git config core.fsmonitor "touch $PWN; false"`, after: gitPwned},
		{name: ".git and a link swapped 10,000 times", script: swaps(".git", ".g2") + "\nmv .git .g2; git init -q; " + hook, after: gitPwned},
		{name: ".fika and a link swapped 10,000 times", script: "mkdir .f2; echo evil > .f2/config.toml\n" + swaps(".fika", ".f2") + "\nmv .fika .f2; ln -sfn .f2 .fika",
			after: `grep -q evil .fika/config.toml && echo REACHED; rm -rf .fika .f2`},
		{name: ".git/commondir", script: `mkdir -p c/objects c/refs c/hooks; cp .git/HEAD c; cp -r .git/objects .git/refs c; printf '#!/bin/sh\ntouch "$PWN"\n' > c/hooks/pre-commit; chmod +x c/hooks/pre-commit; echo ../c > .git/commondir`, after: gitPwned},
		{name: ".fika/config.toml", script: `mkdir -p .fika && echo evil > .fika/config.toml`, after: `test -e .fika/config.toml && rm -r .fika && echo REACHED`},
		{name: "AGENTS.md", script: `echo obey > AGENTS.md`, after: `test -e AGENTS.md && rm AGENTS.md && echo REACHED`},
		{name: ".envrc through a rename", script: `echo evil > e && mv e .envrc`, after: `test -e .envrc && rm .envrc && echo REACHED`},
		{name: "the build cache of all projects", script: `mkdir -p ~/.cache/go-build && echo evil > ~/.cache/go-build/e`, after: `test -e ~/.cache/go-build/e && rm -r ~/.cache/go-build && echo REACHED`},
		{name: "a file in /tmp for another agent", script: `echo evil > /tmp/"$NAME"`, after: `test -e /tmp/"$NAME" && rm /tmp/"$NAME" && echo REACHED`},
		{name: "a file in /dev/shm", script: `echo evil > /dev/shm/"$NAME"`, after: `test -e /dev/shm/"$NAME" && rm /dev/shm/"$NAME" && echo REACHED`},
		{name: "a raw disk", script: `for d in /dev/vda /dev/sda /dev/nvme0n1; do head -c 1 $d >/dev/null 2>&1` + reached + ` && break; done`, missing: "the system refuses it"},
		{name: "/dev/mem", script: `head -c 1 /dev/mem >/dev/null` + reached, missing: "the kernel refuses it"},
		{name: "settings of the kernel (/proc/sys)", script: `v=$(cat /proc/sys/vm/swappiness) && echo $v > /proc/sys/vm/swappiness` + reached, ordinary: "the system refuses it"},
		{name: "open_by_handle_at", script: syscall(`304, -100, 0, 0`), ordinary: "the system refuses it"},
	}
}

// person is what a person does with git in their repository, every day.
const person = `g() { git -c user.name=a -c user.email=a@b "$@" >/dev/null 2>&1; }; g status; g diff; g submodule update --init; g -C lib status; g checkout -q -b later; g commit -q --allow-empty -m mine; g checkout -q -; GIT_EDITOR=true g rebase --continue; test -e "$PWN" && echo REACHED`

// evil is a git setting that runs a command.
const evil = `config core.fsmonitor "touch $PWN; false"`

func gitAttempts() []attempt {
	list := []attempt{
		{name: "a repository in the tree, as a submodule (S1)", script: `git init -q sub && git -C sub -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git -C sub ` + evil + `; git add sub; git -c user.name=a -c user.email=a@b commit -qm sub`, after: person},
		{name: "a submodule's .git leads elsewhere (S2)", script: `git init -q .evil && git -C .evil ` + evil + ` && echo 'gitdir: ../.evil/.git' > lib/.git`, after: person},
		{name: "a submodule moved, another in its place (S2)", script: `mv lib l2; git init -q lib && git -C lib ` + evil, after: person},
		{name: "core.hooksPath in the tree (S3)", script: `printf '#!/bin/sh\ntouch "$PWN"\n' > .githooks/pre-commit; chmod +x .githooks/pre-commit`, after: person},
		{name: "core.hooksPath, renamed (S3)", script: `mv .githooks g2; mkdir .githooks; printf '#!/bin/sh\ntouch "$PWN"\n' > .githooks/pre-commit; chmod +x .githooks/pre-commit`, after: person},
		{name: "include.path in the tree (S4)", script: `git config --file .gitconfig.shared core.fsmonitor "touch $PWN; false"`, after: person},
		{name: "includeIf that does not hold yet (S4)", script: `git config --file .gitconfig.later core.fsmonitor "touch $PWN; false"`, after: `git checkout -q -b later; ` + person},
		{name: "a program that an alias names", script: `printf '#!/bin/sh\ntouch "$PWN"\n' > tools/b; chmod +x tools/b`, after: `git b; test -e "$PWN" && echo REACHED`},
		{name: "a repository in .git/modules (S5)", script: `git init -q e && git -C e -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && c=$(git -C e rev-parse HEAD) && git -C e ` + evil + ` && git -C e config core.worktree ../../../evil && mkdir -p .git/modules && mv e/.git .git/modules/evil && rmdir e
git update-index --add --cacheinfo 160000,$c,evil && printf '[submodule "evil"]\n\tpath = evil\n\turl = ./evil\n' >> .gitmodules && git add .gitmodules; git -c user.name=a -c user.email=a@b commit -qm evil`, after: `git config submodule.evil.url ./x; mkdir -p evil; echo 'gitdir: ../.git/modules/evil' > evil/.git; git -C evil status >/dev/null 2>&1; ` + person},
		{name: "a rebase left open (S6)", script: `git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one; printf 'break\nexec touch %s\n' "$PWN" > todo; GIT_SEQUENCE_EDITOR='cp todo' git -c user.name=a -c user.email=a@b rebase -i HEAD~1`, after: person},
		{name: "another branch moved (S8)", script: `git update-ref refs/heads/other HEAD`, after: otherBranch},
		{name: "another branch deleted (S8)", script: `git branch -D other`, after: otherBranch},
		{name: "another branch deleted, file by file (S8)", script: `rm -f .git/refs/heads/other .git/packed-refs`, after: otherBranch},
		{name: "the person's branch rewound (S8)", script: `git update-ref refs/heads/$(git symbolic-ref --short HEAD) other`, after: `git merge-base --is-ancestor kept HEAD || echo REACHED`},
		{name: "another working tree's files (S8)", script: `rm -rf .git/worktrees/*/HEAD .git/worktrees/*`, after: `git -C ../wt rev-parse -q --verify HEAD >/dev/null 2>&1 || echo REACHED`},
		{name: "a commit replaced (refs/replace)", script: `git replace HEAD other`, after: `git rev-parse -q --verify "refs/replace/$(git rev-parse HEAD)" && echo REACHED`},
		{name: "objects from elsewhere (alternates)", script: `git init -q o && echo "$PWD/o/.git/objects" > .git/objects/info/alternates`, after: `test -e .git/objects/info/alternates && echo REACHED`},
	}
	for i := range list {
		list[i].inUse = true
	}
	return list
}

// otherBranch finds whether the branch that the call does not work on is what it was.
const otherBranch = `test "$(git rev-parse other)" = "$(git rev-parse kept~1)" || echo REACHED`

func processAttempts() []attempt {
	return []attempt{
		{name: "environment of another process", script: `tr '\0' '\n' < /proc/$VICTIM/environ | grep -q CANARY` + reached},
		{name: "memory of another process", script: `exec 9< /proc/$VICTIM/mem` + reached},
		{name: "its descriptors", script: `readlink /proc/$VICTIM/fd/0` + reached},
		{name: "its root and folder", script: `readlink /proc/$VICTIM/cwd && readlink /proc/$VICTIM/root` + reached},
		{name: "ptrace", script: python(`import ctypes, os
print("REACHED" if ctypes.CDLL(None).ptrace(16, int(os.environ["VICTIM"]), 0, 0) == 0 else "no")`)},
		{name: "process_vm_readv", script: python(`import ctypes, os, errno
libc = ctypes.CDLL(None, use_errno=True)
r = libc.syscall(310, int(os.environ["VICTIM"]), *[ctypes.c_long(0) for _ in range(5)])
print("REACHED" if r == 0 else errno.errorcode[ctypes.get_errno()])`)},
		{name: "pidfd_getfd", script: python(`import ctypes, os
libc = ctypes.CDLL(None)
fd = libc.syscall(434, int(os.environ["VICTIM"]), 0)
print("REACHED" if fd >= 0 and libc.syscall(438, fd, 0, 0) >= 0 else "no")`)},
		{name: "a signal", script: `kill -0 $VICTIM` + reached},
		{name: "a signal by tgkill", script: python(`import ctypes, os
v = int(os.environ["VICTIM"])
print("REACHED" if ctypes.CDLL(None).syscall(234, v, v, 0) == 0 else "no")`)},
		{name: "a signal by pidfd", script: python(`import ctypes, os
libc = ctypes.CDLL(None)
fd = libc.syscall(434, int(os.environ["VICTIM"]), 0)
print("REACHED" if fd >= 0 and libc.syscall(424, fd, 0, 0, 0) == 0 else "no")`)},
		{name: "descriptors that were left open", script: `for i in $(seq 3 250); do [ -e /proc/$$/fd/$i ] && echo REACHED; done; true`, missing: "fika passes none"},
		{name: "a daemon that writes later", script: `(setsid sh -c 'sleep 3600; : late-'"$NAME" >/dev/null 2>&1 &)`, after: until(`! pgrep -f "[l]ate-$NAME" >/dev/null`) + `; pkill -KILL -f "[l]ate-$NAME" && echo REACHED`, missing: "fika ends what a call leaves running"},
		{name: "gaining rights from a setuid program", script: `grep -q '^NoNewPrivs:.*0' /proc/self/status` + reached},
		{name: "mount", script: syscall(`165, 0, 0, 0, 0, 0`)},
		{name: "unshare", script: `unshare -U true` + reached},
		{name: "setns", script: syscall(`308, -1, 0`)},
		{name: "pivot_root", script: syscall(`155, 0, 0`), ordinary: "the system refuses it"},
		{name: "io_uring", script: syscall(`425, 1, 0`)},
		{name: "the session keyring", script: syscall(`250, 0, -3, 0`)},
		{name: "32-bit system calls", kernel: "the kernel does not serve them", script: python(`import ctypes, mmap
m = mmap.mmap(-1, 4096, prot=7)
m.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
print("REACHED" if f() > 0 else "no")`)},
		{name: "typing for the person (TIOCSTI)", script: python(`import fcntl, os
fd = os.open("/dev/tty", os.O_RDWR)
fcntl.ioctl(fd, 0x5412, b"x")
print("REACHED")`), missing: "the call has no terminal"},
		{name: "the person's terminal", script: `echo REACHED-TTY > "$PTS"`, after: `for i in $(seq 40); do grep -q REACHED-TTY "$SEEN" 2>/dev/null` + reached + ` && break; sleep 0.05; done`},
	}
}

func networkAttempts() []attempt {
	connect := func(family, address string) string {
		return python(`import socket, os
s = socket.socket(socket.` + family + `)
s.settimeout(20)
s.connect(` + address + `)
print("REACHED" if s.recv(2) == b"hi" else "no")`)
	}
	return []attempt{
		{name: "TCP", script: connect("AF_INET", `("127.0.0.1", int(os.environ["PORT"]))`)},
		{name: "TCP by 0.0.0.0", script: connect("AF_INET", `("0.0.0.0", int(os.environ["PORT"]))`)},
		{name: "IPv6", script: connect("AF_INET6", `("::1", int(os.environ["PORT6"]))`)},
		{name: "UDP", script: python(`import socket, os
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(20)
s.connect(("127.0.0.1", int(os.environ["UDP"])))
s.send(b"x")
print("REACHED" if s.recv(2) == b"hi" else "no")`)},
		{name: "ICMP", script: python(`import socket
socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
print("REACHED")`), ordinary: "the system refuses it"},
		{name: "raw packets (AF_PACKET)", script: python(`import socket
socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
print("REACHED")`), ordinary: "the system refuses it"},
		{name: "a virtual machine's host (AF_VSOCK)", script: python(`import socket
socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
print("REACHED")`)},
		{name: "a Unix socket in the home", script: connect("AF_UNIX", `os.path.expanduser("~/daemon.sock")`)},
		{name: "one bound by a relative path", script: connect("AF_UNIX", `os.path.expanduser("~/relative")`)},
		{name: "one that was renamed", script: connect("AF_UNIX", `os.path.expanduser("~/renamed")`)},
		{name: "one with a second name (hard link)", script: connect("AF_UNIX", `os.path.expanduser("~/linked")`)},
		{name: "one bound through /proc/self/fd", script: connect("AF_UNIX", `os.path.expanduser("~/descriptor")`)},
		{name: "one of another network namespace", script: connect("AF_UNIX", `os.path.expanduser("~/namespace")`)},
		{name: "a FIFO in the home", script: python(`import os
os.write(os.open(os.path.expanduser("~/` + confinetest.FIFO + `"), os.O_WRONLY|os.O_NONBLOCK), b"x")
print("REACHED")`)},
		{name: "a Unix socket in /tmp (tmux, ssh-agent)", script: connect("AF_UNIX", `"/tmp/" + os.environ["NAME"] + ".sock"`)},
		{name: "an abstract Unix socket", script: connect("AF_UNIX", `"\0" + os.environ["NAME"]`)},
	}
}
