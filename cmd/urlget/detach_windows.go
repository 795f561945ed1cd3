package main

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// ownSession makes a process independent of the console.
func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}
