//go:build !unix

package external

import "os/exec"

// ownGroup does nothing: only the program itself is killed here.
func ownGroup(*exec.Cmd) {}
