package main

import (
	"io"
	"os"
	"runtime"
)

// A transcript is a file that is created by the first write.
type transcript struct {
	name string
	file *os.File
}

// writer returns the transcript of that name, or nil if the name is empty.
func (t *transcript) writer(name string) io.Writer {
	if name == "" {
		return nil
	}
	t.name = name
	return t
}

// Write appends to the file. Only its owner may read it, even if it existed before, because it
// contains typed input. The file stays open until the program ends.
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
