//go:build !unix

package external

import "os/exec"

// ownGroup does nothing. Only the program itself is killed on this system.
func ownGroup(*exec.Cmd) {}
