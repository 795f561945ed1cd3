//go:build !linux

package lab

import "syscall"

// canStart reports whether servers can run as child processes on this system.
const canStart = false

func attributes(owner) *syscall.SysProcAttr { return nil }

func terminate(int) {}

func kill(int) {}
