//go:build !linux

package lab

import "syscall"

// canStart says whether servers can be started as child processes here.
const canStart = false

func attributes(owner) *syscall.SysProcAttr { return nil }

func terminate(int) {}

func kill(int) {}
