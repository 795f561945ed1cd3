package lab

import "syscall"

// canStart reports whether servers can run as child processes on this system.
const canStart = true

// attributes puts a child into its own process group and ends it with the test, even after a crash.
func attributes(o owner) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if o != (owner{}) && syscall.Getuid() == 0 {
		a.Credential = &syscall.Credential{Uid: o.uid, Gid: o.gid}
	}
	return a
}

// terminate sends SIGTERM to the process group of pid, and kill sends SIGKILL. Both ignore a group
// that has ended.
func terminate(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }

func kill(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
