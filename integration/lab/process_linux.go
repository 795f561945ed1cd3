package lab

import "syscall"

// canStart says whether servers can be started as child processes here.
const canStart = true

// attributes puts a child into a process group of its own and makes it end with the test, even with
// one that crashes.
func attributes(o owner) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if o != (owner{}) && syscall.Getuid() == 0 {
		a.Credential = &syscall.Credential{Uid: o.uid, Gid: o.gid}
	}
	return a
}

// terminate asks the process group of pid to end; kill ends it. A group that has already ended is
// no concern of either.
func terminate(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }

func kill(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
