package pgtest

import "syscall"

// endWithStarter makes a server stop at once when the thread that started it ends.
func endWithStarter(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
