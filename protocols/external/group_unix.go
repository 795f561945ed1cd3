//go:build unix

package external

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the program into its own process group, so that killing it kills its children too.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
