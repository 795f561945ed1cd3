package main

import (
	"io"
	"os"
	"runtime"
)

// A transcript is a file that is made when the first byte is written to it.
type transcript struct {
	name string
	file *os.File
}

// writer returns the file of that name to write to; nil if there is no name.
func (t *transcript) writer(name string) io.Writer {
	if name == "" {
		return nil
	}
	t.name = name
	return t
}

// Write appends to the file, which only its owner may read, also if it was there before: it holds
// what was typed. It stays open as long as the program runs.
func (t *transcript) Write(p []byte) (int, error) {
	if t.file == nil {
		file, err := os.OpenFile(t.name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return 0, err
		}
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			if err := file.Chmod(0o600); err != nil && runtime.GOOS != "windows" {
				file.Close()
				return 0, err
			}
		}
		t.file = file
	}
	return t.file.Write(p)
}
